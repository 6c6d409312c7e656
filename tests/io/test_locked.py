from multiprocessing import get_context
from pathlib import Path

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import locked

TIMES, PROCESSES = 200, 4


def count(folder: Path) -> None:
    for _ in range(TIMES):
        with locked(folder / "lock"):
            number = int((folder / "count").read_text())
            (folder / "count").write_text(str(number + 1))


@pytest.mark.slow
def test_one_process_at_a_time_holds_a_lock_whose_file_is_removed_each_time(tmp_path):
    (tmp_path / "count").write_text("0")
    processes = [get_context("spawn").Process(target=count, args=(tmp_path,)) for _ in range(PROCESSES)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    assert (tmp_path / "count").read_text() == str(TIMES * PROCESSES)
    assert not (tmp_path / "lock").exists()


def test_a_lock_that_is_held_is_named_if_nobody_waits_for_it(tmp_path):
    with (
        locked(tmp_path / "lock"),
        pytest.raises(InputError, match="wait for it"),
        locked(tmp_path / "lock", "wait for it"),
    ):
        pass
    with locked(tmp_path / "lock", "free again"):
        pass
