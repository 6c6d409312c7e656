"""Accuracy on the balanced pairs of VQA v2 as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class VqaPairAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.vqa_pair_accuracy` as a metric."""

    scheme = base.SCHEMES["vqa_pair_accuracy"]
