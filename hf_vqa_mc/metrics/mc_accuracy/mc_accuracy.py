"""Accuracy of picking the target among a question's choices, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

McAccuracy = base.metric("mc_accuracy")
