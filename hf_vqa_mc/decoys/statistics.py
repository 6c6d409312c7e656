"""Statistics of a config: counts, fallbacks, filters, neutrality, WordNet coverage and the prior rule.

Text keys are int32 (rows, choices), the target first, MISSING where there is no choice.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys import kind_number, methods
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float64s, Int32s, Int64s, Reason
from hf_vqa_mc.decoys.decoy_table import ClosedSets, DecoyTable, IndexedTriplets, LeftOut
from hf_vqa_mc.decoys.kind import SET_KINDS
from hf_vqa_mc.decoys.rows import RowChoices
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.wordnet import wordnet_covers

CURVE_POINTS = 40  # maximum number of points of the curve of coverage and leak
NEVER_SEEN = 0.5  # P(correct | C) of a choice that never occurs in training (eq. 2)


def statistics(choices: RowChoices, indexed: IndexedTriplets) -> dict[str, Any]:
    """The statistics of a config, ready for JSON."""
    made_here = {
        name: decoys
        for name, decoys in choices.decoys.items()
        if choices.sets is None and methods()[name][1].take is not None
    }
    sizes = (choices.texts != MISSING).sum(axis=1)
    included, of_row = choices.included, indexed.table["split"].to_numpy()
    splits = {split: rows for split in SPLITS if (rows := included & (of_row == split)).any()}
    training = choices.keys[indexed.training & included]
    targets, key_texts = indexed.candidates.keys[indexed.triplets.targets], indexed.candidates.key_texts
    in_wordnet = [key for key in np.unique(targets).tolist() if wordnet_covers(words(key_texts[key]))]
    covered = int(np.isin(targets, in_wordnet).sum())  # triplets with a word of the target (Supplement B.1)
    return {
        "rows": {split: int(rows.sum()) for split, rows in splits.items()},
        "choices_per_row": {split: counts_of(sizes[rows]) for split, rows in splits.items()},
        "rejected": {name: _rejected(decoys) for name, decoys in made_here.items()},
        "fallbacks": {
            name: {
                "choices": int(decoys.sizes.sum()),
                "fallback": int(decoys.fallback.sum()),
                "missing": int(decoys.sizes.sum() - (decoys.picks != MISSING).sum()),
                "why": _why_missing(decoys),
            }
            for name, decoys in made_here.items()
        },
        "repeated_across_sets": _repeated(choices, indexed),
        "neutrality": neutrality(*occurrences(training, len(indexed.candidates.key_texts))) if len(training) else {},
        "wordnet_coverage": {"triplets": len(targets), "covered": covered, "share": covered / len(targets)},
        "prior_rule": _prior_rule(choices, splits, indexed),
        **({"closed_sets": set_statistics(choices.sets, sizes, of_row)} if choices.sets else {}),
    }


def _rejected(decoys: DecoyTable) -> dict[str, int]:
    """Number of candidates rejected by each filter."""
    counts = zip(Reason, decoys.rejected.sum(axis=0, dtype=np.int64).tolist(), strict=True)
    return {why.name.lower(): count for why, count in counts if count or why.in_paper}


def _why_missing(decoys: DecoyTable) -> dict[str, int]:
    """Number of slots without a decoy of the kind, by reason."""
    none, missing = decoys.considered == 0, decoys.sizes - decoys.found
    lacking = np.maximum(decoys.sizes - decoys.considered, 0)
    return {
        "no candidates": int(missing[none].sum()),
        "fewer candidates than slots": int(np.minimum(missing, lacking)[~none].sum()),
        "rejected by the filters": int(np.maximum(missing - lacking, 0)[~none].sum()),
    }


def set_statistics(sets: ClosedSets, sizes: Int64s, splits: NDArray[np.object_]) -> dict[str, dict[str, Any]]:
    """Closed answer sets of each split; the arguments are (rows,).

    Returns:
        Split to ``sets`` (kind to size to number of sets), ``rows`` (included), ``left_out`` (reason to rows),
        ``leak`` (mean estimate of the sets, per row; None where it was not estimated) and `leak_curve`.
    """
    found = {}
    for split in dict.fromkeys(splits.tolist()):
        own = splits == split
        firsts = own & (sets.first == np.arange(len(own)))
        by_kind = {kind: counts_of(sizes[firsts & (sets.kind == number)]) for number, kind in enumerate(SET_KINDS)}
        leaks = sets.leak[firsts] / sizes[firsts]
        found[split] = {
            "rows": int((own & (sets.first != MISSING)).sum()),
            "sets": {kind: counts for kind, counts in by_kind.items() if counts},
            "left_out": {
                reason.name.lower(): int((own & (sets.left_out == reason)).sum()) for reason in list(LeftOut)[1:]
            },
            "leak": float(leaks.mean()) if len(leaks) and not np.isnan(leaks).any() else None,
            "leak_curve": leak_curve(sets, own),
        }
    return found


def leak_curve(sets: ClosedSets, own: Bools) -> dict[str, Any] | None:
    """The estimated leak of a split's sets if those that leak least for their size come first; ``own`` is (rows,).

    Each of the ``points`` has ``coverage`` (fraction of the split's rows), ``rows`` and ``gain`` (mean estimated
    accuracy of question and choices minus chance); ``kept`` is the one of the sets that are kept. None unless some set
    can leak.
    """
    formed = np.flatnonzero(own & ~np.isnan(sets.leak))
    if not sets.leak[formed].any():
        return None
    formed = formed[np.argsort(sets.leak[formed] / (sets.size[formed] - 1), kind="stable")]
    gains = sets.leak[formed].astype(np.float64) / sets.size[formed]
    means = np.cumsum(gains) / np.arange(1, len(formed) + 1)
    exact = int((sets.leak[formed] == 0).sum())  # these are kept at every coverage
    shown = np.unique(np.linspace(max(exact, 1), len(formed), CURVE_POINTS).round().astype(np.int64)) - 1
    points = [
        {"coverage": (at + 1) / int(own.sum()), "rows": at + 1, "gain": float(means[at])} for at in shown.tolist()
    ]
    kept = gains[sets.first[formed] != MISSING]
    gain = float(kept.mean()) if len(kept) else 0.0
    return {"points": points, "kept": {"coverage": len(kept) / int(own.sum()), "gain": gain}}


def counts_of(sizes: Int64s) -> dict[str, int]:
    """Size, as text for JSON, to how often it occurs."""
    return {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)}


def _repeated(choices: RowChoices, indexed: IndexedTriplets) -> dict[str, int]:
    """Number of texts shared by sets of a row before they are combined, and of those replaced."""
    own = [indexed.keys_of(picks) for picks in choices.alone]
    kinds = [kind_number(methods()[name][0].name) for name in choices.variant.sets]
    before = _shared_texts(own)
    after = _shared_texts([choices.keys[:, choices.kinds == kind] for kind in kinds])
    return {
        "rows": int(np.count_nonzero(before)),
        "texts": int(before.sum()),
        "replaced": int(before.sum()) - int(after.sum()),
    }


def _shared_texts(sets: list[Int32s]) -> Int64s:
    """Number of texts of each row's later sets that an earlier set holds, (rows,)."""
    shared = np.zeros(len(sets[0]), np.int64)
    for number, later in enumerate(sets[1:], 1):
        earlier = np.concatenate(sets[:number], axis=1)
        shared += ((later[:, :, None] == earlier[:, None]).any(axis=2) & (later != MISSING)).sum(axis=1)
    return shared


