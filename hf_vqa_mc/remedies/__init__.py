"""Mending any multiple-choice benchmark: better decoys, or fewer of the rows that give themselves away."""

from hf_vqa_mc.remedies.donors import Donors, from_captions, from_questions, from_scene_graphs
from hf_vqa_mc.remedies.in_words import in_words
from hf_vqa_mc.remedies.new_decoys import Remedied, check_remedy, give_new_decoys

__all__ = [
    "Donors",
    "Remedied",
    "check_remedy",
    "from_captions",
    "from_questions",
    "from_scene_graphs",
    "give_new_decoys",
    "in_words",
]
