"""Kernels over ranges of triplets, side by side in threads: numba functions that let go of the interpreter's lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba


def over_ranges(kernel: Callable[..., None], size: int, step: int, *arguments: object) -> None:
    """Calls ``kernel(first, last, *arguments)`` for ranges of at most ``step`` that make up [0, size).

    As many threads as ``numba.set_num_threads`` says work at once; each range writes only what is its own, so their
    number does not show in the result.
    """
    pool = ThreadPoolExecutor(numba.get_num_threads())
    try:
        ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
        for done in [pool.submit(kernel, first, last, *arguments) for first, last in ranges]:
            done.result()
    finally:  # an interruption waits for the ranges in work alone
        pool.shutdown(cancel_futures=True)