def occurrences(keys: Int32s, n_keys: int) -> tuple[Int64s, Int64s]:
    """How often each text below ``n_keys`` is the target and a decoy of the rows, (n_keys,) each."""
    decoys = keys[:, 1:]
    as_decoy = np.bincount(decoys[decoys != MISSING], minlength=n_keys)
    return np.bincount(keys[:, 0], minlength=n_keys), as_decoy


def neutrality(as_target: Int64s, as_decoy: Int64s) -> dict[str, Any]:
    """Frequency of the training split's targets as its decoys (Sect. 3.2), compared with chance.

    ``distance``, not in the paper, is the total variation distance between the frequencies of texts as targets and as
    decoys: 0 if they are equal, 1 if no target is ever a decoy. The arguments are `occurrences`.
    """
    of_targets = as_decoy[as_target > 0]
    return {
        "unique_targets": len(of_targets),
        "as_target_mean": int(as_target.sum()) / len(of_targets),
        "as_decoy_mean": float(of_targets.mean()),
        "as_decoy_chance": float(as_decoy.sum() / len(of_targets)),
        "never_a_decoy": int(np.count_nonzero(of_targets == 0)),
        "distance": math.fsum(np.abs(as_target / as_target.sum() - as_decoy / max(as_decoy.sum(), 1))) / 2,
    }


def _prior_rule(
    choices: RowChoices, splits: dict[str, Bools], indexed: IndexedTriplets
) -> dict[str, dict[str, float]]:
    """Eq. 2, fitted on the training split and evaluated on the others; empty where there is no training split."""
    if "train" not in splits:
        return {}
    train = choices.keys[splits["train"]]
    likelihood = prior_rule(*occurrences(train, len(indexed.candidates.key_texts)), decoys_per_row(train))
    return {
        split: {
            "accuracy": float(np.mean(target_picked(likelihood[keys], keys))),
            "chance": float(np.mean(1.0 / (keys != MISSING).sum(axis=1))),
        }
        for split, keys in ((split, choices.keys[rows]) for split, rows in splits.items())
        if split != "train"
    }


def prior_rule(as_target: Int64s, as_decoy: Int64s, decoys_per_row: int) -> Float64s:
    """Eq. 2 for `occurrences` in a training set: P(correct | C) of each text, in [0, 1]; ``decoys_per_row`` is K.

    The rule picks the choice that is most often correct.
    """
    seen = as_target * decoys_per_row + as_decoy  # integers, so that equal ratios are equal floats
    return np.where(seen > 0, as_target * decoys_per_row / np.maximum(seen, 1), NEVER_SEEN)


def decoys_per_row(keys: Int32s) -> int:
    """K of eq. 2: the median number of decoys per row, at least 1."""
    return max(int(np.median((keys[:, 1:] != MISSING).sum(axis=1))), 1)


def target_picked(likelihood: Float64s, keys: Int32s) -> Float64s:
    """Probability that the likeliest choice of each row is the target, float64 (rows,); ties are equally probable.

    ``likelihood`` is (rows, choices), in [0, 1], with any value where there is no choice.
    """
    scores = np.where(keys == MISSING, -1.0, likelihood)
    best = scores == scores.max(axis=1, keepdims=True)
    picked: Float64s = best[:, 0] / best.sum(axis=1)
    return picked
