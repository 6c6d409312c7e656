"""The probes of an audit, one declaration each; a package of yours adds one with ``PROBES.add(Probe(...))``."""

from hf_vqa_mc.audits.probes.heuristics import COSINES, HEURISTICS
from hf_vqa_mc.audits.probes.models import PAIR_MODELS, SET_MODELS
from hf_vqa_mc.audits.probes.priors import ORDERS, PRIORS
from hf_vqa_mc.audits.probes.probe import Context, Probe, Skipped, run_probes
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.listing import Listing

__all__ = ["PROBES", "Context", "Prediction", "Probe", "ProbeInputs", "Skipped", "run_probes"]

PROBES: Listing[Probe] = Listing("probe", *HEURISTICS, *ORDERS, *COSINES, *PRIORS, *PAIR_MODELS, *SET_MODELS)
