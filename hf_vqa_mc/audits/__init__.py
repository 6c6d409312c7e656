"""Which shortcuts solve a multiple-choice benchmark, ours or another's: from its rows alone, whoever made them.

Names are imported when they are asked for, since some learn, which takes its time to import.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.audits.audited import Audit as Audit
    from hf_vqa_mc.audits.auditing import audit as audit
    from hf_vqa_mc.audits.priors import answer_prior as answer_prior
    from hf_vqa_mc.audits.priors import question_answer_prior as question_answer_prior
    from hf_vqa_mc.audits.rows import Rows as Rows
    from hf_vqa_mc.audits.rows import number_rows as number_rows
    from hf_vqa_mc.audits.settings import ProbeSettings as ProbeSettings

__all__ = ["Audit", "ProbeSettings", "Rows", "answer_prior", "audit", "number_rows", "question_answer_prior"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Audit": "audited",
        "ProbeSettings": "settings",
        "Rows": "rows",
        "answer_prior": "priors",
        "audit": "auditing",
        "number_rows": "rows",
        "question_answer_prior": "priors",
    },
)
