"""Accuracy on closed answer sets as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class SetAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.set_accuracy` as a metric."""

    scheme = base.SCHEMES["set_accuracy"]
