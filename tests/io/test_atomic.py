"""A file appears whole or not at all."""

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.outputs import check_output_file, check_output_files


def test_it_is_readable_by_others_as_any_file_and_ends_with_a_line_end(tmp_path):
    old = os.umask(0o022)
    try:
        write_json(tmp_path / "a.json", {"ß": "\ud800"})
    finally:
        os.umask(old)
    assert (tmp_path / "a.json").read_text("ascii") == '{"\\u00df": "\\ud800"}\n'
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_one_folder_is_made_for_it(tmp_path):
    check_output_file(tmp_path / "new" / "a.json", "--output")
    assert list(tmp_path.iterdir()) == []
    write_json(tmp_path / "new" / "a.json", 1)
    assert (tmp_path / "new" / "a.json").read_text() == "1\n"


@pytest.mark.parametrize("ending", [KeyboardInterrupt(), OSError(errno.EIO, "broken disk")])
@pytest.mark.parametrize("point", ["fsync", "replace"])
def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch, ending, point):
    def failing(*_):
        raise ending

    write_json(tmp_path / "a.json", "old")
    if point == "fsync":
        monkeypatch.setattr("hf_vqa_mc.io.atomic.os.fsync", failing)
    else:
        monkeypatch.setattr("hf_vqa_mc.io.atomic.Path.replace", failing)
    with pytest.raises(type(ending)):
        write_json(tmp_path / "a.json", "new")
    assert json.loads((tmp_path / "a.json").read_text()) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_full_disk_gives_a_one_line_error_and_leaves_no_files(tmp_path):
    disk = tmp_path / "small"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", disk]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("needs root, to mount a small disk")
    try:
        with pytest.raises(OSError, match=rf"No space left on device: '{disk}/a.json'") as error:
            write_json(disk / "a.json", "x" * 100_000)
        assert error.value.errno == errno.ENOSPC
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_limit_on_file_size_is_one_clear_line_and_keeps_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*a.json'"):
            write_json(tmp_path / "a.json", "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert json.loads((tmp_path / "a.json").read_text()) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_killed_write_keeps_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", "old")
    code = """
import os, signal, sys, pathlib
from hf_vqa_mc.io import atomic
atomic.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
atomic.write_json(pathlib.Path(sys.argv[1]), "new")
"""
    environment = {**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.json")], env=environment)
    assert done.returncode == -signal.SIGKILL
    assert json.loads((tmp_path / "a.json").read_text()) == "old"


def test_nan_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(tmp_path / "a.json", float("nan"))
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_output_path_is_rejected(tmp_path):
    with pytest.raises(InputError, match=r"--output .* is a folder; give a file in it"):
        check_output_file(tmp_path, "--output")
    with pytest.raises(InputError, match=r"there is no folder .*no; create it first"):
        check_output_file(tmp_path / "no" / "such" / "a.json", "--output")
    (tmp_path / "a.json").write_text("")
    with pytest.raises(InputError, match=r"--output .*: the folder .*a.json is a file; give a folder"):
        check_output_file(tmp_path / "a.json" / "b.json", "--output")
    (tmp_path / "link").symlink_to("a.json")
    with pytest.raises(InputError, match=r"--output .* would replace or change an input"):
        check_output_file(tmp_path / "link", "--output", [tmp_path / "a.json"])


def test_two_outputs_are_two_files(tmp_path):
    check_output_files({"--one": tmp_path / "a", "--other": tmp_path / "b", "--third": None}, [])
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match=r"--one .*a and --other .*link are the same file; use different files"):
        check_output_files({"--one": tmp_path / "a", "--other": tmp_path / "link"}, [])


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "a.json")
    write_json(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real" / "a.json").read_text()) == "new"


def test_special_files_are_rejected(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"--output .*pipe is not a regular file"):
        check_output_file(tmp_path / "pipe", "--output")
    with pytest.raises(InputError, match="--output /dev/null is not a regular file"):
        check_output_file(Path("/dev/null"), "--output")
