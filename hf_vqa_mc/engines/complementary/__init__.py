"""Candidates for complementary images: alike, but with another answer to the question (Goyal et al. 2017, Sect. 3)."""

from hf_vqa_mc.engines.complementary.complementary import COMPLEMENTARY, complementary, read_captions, read_instances
from hf_vqa_mc.engines.complementary.premise import Known

__all__ = ["COMPLEMENTARY", "Known", "complementary", "read_captions", "read_instances"]
