"""From triplets to a dataset folder: decoy sets, variants, rows, statistics, card, images, ``datasets`` builder.

Names are imported on first use (PEP 562), since ``datasets`` is slow to import.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.dataset.build import Build as Build
    from hf_vqa_mc.dataset.build import build_dataset as build_dataset
    from hf_vqa_mc.dataset.builder import VqaMc as VqaMc
    from hf_vqa_mc.dataset.folder import write_folder as write_folder
    from hf_vqa_mc.dataset.image_column import with_images as with_images
    from hf_vqa_mc.dataset.recipes import RECIPES as RECIPES
    from hf_vqa_mc.dataset.recipes import Recipe as Recipe
    from hf_vqa_mc.dataset.recipes import variants_of as variants_of
    from hf_vqa_mc.dataset.registration import register as register
    from hf_vqa_mc.dataset.settings import Settings as Settings
    from hf_vqa_mc.dataset.variants import Variant as Variant
    from hf_vqa_mc.dataset.variants import build_variants as build_variants

_HOMES = {
    "Build": "build",
    "RECIPES": "recipes",
    "Recipe": "recipes",
    "Settings": "settings",
    "Variant": "variants",
    "VqaMc": "builder",
    "build_dataset": "build",
    "build_variants": "variants",
    "register": "registration",
    "variants_of": "recipes",
    "with_images": "image_column",
    "write_folder": "folder",
}
__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
