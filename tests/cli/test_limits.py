"""Decompression bombs, deep JSON, little memory and odd names end in one line with an exit code."""

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from hf_vqa_mc.cli import app, with_exit_code
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.verbs import VERBS

DEEP = "[" * 100_000
ROWS = "question,A,B,answer\nWhich?,red,blue,A\nWhat?,cat,dog,B\n"


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 3 MB that hold up to 3 GB of spaces, lines and questions."""
    folder = tmp_path_factory.mktemp("bombs")
    contents = {"spaces.json.gz": (b"", b" "), "rows.csv.gz": (b"question,A,B,answer\n", b"a,b,c,A\n")}
    contents |= {
        "lines.jsonl.gz": (b"", b'{"question_id": 1, "answer": "a"}\n'),
        "one_line.txt.gz": (b"a 1 2\n", b"1"),
    }
    for name, (head, piece) in contents.items():
        block = piece * ((1 << 20) // len(piece))
        members = gzip.compress(block * 16)  # of a file of several
        (folder / name).write_bytes(gzip.compress(head) + members * (3_000_000 // len(members)))
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "rows.csv.gz", "--no-probes"),
        pytest.param(("audit", "lines.jsonl.gz", "--no-probes"), marks=pytest.mark.slow),
        pytest.param(("audit", "spaces.json.gz", "--no-probes"), marks=pytest.mark.slow),
        ("audit", "small.csv", "--word-vectors", "one_line.txt.gz"),
    ],
)
def test_gigabytes_in_three_megabytes_end_in_one_line(arguments: tuple[str, ...], bombs: Path) -> None:
    (bombs / "small.csv").write_text(ROWS)
    done = subprocess.run(
        [sys.executable, "-m", "hf_vqa_mc", *arguments],
        cwd=bombs,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("vqa-mc: ")]
    assert " MB unpack to more than 0." in line
    assert "set --max-unpacked to its size in GB" in line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError("of 8 GB"), "vqa-mc: out of memory (of 8 GB): close other programs"),
        (TypeError("no\nsuch"), "vqa-mc: unexpected TypeError: no such (at "),
        (InputError("\x1b]0;a title\x07"), "vqa-mc: \ufffd]0;a title\ufffd"),
    ],
)
def test_any_exception_is_one_line(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise error

    with pytest.raises(typer.Exit) as raised:
        with_exit_code(fail)()
    assert raised.value.exit_code == (2 if isinstance(error, InputError) else 1)
    found = capsys.readouterr().err
    assert found.startswith(line)
    assert found.count("\n") == 1


READ_NO_FILES_OF_OTHERS = ("push", "quickstart", "study_serve", "study_results")


def test_every_command_that_reads_files_has_the_option() -> None:
    for verb in VERBS:
        command = get_command(app)
        for word in verb.split("_"):
            command = command.commands[word]
        options = {option for one in command.params for option in one.opts}
        assert ("--max-unpacked" in options) == (verb not in READ_NO_FILES_OF_OTHERS), verb


@pytest.mark.parametrize("path", ["nul\0x", "loop"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("audit",),
        ("audit", "rows.csv", "--output"),
        ("remedy", "rows.csv", "--prune", "0.5", "--output"),
        ("build", "easyvqa", "--variants", "iou", "--output"),
        ("export", "lm-eval", "rows.csv", "--output"),
        ("preview", "rows.csv", "--output"),
        ("score", "predictions.json", "rows.csv", "--output"),
    ],
)
def test_paths_that_cannot_be_are_one_line(
    path: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("rows.csv").write_text(ROWS)
    Path("predictions.json").write_text(json.dumps({"1": "a"}))
    done = CliRunner().invoke(app, [*arguments, path])
    assert done.exit_code == 2, done.output
    assert any(reason in done.stderr for reason in ("NUL character", "null byte", "leads to itself"))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("deep.json", ("audit", "deep.json")),
        ("deep.jsonl", ("audit", "deep.jsonl")),
        ("deep.json", ("score", "deep.json", "rows.csv")),
        ("deep.json", ("score", "predictions.json", "deep.json")),
        ("vqa_mc/statistics.json", ("push", "dataset", "me/vqa_mc", "--dry-run")),
        ("vqa_mc/statistics.json", ("audit", "vqa_mc")),
        ("vqa_mc/statistics.json", ("build", "easyvqa")),
        ("vqa_mc/README.md", ("audit", "vqa_mc")),
        ("index.json", ("audit", "rows.csv", "--mlps", "--features", ".")),
        ("run/config.json", ("predict", "run", "vqa_mc", "x")),
        ("run/processor_config.json", ("predict", "run", "vqa_mc", "x")),
        ("run/training.json", ("push", "model", "me/model", "--folder", "run", "--dry-run")),
        ("statistics.json", ("build", "gqa", "--data-dir", ".")),
        ("out/rows/export.json", ("export", "lm-eval", "rows.csv", "--output", "out")),
        ("audited/audit.json", ("audit", "rows.csv", "--no-probes", "--output", "audited")),
    ],
)
def test_deep_json_is_one_line(
    name: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(f"---\nx: {DEEP}\n---\n" if name.endswith(".md") else DEEP)
    if name.startswith("vqa_mc"):
        Path("vqa_mc/test.csv").write_text(ROWS)
    Path("rows.csv").write_text(ROWS)
    Path("predictions.json").write_text(json.dumps({"1": "a"}))
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code in (0, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
