"""numba's ``njit``, with a cache next to the package, in the user's cache or for this process; threads for kernels."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
_in_python = ContextVar("in_python", default=False)


class Kernel:
    """A function that numba compiles; numba, half of the time of ``import pandas``, is imported on first use."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    @cached_property
    def compiled(self) -> Any:  # noqa: ANN401  numba's Dispatcher
        """The function of numba."""
        return _numba().njit(**self.options)(self.function)

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401  as the function
        """Call the function."""
        return (self.function if _in_python.get() else self.compiled)(*arguments)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  such as _numba_type_, by which other kernels call this one
        return getattr(self.compiled, name)


def njit(**options: Any) -> Callable[[F], F]:  # noqa: ANN401  as numba.njit
    """Decorate a kernel."""

    def kernel(function: F) -> F:
        return cast(F, Kernel(function, options))

    return kernel


@contextmanager
def in_python(few: bool) -> Iterator[None]:
    """Run kernels in Python if there is little to do and numba is not loaded; its import takes half a second."""
    token = _in_python.set(few and "numba" not in sys.modules)
    try:
        with np.errstate(over="ignore"):  # of hashes
            yield
    finally:
        _in_python.reset(token)


@cache
def _numba() -> Any:  # noqa: ANN401  a module without types
    """Numba with a cache folder to which it can write."""
    import numba

    try:
        numba.njit(cache=True)(over_ranges)
    except RuntimeError:  # there is none, as for another user in a container, and numba would reject every kernel
        folder = tempfile.mkdtemp(prefix="hf_vqa_mc-numba-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = folder
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined,unused-ignore]
    return numba


def n_threads() -> int:
    """The number of threads for kernels: of ``numba.set_num_threads``, NUMBA_NUM_THREADS or the available cores."""
    if "numba" in sys.modules:
        return int(_numba().get_num_threads())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("NUMBA_NUM_THREADS", cores or 1))


def over_ranges(kernel: Callable[..., None], size: int, step: int, *arguments: object) -> None:
    """Call ``kernel(first, stop, *arguments)`` for ranges of at most ``step`` that cover [0, size), in threads.

    The kernel must release the GIL (``nogil=True``) and write only its own range, so the result does not depend on the
    number of threads.
    """
    compiled = getattr(kernel, "compiled", kernel)  # once, not in each thread
    pool = ThreadPoolExecutor(n_threads())
    try:
        ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
        for done in [pool.submit(compiled, first, stop, *arguments) for first, stop in ranges]:
            done.result()
    finally:  # after an interruption, wait for running ranges only
        pool.shutdown(cancel_futures=True)
