"""Accuracy of picking the target among a question's choices, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class McAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.mc_accuracy` as a metric."""

    scheme = base.SCHEMES["mc_accuracy"]
