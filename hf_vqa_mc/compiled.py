"""numba's ``njit``, able to keep what it compiled: beside the package, in the user's cache, or for this process."""

import atexit
import os
import shutil
import tempfile

import numba
from numba import njit

__all__ = ["njit"]


def _nothing() -> None:
    """Asks numba where it would keep a function of this package."""


try:
    njit(cache=True)(_nothing)
except RuntimeError:  # neither can be written, as for another user in a container; numba would refuse every kernel
    _folder = tempfile.mkdtemp(prefix="hf_vqa_mc-numba-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = _folder
    numba.config.CACHE_DIR = _folder  # type: ignore[attr-defined,unused-ignore]
