"""WUPS: nearness of answers in WordNet, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

Wups = base.metric("wups")
