"""The probes of an audit, one declaration each; a package of yours adds one with ``PROBES.add(Probe(...))``."""

from hf_vqa_mc.audits.probes.cosines import COSINES
from hf_vqa_mc.audits.probes.heuristics import HEURISTICS, PRIORS
from hf_vqa_mc.audits.probes.language_model import LANGUAGE_MODELS
from hf_vqa_mc.audits.probes.like_choices import LIKE_CHOICES
from hf_vqa_mc.audits.probes.mlps import MLPS
from hf_vqa_mc.audits.probes.orders import ORDERS
from hf_vqa_mc.audits.probes.pair_models import PAIR_MODELS
from hf_vqa_mc.audits.probes.probe import Context, Probe, Skipped, run_cross_fitted, run_probes
from hf_vqa_mc.audits.probes.set_models import SET_MODELS
from hf_vqa_mc.audits.probes.text_rules import TEXT_RULES
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.listing import Listing

__all__ = ["PROBES", "Context", "Prediction", "Probe", "ProbeInputs", "Skipped", "run_cross_fitted", "run_probes"]

PROBES: Listing[Probe] = Listing(
    "probe",
    *HEURISTICS,
    *TEXT_RULES,
    *ORDERS,
    *COSINES,
    *PRIORS,
    *LIKE_CHOICES,
    *PAIR_MODELS,
    *SET_MODELS,
    *MLPS,
    *LANGUAGE_MODELS,
)
