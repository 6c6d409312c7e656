"""Training and test rows of the probes, and closed answer sets: what they guarantee, and the attack on whole sets."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Prediction, ProbeInputs, picked
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes import Context

SHARED_BY = (20, 5, 2)  # rows with the same choices share a fold if at most so many have them; tried in order
LARGEST = 0.5  # maximum fraction of a fold that is connected; above it the next of `SHARED_BY` is tried
SET_ID, LARGEST_SET = "set_id", 49  # column of closed answer sets, and rows of the largest one: a Latin square of 7
COUNTED = 10  # maximum number of rows for counts, as a multiple of those that models are fitted on: counting is fast
EVALUATED = 20_000  # maximum number of rows that models are evaluated on
ENOUGH = 0.8  # no further fold is evaluated after this fraction of EVALUATED
MOST_ROWS = 20
"""Maximum number of rows with the same choices that are assigned together; such rows also share a fold.

Where rows have the column ``set_id``, those of a set are assigned together instead.
"""
SMALLEST, TIED = 1e-6, 1e-6  # smallest probability, and largest difference of log likelihoods that is a tie
ASSIGNED = "best assignment"


def folds_of(split: Split, rows: Rows | None = None) -> NDArray[np.int8]:
    """The fold of each row, int8 (rows,) in [0, FOLDS); rows of an image share one, else rows of a `Split.units`.

    With ``rows``, rows with the same set of choices also share a fold if they are few (`SHARED_BY`): the answer of one
    row reveals that of another. Rows of a closed answer set (column ``set_id``) share a fold instead of rows of an
    image: a model that was fitted on a part of a set would exclude the answers of that part. The fold is a hash of the
    group, so it does not depend on other rows, unlike the folds of scikit-learn's GroupKFold.
    """
    if (sets := sets_of(split)) is not None:
        units = [one or unit for one, unit in zip(sets, split.units, strict=True)]
        return (text_hashes(units) % np.uint64(FOLDS)).astype(np.int8)
    hashes, image = text_hashes(dict.fromkeys(split.units)), split.clusters
    group = np.arange(len(hashes))
    if rows is not None:
        group = _connected(image, np.unique(rows.choice_sets, return_inverse=True)[1], len(hashes))
    first = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, group, hashes)
    return (first[group][image] % np.uint64(FOLDS)).astype(np.int8)


def sets_of(split: Split) -> list[str] | None:
    """(rows,): the closed set of each row, "" for rows in none; None without sets, or if one has most of the rows."""
    if SET_ID not in split.original.column_names:
        return None
    sets = ["" if one in (None, "") else f"set {one}" for one in split.original[SET_ID].to_pylist()]
    largest = max(Counter(one for one in sets if one).values(), default=0)
    return sets if 0 < largest <= max(LARGEST * len(sets) / FOLDS, LARGEST_SET) else None


def _connected(image: NDArray[np.int64], choices: NDArray[np.int64], n_images: int) -> NDArray[np.int64]:
    """The group of each image; images whose rows share choices are connected."""
    shared = np.bincount(choices)[choices]
    most = max(LARGEST * len(image) / FOLDS, float(np.bincount(image).max()), SHARED_BY[-1])
    for limit in SHARED_BY:
        some = np.flatnonzero((shared > 1) & (shared <= limit))
        size = n_images + len(np.bincount(choices))
        links = scipy.sparse.coo_array(
            (np.ones(len(some), np.int8), (image[some], n_images + choices[some])), shape=(size, size)
        )
        group: NDArray[np.int64] = scipy.sparse.csgraph.connected_components(links, directed=False)[1][:n_images]
        if np.bincount(group[image]).max() <= most:
            return group
    return np.arange(n_images)


class Part(NamedTuple):
    """Training and test rows of one fit; they share no image, or no closed answer set."""

    counted: NDArray[np.int64]  # rows whose labels are counted
    inner: NDArray[np.int64]  # (counted rows,): folds for cross-fitted counts, from 0
    train: NDArray[np.int64]  # those of the counted rows that a model is fitted on
    test: NDArray[np.int64]  # rows that the model is evaluated on


def parts_of(
    folds: NDArray[np.integer],
    train_folds: NDArray[np.integer] | None,
    most: int,
    rng: np.random.Generator,
    evaluated: int | None = EVALUATED,
) -> list[Part]:
    """The fits of a probe: one with a training split, else one per fold, as many as are needed for the sample.

    A model is fitted on at most ``most`` rows, and evaluated on a random ``evaluated`` audited rows, None for all.
    Indices of training rows follow those of the audited rows.
    """
    every, parts, wanted = np.arange(len(folds)), list[Part](), len(folds) if evaluated is None else evaluated
    sides = [(every[folds != fold], folds[folds != fold], every[folds == fold]) for fold in np.unique(folds)]
    if train_folds is not None:
        sides = [(np.arange(len(train_folds)) + len(folds), train_folds, every)]
    for known, inner, test in sides:
        left = wanted - sum(len(part.test) for part in parts)
        if not len(known) or (len(folds) > wanted and left <= (1 - ENOUGH) * wanted):
            continue
        kept = _sample(len(known), COUNTED * most, rng)
        distinct, number = np.unique(inner[kept], return_inverse=True)
        if len(distinct) < 2:
            number = np.arange(len(kept)) % FOLDS
        tested, counted = test[_sample(len(test), left, rng)], known[kept]
        parts.append(Part(counted, number.astype(np.int64), counted[_sample(len(kept), most, rng)], tested))
    return parts


def _sample(rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))


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


def combined(context: "Context", found: Sequence[Prediction]) -> Iterator[Prediction]:
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
                yield replace(
                    one, name=f"{name}: {sees.label}", sees=sees, sentence=sentence, fitted=True, trained=True
                )


def mean_probabilities(shortcuts: Iterable[Prediction], sees: ProbeInputs) -> NDArray[np.float64] | None:
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
