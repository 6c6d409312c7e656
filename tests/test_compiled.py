"""Kernels compile wherever the package is used from, and run in threads."""

import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from hf_vqa_mc.compiled import over_ranges

USE = """
from numba.core import caching

for locator in caching.CacheImpl._locator_classes:  # as for users who can write neither to the package nor at home
    if "UserProvided" not in locator.__name__:
        locator.from_function = classmethod(lambda cls, *arguments: None)

import numpy as np
from hf_vqa_mc.decoys.rng import below

print(below(np.uint64(2**63), 6))
"""


def test_who_can_write_neither_beside_the_package_nor_at_home_can_use_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert not list(tmp_path.iterdir()), "what was compiled goes with the process"


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 1_000])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_ranges_cover_everything_once(size: int, n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: n_threads)
    calls = np.zeros(size, int)

    def count(first: int, last: int, what: str) -> None:
        assert what == "an argument"
        assert 0 < last - first <= 10
        calls[first:last] += 1

    over_ranges(count, size, 10, "an argument")
    assert calls.tolist() == [1] * size


def test_the_number_of_threads_is_that_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    together = threading.Barrier(3, timeout=30)

    def meet_the_others(first: int, last: int) -> None:
        together.wait()

    over_ranges(meet_the_others, 3, 1)


def test_an_exception_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(first: int, last: int) -> None:
        raise MemoryError(f"at {first}")

    with pytest.raises(MemoryError, match="at 0"):
        over_ranges(fail, 3, 1)


def test_without_numba_the_number_of_threads_is_that_of_its_variable_or_of_the_cores():
    code = "import sys; from hf_vqa_mc.compiled import n_threads as n; print(n(), 'numba' in sys.modules)"
    for given, expected in (({"NUMBA_NUM_THREADS": "3"}, 3), ({}, len(os.sched_getaffinity(0)))):
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_NUM_THREADS"} | given
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.stdout == f"{expected} False\n"
