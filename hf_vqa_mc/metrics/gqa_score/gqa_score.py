"""GQA's suite of scores, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

GqaScore = base.metric("gqa_score")
