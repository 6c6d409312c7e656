"""The installed version of this package."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("hf_vqa_mc")
    except PackageNotFoundError:
        return "(not installed: run from its source)"


__version__ = _installed()
