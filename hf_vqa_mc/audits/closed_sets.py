"""Closed answer sets of the audited rows: what they guarantee, by counting, and the attack on sets as a whole."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import LARGEST_SET, sets_of
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Prediction, ProbeInputs, Shortcut, picked
from hf_vqa_mc.decoys.rng import text_hashes

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes import Context

MOST_ROWS = 20
"""Maximum number of rows with the same choices that are assigned together; such rows also share a fold.

Where rows have the column ``set_id``, those of a set are assigned together instead.
"""
SMALLEST, TIED = 1e-6, 1e-6  # smallest probability, and largest difference of log likelihoods that is a tie
ASSIGNED = "best assignment"


class ExactSets(NamedTuple):
    """Closed sets due to which every strategy with some inputs has exactly the accuracy of chance."""

    number: int  # number of sets: of those in ``set_id`` if all rows have one, else of sets of k rows with k choices
    groups: NDArray[np.int64]  # (rows,): number of the rows with the same inputs and choices, one or more sets


def exact_sets(
    rows: Rows, images: NDArray[np.integer] | None, sets: Sequence[str] | None = None
) -> dict[ProbeInputs, ExactSets]:
    """The inputs for which every strategy has exactly the accuracy of chance, with the closed sets.

    A closed set is k rows with the same k choices, each of which is the target of one of them: any rule that sees the
    choices alone, but not their order, picks the same text in all k rows. If the rows of each set also share the
    question (the image), this holds for rules that see it, too. All rows must be in such sets. Texts are compared
    letter by letter. ``images`` (rows,) are numbers, ``sets`` are of `folds.sets_of`.
    """
    found: dict[ProbeInputs, ExactSets] = {}
    texts = rows.hashed(rows.texts, len(rows.vocabulary.choices))
    inputs = np.zeros(len(rows)), rows.questions, images
    number = len(set(sets)) if sets and all(sets) else round(float((1 / rows.sizes).sum()))
    for sees, group in zip(ProbeInputs, inputs, strict=False):
        if group is None or rows.sizes.min() < 2:
            continue
        groups, choices = (np.unique(one, return_inverse=True)[1] for one in (group, texts))
        both = np.unique(groups * (choices.max() + 1) + choices, return_inverse=True)[1]
        sizes, n_rows = np.zeros(both.max() + 1, np.int64), np.bincount(both)
        sizes[both] = rows.sizes
        n_texts = len(rows.vocabulary.choices)
        targets, counts = np.unique(both * n_texts + rows.texts[:, 0], return_counts=True)
        of_target = targets // n_texts
        # Each of the k choices is the target of equally many rows; several sets may have the same choices.
        if (np.bincount(of_target) == sizes).all() and (counts * sizes[of_target] == n_rows[of_target]).all():
            found[sees] = ExactSets(number, both)
    return found


def best_assignment(
    rows: Rows, probabilities: NDArray[np.float64], folds: int, seed: int = 0, sets: Sequence[str] | None = None
) -> Prediction | None:
    """Assign the choices to the rows that share them, each to equally many rows, with the highest likelihood.

    With ``sets`` of `folds.sets_of`, the rows of a set are assigned together, else those with the same choices. Other
    rows, and more than MOST_ROWS with the same choices, pick the most probable choice. Ties are broken at random.
    P(target) (rows, choices) is NaN in rows that were not evaluated. None if less than half of the rows share choices.
    """
    rng, shared, groups, most = np.random.default_rng(seed), 0, rows.choice_sets, MOST_ROWS
    if sets is not None:
        groups, most = np.where(np.array(sets) != "", text_hashes(sets), groups), LARGEST_SET
    evaluated = np.flatnonzero(np.isfinite(probabilities[:, 0]))
    order = evaluated[np.argsort(groups[evaluated], kind="stable")]
    starts = np.flatnonzero(np.diff(groups[order], prepend=np.uint64(0), append=np.uint64(0)))
    scores = np.full(len(rows), np.nan)
    scores[evaluated] = picked(probabilities[evaluated], rows.take(evaluated))
    for group in np.split(order, starts[1:-1]):
        if 1 < len(group) <= most:
            shared += len(group)
            scores[group] = _assigned(rows.take(group), probabilities[group], rng)
    if 2 * shared < max(len(evaluated), 1):
        return None
    return Prediction(scores, folds=folds, clusters=np.unique(groups, return_inverse=True)[1])


def _assigned(rows: Rows, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether the assignment gives rows with the same choices their targets, (rows,)."""
    from scipy.optimize import linear_sum_assignment

    row, column = rows.valid.nonzero()
    distinct, choice = np.unique(rows.keys[row, column], return_inverse=True)
    likelihood = np.full((len(rows), len(distinct)), np.log(SMALLEST))
    np.maximum.at(likelihood, (row, choice), np.log(np.maximum(probabilities[row, column], SMALLEST)))
    copies = -(-len(rows) // len(distinct))
    ties = TIED * rng.random((len(rows), copies * len(distinct)))
    assigned = linear_sum_assignment(np.tile(likelihood, copies) + ties, maximize=True)[1] % len(distinct)
    return np.asarray(distinct[assigned] == rows.keys[:, 0])


def combined(context: "Context", found: Sequence[Shortcut]) -> Iterator[Shortcut]:
    """The strategies that use the mean predictions of trained probes."""
    rows, seed, sets = context.rows, context.settings.seed, sets_of(context.split)
    folds = len(context.parts) if context.n_folds else 0
    for sees in ProbeInputs:
        probabilities, made = mean_probabilities(found, sees), dict[str, tuple[str, Prediction | None]]()
        if probabilities is None or not sees.is_shortcut:
            continue
        if sees is ProbeInputs.QUESTION:
            together = "with the same choices" if sets is None else "of a closed answer set"
            sentence = f"sees all rows {together} but no image and assigns each choice to equally many of them"
            made[ASSIGNED] = sentence, best_assignment(rows, probabilities, folds, seed, sets)
        if not folds:  # other rows' answers mislead cross-fitted models where each answer is used once
            sentence = (
                f"{sees.sentence}, ranks the choices by the predictions of the trained probes, and always picks the "
                "rank that is most often correct in other rows (for example the second)"
            )
            made["rank of the prediction"] = sentence, usual_rank(rows, probabilities, context.folds, seed)
        for name, (sentence, one) in made.items():
            if one is not None:
                yield Shortcut(
                    **vars(one), name=f"{name}: {sees.label}", sees=sees, sentence=sentence, fitted=True, trained=True
                )


def mean_probabilities(shortcuts: Iterable[Shortcut], sees: ProbeInputs) -> NDArray[np.float64] | None:
    """Mean P(target) of the shortcuts with these inputs, (rows, choices); None if none has probabilities."""
    found = [one.probabilities for one in shortcuts if one.sees is sees and one.probabilities is not None]
    return np.mean(found, axis=0) if found else None


def usual_rank(
    rows: Rows, probabilities: NDArray[np.float64], folds: NDArray[np.integer], seed: int = 0
) -> Prediction | None:
    """Pick the choice with the rank that targets usually have in other folds, such as the least probable choice.

    Removing the rows that a model answers correctly, or splitting a dataset so that answers change (VQA-CP), turns a
    shortcut around instead of removing it: what the model finds improbable is often correct. Ranks by P(target) (rows,
    choices), NaN in rows that were not evaluated, are counted among rows with as many choices. Ties are broken by
    random preferences for texts, the same in all rows. None if it is the first rank everywhere.
    """
    evaluated = np.flatnonzero(np.isfinite(probabilities[:, 0]))
    sizes, of_fold = rows.sizes[evaluated], folds[evaluated]
    values = np.where(rows.valid, probabilities, -np.inf)[evaluated]
    preference = np.random.default_rng(seed).random(len(rows.vocabulary.key_texts))[rows.keys[evaluated]]
    rank = (np.lexsort((preference, -values), axis=1) == 0).argmax(axis=1)  # of the target, 0: the most probable
    usual = np.zeros(len(evaluated), np.int64)
    for size, fold in np.unique(np.stack([sizes, of_fold]), axis=1).T:
        others = (sizes == size) & (of_fold != fold)
        usual[(sizes == size) & (of_fold == fold)] = np.bincount(rank[others], minlength=1).argmax()
    if not usual.any():
        return None
    scores = np.full(len(rows), np.nan)
    scores[evaluated] = rank == usual
    return Prediction(scores, folds=FOLDS)
