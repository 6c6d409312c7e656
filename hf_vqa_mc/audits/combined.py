"""Strategies that combine the predictions of the probes: all rows with the same choices together, or their ranks."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import best_assignment
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Sees, Shortcut


def combined(
    rows: Rows,
    found: Sequence[Shortcut],
    rows_folds: NDArray[np.integer],
    fitted_folds: int,
    seed: int,
    sets: Sequence[str] | None = None,
) -> list[Shortcut]:
    """The strategies that use the mean predictions of trained probes.

    Args:
        rows: the audited rows.
        found: shortcuts, of which those with probabilities are used.
        rows_folds: (rows,): fold of each row, from 0.
        fitted_folds: number of folds of the audited rows that the probes were fitted on; 0 with a training split,
            which `usual_rank` needs.
        seed: random seed; ties are broken at random.
        sets: see `folds.sets_of`.
    """
    made: list[Shortcut | None] = []
    for sees in Sees:
        probabilities = mean_probabilities(found, sees)
        if probabilities is None or not sees.is_shortcut:
            continue
        if sees is Sees.QUESTION:
            made.append(best_assignment(rows, probabilities, fitted_folds, seed, sets))
        if not fitted_folds:  # other rows' answers mislead cross-fitted models where each answer is used once
            made.append(usual_rank(rows, probabilities, rows_folds, sees, seed))
    return [replace(one, fitted=True, trained=True) for one in made if one is not None]


def mean_probabilities(shortcuts: Sequence[Shortcut], sees: Sees) -> NDArray[np.float64] | None:
    """Mean P(target) of the shortcuts with these inputs, (rows, choices); None if none has probabilities."""
    found = [one.probabilities for one in shortcuts if one.sees is sees and one.probabilities is not None]
    return np.mean(found, axis=0) if found else None


def usual_rank(
    rows: Rows, probabilities: NDArray[np.float64], folds: NDArray[np.integer], sees: Sees, seed: int = 0
) -> Shortcut | None:
    """Pick the choice with the rank that targets usually have in other folds, such as the least probable choice.

    Removing the rows that a model answers correctly, or splitting a dataset so that answers change (VQA-CP), turns a
    shortcut around instead of removing it: what the model finds improbable is often correct.

    Args:
        rows: the audited rows.
        probabilities: (rows, choices): P(target), the target in column 0, NaN in rows that were not evaluated.
        folds: (rows,): fold of each row; ranks are counted in the other folds, among rows with as many choices.
        sees: inputs of the probes.
        seed: random seed; ties are broken by random preferences for texts, the same in all rows.

    Returns:
        The strategy; None if the most probable choice is the usual target everywhere, so that it adds nothing.
    """
    evaluated = np.flatnonzero(np.isfinite(probabilities[:, 0]))
    sizes, of_fold = rows.sizes[evaluated], folds[evaluated]
    values = np.where(rows.valid, probabilities, -np.inf)[evaluated]
    preference = np.random.default_rng(seed).random(len(rows.vocabulary.key_texts))[rows.keys[evaluated]]
    order = np.lexsort((preference, -values), axis=1)
    rank = (order == 0).argmax(axis=1)  # of the target, 0 for the most probable choice
    usual = np.zeros(len(evaluated), np.int64)
    for size, fold in np.unique(np.stack([sizes, of_fold]), axis=1).T:
        others = (sizes == size) & (of_fold != fold)
        usual[(sizes == size) & (of_fold == fold)] = np.bincount(rank[others], minlength=1).argmax()
    if not usual.any():
        return None
    scores = np.full(len(rows), np.nan)
    scores[evaluated] = rank == usual
    return Shortcut(
        scores,
        folds=FOLDS,
        name=f"rank of the prediction: {sees.label}",
        sees=sees,
        sentence=f"{sees.sentence}, ranks the choices by the predictions of the trained probes, and always picks the "
        "rank that is most often correct in other rows (for example the second)",
    )
