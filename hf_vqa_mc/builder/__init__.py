"""From triplets to a dataset on disk: the folder writer, its card, images, and the ``datasets`` builder.

Names are imported when they are asked for, since ``datasets`` takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_vqa_mc.builder.build import Build as Build
    from hf_vqa_mc.builder.build import build_dataset as build_dataset
    from hf_vqa_mc.builder.folder import write_folder as write_folder
    from hf_vqa_mc.builder.image_column import with_images as with_images
    from hf_vqa_mc.builder.registration import register as register
    from hf_vqa_mc.builder.vqa_mc import VqaMc as VqaMc

_HOMES = {
    "Build": "build",
    "VqaMc": "vqa_mc",
    "build_dataset": "build",
    "register": "registration",
    "with_images": "image_column",
    "write_folder": "folder",
}

__all__ = ["Build", "VqaMc", "build_dataset", "register", "with_images", "write_folder"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
