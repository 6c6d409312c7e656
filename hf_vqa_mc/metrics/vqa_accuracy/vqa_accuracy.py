"""Consensus accuracy of VQA v1 and v2 as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

VqaAccuracy = base.metric("vqa_accuracy")
