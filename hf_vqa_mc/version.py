"""The installed version of this package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("hf_vqa_mc")
except PackageNotFoundError:
    __version__ = "(not installed: run from its source)"
