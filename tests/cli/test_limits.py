"""Decompression bombs, deep JSON, little memory and odd names end in one line with an exit code."""

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hf_vqa_mc.cli import with_exit_code
from hf_vqa_mc.errors import InputError

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
        pytest.param(("audit", "rows.csv.gz", "--no-probes"), marks=pytest.mark.slow),
        pytest.param(("audit", "lines.jsonl.gz", "--no-probes"), marks=pytest.mark.slow),
        pytest.param(("audit", "spaces.json.gz", "--no-probes"), marks=pytest.mark.slow),
        ("remedy", "small.csv", "--variant", "qou", "--word-vectors", "one_line.txt.gz", "--output", "new.csv"),
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
    assert "unpack or convert it first" in line


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
