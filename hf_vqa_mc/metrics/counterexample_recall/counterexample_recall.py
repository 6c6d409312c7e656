"""Recall of the counter-example that people picked, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

CounterexampleRecall = base.metric("counterexample_recall")
