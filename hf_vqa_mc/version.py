"""The installed version of this package."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    __version__ = version("hf_vqa_mc")
except PackageNotFoundError:
    __version__ = "(not installed: run from its source)"


@cache
def code_state() -> str:
    """A hash of the package's code and tables, 16 hexadecimal digits."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".npz", ".yaml") and path.is_file():
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]
