"""Consensus accuracy of VQA v1 and v2 as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class VqaAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.vqa_accuracy` as a metric."""

    scheme = base.SCHEMES["vqa_accuracy"]
