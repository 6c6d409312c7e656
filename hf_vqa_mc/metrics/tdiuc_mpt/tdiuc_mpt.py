"""TDIUC's accuracy by question type and its means over types, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base

TdiucMpt = base.metric("tdiuc_mpt")
