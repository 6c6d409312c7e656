"""From triplets to a dataset on disk: the folder writer, its card, images, and the ``datasets`` builder.

Names are imported when they are asked for, since ``datasets`` takes its time.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.builder.build import Build as Build
    from hf_vqa_mc.builder.build import build_dataset as build_dataset
    from hf_vqa_mc.builder.folder import write_folder as write_folder
    from hf_vqa_mc.builder.image_column import with_images as with_images
    from hf_vqa_mc.builder.registration import register as register
    from hf_vqa_mc.builder.vqa_mc import VqaMc as VqaMc

__all__ = ["Build", "VqaMc", "build_dataset", "register", "with_images", "write_folder"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Build": "build",
        "VqaMc": "vqa_mc",
        "build_dataset": "build",
        "register": "registration",
        "with_images": "image_column",
        "write_folder": "folder",
    },
)
