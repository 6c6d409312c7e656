"""Every scoring scheme as a plain function; knows nothing of torch, datasets or the network."""

from hf_vqa_mc.scoring.balanced_pairs import vqa_pair_accuracy
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.counterexamples import counterexample_recall
from hf_vqa_mc.scoring.gqa import gqa_score
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.tdiuc import asked_absurdly, in_tail, tdiuc_mpt
from hf_vqa_mc.scoring.wu_palmer_sets import wups

__all__ = [
    "asked_absurdly",
    "counterexample_recall",
    "gqa_score",
    "in_tail",
    "mc_accuracy",
    "tdiuc_mpt",
    "vqa_accuracy",
    "vqa_pair_accuracy",
    "wups",
]
