"""Untrained cosines of question and choice, by the static embeddings of the package ``wordllama``."""

from functools import partial

import numpy as np

from hf_vqa_mc.audits.closed_sets import ASSIGNED, best_assignment
from hf_vqa_mc.audits.folds import sets_of
from hf_vqa_mc.audits.probes.probe import Context, Probe
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs


def _by_cosine(sign: int, context: Context) -> Prediction | None:
    """Pick the choice with the highest cosine, or the lowest with ``sign`` -1; None if all choices tie."""
    cosines, valid = context.question_cosines, context.rows.take(context.tested).valid
    ties = np.where(valid, cosines, cosines[:, :1]) == cosines[:, :1]
    return None if ties.all() else context.on_tested(sign * cosines)


def _assigned(context: Context) -> Prediction | None:
    """Assign the choices to the rows that share them, so that the sum of the cosines is the highest."""
    likelihoods = np.full(context.rows.texts.shape, np.nan)
    likelihoods[context.tested] = np.exp(context.question_cosines)
    return best_assignment(context.rows, likelihoods, 0, context.settings.seed, sets_of(context.split))


COSINES = (
    Probe(
        "nearest to the question",
        ProbeInputs.QUESTION,
        "picks the choice whose embedding has the largest cosine with the question's",
        partial(_by_cosine, 1),
    ),
    Probe(
        "farthest from the question",
        ProbeInputs.QUESTION,
        "picks the choice whose embedding has the smallest cosine with the question's",
        partial(_by_cosine, -1),
    ),
    Probe(
        f"{ASSIGNED}: cosine with the question",
        ProbeInputs.QUESTION,
        "sees all rows of a closed answer set, or with the same choices, but no image and assigns each choice to "
        "equally many of them by the cosine with the question",
        _assigned,
    ),
)
