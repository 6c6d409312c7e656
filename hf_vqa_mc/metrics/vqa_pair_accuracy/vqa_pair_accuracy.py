"""Accuracy on the balanced pairs of VQA v2 as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

VqaPairAccuracy = base.metric("vqa_pair_accuracy")
