"""WUPS: nearness of answers in WordNet, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class Wups(base.SchemeMetric):
    """`hf_vqa_mc.scoring.wups` as a metric."""

    scheme = base.SCHEMES["wups"]
