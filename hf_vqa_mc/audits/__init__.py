"""Audits: which shortcuts solve a multiple-choice benchmark, from its rows alone.

Names are imported on first use, as some load scikit-learn.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.audits.audited import Audit as Audit
    from hf_vqa_mc.audits.auditing import audit as audit
    from hf_vqa_mc.audits.probes import PROBES as PROBES
    from hf_vqa_mc.audits.probes import Prediction as Prediction
    from hf_vqa_mc.audits.probes import Probe as Probe
    from hf_vqa_mc.audits.probes.priors import answer_prior as answer_prior
    from hf_vqa_mc.audits.probes.priors import question_answer_prior as question_answer_prior
    from hf_vqa_mc.audits.rows import Rows as Rows
    from hf_vqa_mc.audits.rows import number_rows as number_rows
    from hf_vqa_mc.audits.settings import ProbeSettings as ProbeSettings
    from hf_vqa_mc.audits.shortcut import Sees as Sees

_HOMES = {
    "PROBES": "probes",
    "Audit": "audited",
    "Prediction": "probes",
    "Probe": "probes",
    "ProbeSettings": "settings",
    "Rows": "rows",
    "Sees": "shortcut",
    "answer_prior": "probes.priors",
    "audit": "auditing",
    "number_rows": "rows",
    "question_answer_prior": "probes.priors",
}
__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
