"""Recall of the counter-example that people picked, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class CounterexampleRecall(base.SchemeMetric):
    """`hf_vqa_mc.scoring.counterexample_recall` as a metric."""

    scheme = base.SCHEMES["counterexample_recall"]
