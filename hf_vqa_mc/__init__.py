"""Multiple-choice visual question answering that is harder to game.

The public names are imported when they are asked for: ``import hf_vqa_mc`` loads neither torch nor datasets.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_vqa_mc.builder import VqaMc as VqaMc
    from hf_vqa_mc.builder import register as register
    from hf_vqa_mc.builder import with_images as with_images
    from hf_vqa_mc.errors import InputError as InputError
    from hf_vqa_mc.errors import MissingExtra as MissingExtra
    from hf_vqa_mc.metrics import load_metric as load_metric
    from hf_vqa_mc.version import __version__ as __version__

_HOMES = {
    "InputError": "hf_vqa_mc.errors",
    "MissingExtra": "hf_vqa_mc.errors",
    "VqaMc": "hf_vqa_mc.builder",
    "__version__": "hf_vqa_mc.version",
    "load_metric": "hf_vqa_mc.metrics",
    "register": "hf_vqa_mc.builder",
    "with_images": "hf_vqa_mc.builder",
}

__all__ = ["InputError", "MissingExtra", "VqaMc", "__version__", "load_metric", "register", "with_images"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
