"""TDIUC's accuracy by question type and its means over types, as an ``evaluate`` metric."""

import hf_vqa_mc.scoring.scheme_metric as base


class TdiucMpt(base.SchemeMetric):
    """`hf_vqa_mc.scoring.tdiuc_mpt` as a metric."""

    scheme = base.SCHEMES["tdiuc_mpt"]
