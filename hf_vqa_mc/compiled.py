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
    """Asks numba where it would keep a function of this package."""


try:
    njit(cache=True)(_nothing)
except RuntimeError:  # neither can be written, as for another user in a container; numba would refuse every kernel
    _folder = tempfile.mkdtemp(prefix="hf_vqa_mc-numba-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = _folder
    numba.config.CACHE_DIR = _folder  # type: ignore[attr-defined,unused-ignore]


def over_ranges(kernel: Callable[..., None], size: int, step: int, *arguments: object) -> None:
    """Call ``kernel(first, stop, *arguments)`` for ranges of at most ``step`` that make up [0, size), in threads.

    The kernel releases the interpreter's lock (``nogil=True``) and each range writes only its own part, so the result
    does not depend on the number of threads, ``numba.set_num_threads``.
    """
    pool = ThreadPoolExecutor(numba.get_num_threads())
    try:
        ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
        for done in [pool.submit(kernel, first, stop, *arguments) for first, stop in ranges]:
            done.result()
    finally:  # after an interruption, wait for running ranges only
        pool.shutdown(cancel_futures=True)
