"""Accuracy on closed answer sets as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

SetAccuracy = base.metric("set_accuracy")
