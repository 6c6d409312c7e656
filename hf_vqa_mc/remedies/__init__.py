"""Remedies for any multiple-choice benchmark: better decoys, or fewer of the most biased rows."""

from hf_vqa_mc.remedies.donors import Donors, read_donors
from hf_vqa_mc.remedies.new_decoys import check_remedy, give_new_decoys
from hf_vqa_mc.remedies.prune import prune
from hf_vqa_mc.remedies.remedied import Remedied, in_words

__all__ = ["Donors", "Remedied", "check_remedy", "give_new_decoys", "in_words", "prune", "read_donors"]
