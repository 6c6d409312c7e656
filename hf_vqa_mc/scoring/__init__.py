"""Every scoring scheme as a plain function with its declaration; independent of torch, datasets and the network."""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names
from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.scoring.answer_sets import set_accuracy as set_accuracy
    from hf_vqa_mc.scoring.balanced_pairs import vqa_pair_accuracy as vqa_pair_accuracy
    from hf_vqa_mc.scoring.consensus import vqa_accuracy as vqa_accuracy
    from hf_vqa_mc.scoring.counterexamples import counterexample_recall as counterexample_recall
    from hf_vqa_mc.scoring.gqa import gqa_score as gqa_score
    from hf_vqa_mc.scoring.multiple_choice import mc_accuracy as mc_accuracy
    from hf_vqa_mc.scoring.scheme import Scheme as Scheme
    from hf_vqa_mc.scoring.tdiuc import also_absurd as also_absurd
    from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt as tdiuc_mpt
    from hf_vqa_mc.scoring.wu_palmer_sets import wups as wups

OF_PREDICTIONS = {
    "mc_accuracy": "multiple_choice",
    "vqa_accuracy": "consensus",
    "vqa_pair_accuracy": "balanced_pairs",
    "tdiuc_mpt": "tdiuc",
    "gqa_score": "gqa",
    "wups": "wu_palmer_sets",
    "set_accuracy": "answer_sets",
}
"""The schemes that score predictions files, and the modules of their functions."""
_MODULES = {**OF_PREDICTIONS, "counterexample_recall": "counterexamples"}
SCHEMES: "Listing[Scheme]" = Listing(
    "metric", lazy={name: f"{__name__}.{module}:SCHEME" for name, module in _MODULES.items()}
)
"""All schemes by name; each module declares a ``SCHEME``."""

_PUBLIC = {**_MODULES, "Scheme": "scheme", "also_absurd": "tdiuc"}
__all__ = ["SCHEMES", *sorted(_PUBLIC)]

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
