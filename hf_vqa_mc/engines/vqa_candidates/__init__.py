"""The 18 candidates of VQA's multiple-choice task, for any open-ended dataset (Antol et al. 2015, Sect. 3)."""

from hf_vqa_mc.engines.vqa_candidates.candidates import read_plausible, vqa_candidates

__all__ = ["read_plausible", "vqa_candidates"]
