"""numba's ``njit``, with a cache next to the package, in the user's cache or for this process; threads for kernels."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
from numba import njit

__all__ = ["njit", "over_ranges"]


def _nothing() -> None:
    """Dummy function to test numba's cache folder."""


try:
    njit(cache=True)(_nothing)
except RuntimeError:  # numba can write neither one, as for another user in a container, and would reject every kernel
    _folder = tempfile.mkdtemp(prefix="hf_vqa_mc-numba-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = _folder
    numba.config.CACHE_DIR = _folder  # type: ignore[attr-defined,unused-ignore]


def over_ranges(kernel: Callable[..., None], size: int, step: int, *arguments: object) -> None:
    """Call ``kernel(first, stop, *arguments)`` for ranges of at most ``step`` that cover [0, size), in threads.

    The kernel must release the GIL (``nogil=True``) and write only its own range, so the result does not depend on the
    number of threads, ``numba.set_num_threads``.
    """
    pool = ThreadPoolExecutor(numba.get_num_threads())
    try:
        ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
        for done in [pool.submit(kernel, first, stop, *arguments) for first, stop in ranges]:
            done.result()
    finally:  # after an interruption, wait for running ranges only
        pool.shutdown(cancel_futures=True)
