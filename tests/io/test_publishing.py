"""Files of one run appear together; killed at any moment, no new ones are next to old ones, and the next cleans up."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_file, new_folder, publish_together, write_bytes, write_together
from hf_vqa_mc.io.outputs import MANIFEST, FolderKind, check_outside
from tests.killed import die_before

KIND = FolderKind("vqa-mc audit")


def write(folder, generation, overwrite=False):
    """A file, a folder and another file of one run; a file of an earlier run goes."""
    with contextlib.ExitStack() as stack:
        main = stack.enter_context(new_file(folder / "rows.tsv", generation))
        report = stack.enter_context(new_folder(folder / "report", KIND, overwrite))
        for name in ("audit.json", "report.html"):
            (report.tree / name).write_bytes(generation)
        picture = stack.enter_context(new_file(folder / "picture.png", generation))
        publish_together(main, report, picture, outdated=[folder / "gone.tsv"])


def generations(folder):
    names = ("rows.tsv", "report/audit.json", "report/report.html", "picture.png", "gone.tsv")
    return {(folder / name).read_bytes() for name in names if (folder / name).exists()}


def killed(work, step):
    """Whether the work, in a process of its own, was killed before its so many-th step."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            die_before(step)
            work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.slow
def test_a_run_killed_at_any_step_leaves_files_of_one_run_and_the_next_cleans_up(tmp_path):
    folder, step, mixed = tmp_path / "outputs", 0, True
    while mixed:
        step += 1
        folder.mkdir(exist_ok=True)
        (folder / "gone.tsv").write_bytes(b"old")
        write_bytes(folder / "picture.png", b"old")
        with contextlib.suppress(InputError):
            write(folder, b"old")
        (folder / "report" / "notes.txt").write_bytes(b"mine")
        (folder / "gone.tsv").write_bytes(b"old")
        mixed = killed(lambda: write(folder, b"new", overwrite=True), step)
        assert len(generations(folder)) == 1, step
        assert (folder / "report" / "notes.txt").read_bytes() == b"mine"
        write(folder, b"last", overwrite=True)
        assert generations(folder) == {b"last"}
        assert {path.name for path in folder.iterdir()} == {"rows.tsv", "report", "picture.png"}
        assert {path.name for path in (folder / "report").iterdir()} == {
            "audit.json", "report.html", "notes.txt", MANIFEST
        }  # fmt: skip
        (folder / "report" / "notes.txt").unlink()
    assert step > 10


def test_what_cannot_be_written_completely_changes_nothing(tmp_path):
    write_together({tmp_path / "a": b"old", tmp_path / "b": b"old"})
    with pytest.raises(OSError, match=r"No space left on device: '.*b'"):
        with new_file(tmp_path / "a", b"new") as first, new_file(tmp_path / "b", b"new") as second:
            second.complete = lambda: os.write(os.open("/dev/full", os.O_WRONLY), b"x")
            publish_together(first, second)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}


def test_the_hidden_file_of_a_living_writer_is_kept(tmp_path):
    with new_file(tmp_path / "a", b"slow") as slow:
        write_bytes(tmp_path / "a", b"quick")
        assert len(list(tmp_path.iterdir())) == 2
        publish_together(slow)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"slow"]


def test_of_two_runs_that_write_the_same_new_file_the_second_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a\.json exists; replace it with --overwrite, or choose another"):
        with new_file(tmp_path / "new" / "a.json", b"late", overwrite=False) as late:
            write_bytes(tmp_path / "new" / "a.json", b"first", overwrite=False)
            publish_together(late)
    with pytest.raises(InputError, match="exists"):
        write_together({tmp_path / "b.json": b"late", tmp_path / "new" / "a.json": b"late"}, overwrite=False)
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {"a.json": b"first"}


def test_only_leftovers_of_the_same_file_are_removed(tmp_path):
    names = [".a.partial", ".a.abcdefgh.part", ".b.abcdefgh.partial", ".a[1].abcdefgh.partial"]
    for name in [*names, ".a.abcdefgh.partial"]:  # the last one is
        (tmp_path / name).mkdir()
    write_bytes(tmp_path / "a", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a", *names])


def test_an_output_and_an_input_never_contain_each_other(tmp_path):
    source = tmp_path / "data"
    source.mkdir()
    for output in (source, source / "in", tmp_path):
        with pytest.raises(InputError, match=f"--output {output} would replace or change an input, {source}"):
            check_outside(output, "--output", [source])
    check_outside(tmp_path / "out", "--output", [source, "NAMESPACE/name"])


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
import typer
import hf_vqa_mc.__main__ as program
import hf_vqa_mc.cli as cli
from hf_vqa_mc.io.atomic import new_file

name, error = sys.argv[1:]
del sys.argv[1:]

def run() -> int:
    with new_file(Path("a")):
        try:
            os.kill(os.getpid(), getattr(signal, name))
        except KeyboardInterrupt:
            raise ImportError("cannot import name 'x'") if error == "ImportError" else KeyboardInterrupt
    return 0

cli.app = typer.Typer(add_completion=False)
cli.app.command()(cli.with_exit_code(run))
program.main()
"""
IMPORTING = """
import os, signal, sys
import hf_vqa_mc.__main__ as program

class Finder:
    def find_spec(self, name, *_):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

wanted = sys.argv.pop()
sys.meta_path.insert(0, Finder())
program.main()
"""


def run_program(program, folder, *arguments, sigint=signal.SIG_DFL):
    """The program in a process of its own, with this disposition of SIGINT, which shells ignore in the background."""
    environment = {**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}
    command, options = [sys.executable, "-c", program, *arguments], {"cwd": folder, "env": environment, "text": True}
    return subprocess.run(
        command, capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGINT, sigint), **options
    )


@pytest.mark.parametrize(("name", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ImportError"])
def test_a_signal_removes_temporary_files_even_if_a_library_raises_another_error(tmp_path, name, code, word, error):
    done = run_program(INTERRUPTED, tmp_path, name, error)
    assert (done.returncode, done.stderr) == (code, f"vqa-mc: {word}\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_exec_does_not_change_the_exit_code_of_a_module(tmp_path):
    program = """
import sys
from hf_vqa_mc.io.interruption import report_interruption

try:
    exec("raise KeyboardInterrupt")
except KeyboardInterrupt:
    sys.exit(report_interruption())
"""
    (tmp_path / "module.py").write_text(program)
    starter = "import os, sys; os.execv(sys.executable, [sys.executable, '-m', 'module'])"
    assert run_program(starter, tmp_path).returncode == 130


@pytest.mark.parametrize("module", ["typer", "hf_vqa_mc.verbs.predict", "numpy"])
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path, module):
    done = run_program(IMPORTING, tmp_path, "predict", "missing", "vqa_mc", "a", module)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (130, "vqa-mc: interrupted")
    assert "Traceback" not in done.stderr


def test_a_signal_that_the_shell_ignores_stays_ignored(tmp_path):
    done = run_program(INTERRUPTED, tmp_path, "SIGINT", "", sigint=signal.SIG_IGN)
    assert (done.returncode, done.stderr) == (0, "")
