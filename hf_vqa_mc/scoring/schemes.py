"""The scoring schemes by name."""

from importlib import import_module

from hf_vqa_mc.listing import Listing
from hf_vqa_mc.scoring import MODULES
from hf_vqa_mc.scoring.scheme import Scheme

SCHEMES: Listing[Scheme] = Listing(
    "metric", *(import_module(f"hf_vqa_mc.scoring.{module}").SCHEME for module in MODULES.values())
)
