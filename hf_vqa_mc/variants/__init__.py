"""Which decoys a config combines, and the one place where the method reads from top to bottom (``build``)."""

from hf_vqa_mc.variants.build import Variant, build_variants
from hf_vqa_mc.variants.recipes import RECIPES, Recipe, variants_of
from hf_vqa_mc.variants.settings import Settings

__all__ = ["RECIPES", "Recipe", "Settings", "Variant", "build_variants", "variants_of"]
