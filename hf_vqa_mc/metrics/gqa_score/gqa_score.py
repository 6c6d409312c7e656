"""GQA's suite of scores, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class GqaScore(base.SchemeMetric):
    """`hf_vqa_mc.scoring.gqa_score` as a metric."""

    scheme = base.SCHEMES["gqa_score"]
