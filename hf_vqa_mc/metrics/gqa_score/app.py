"""The page of this Space."""

from hf_vqa_mc.metrics.space import launch

launch("gqa_score")
