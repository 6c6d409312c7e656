"""Report probes before and after a remedy: whether it makes a benchmark better, and whether it harms."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import ndtri

from hf_vqa_mc.audits.closed_sets import exact_sets, sets_of
from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.audits.shortcut import TIED, Prediction
from hf_vqa_mc.data import Split
from hf_vqa_mc.decoys.candidates import Bools, Float64s, Int64s, Ints
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.fought_probes import group_folds
from hf_vqa_mc.remedies.judging_probes import (
    REPORT_PROBES,
    REPORT_SEED,
    SELECTION_PROBES,
    SELECTION_SEED,
    JudgingInputs,
    run_judging_probes,
)
from hf_vqa_mc.remedies.replacement_filters import Plausibility
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace
from hf_vqa_mc.scoring.statistics import CONFIDENCE, mean_interval
from hf_vqa_mc.text.embeddings import EmbeddingFamily

LEVEL = (1 - CONFIDENCE) / 2
"""Familywise error rate of harm, one-sided, and one-sided level of the interval of what is better."""
MOST_JUDGED = 5_000
"""Rows above which a random sample of whole groups is judged; more would take minutes and gigabytes."""
IMPLAUSIBLE = 0.1
"""Share of the published decoys that are less plausible than the floor by which new decoys are counted."""
FEW_GROUPS = 30
"""Images or other groups below which there is no verdict: with fewer than 20 to 50 clusters, intervals are too narrow
(Cameron and Miller 2015, Sect. VI)."""
LARGE = 0.1  # significant distance from chance above which a remedy leaves a large leak


@dataclass(frozen=True)
class Change:
    """The change of a probe's distance from chance, with a 95% interval."""

    name: str
    before: float  # accuracy before
    after: float
    chance: float  # accuracy of random guessing before
    chance_after: float
    change: float  # |accuracy - chance| after minus before; negative is better
    low: float  # lower bound; of probes corrected by Holm
    high: float
    before_half: float  # half of the 95% interval of ``before``
    after_half: float

    @property
    def exact(self) -> bool:
        """Whether the probe is exactly at chance after the remedy, by construction."""
        return self.after_half == 0 and self.after == self.chance_after

    @property
    def harmed(self) -> bool:
        """Whether the distance from chance rises, interval above 0; below chance is a leak, too."""
        return self.low > 0


@dataclass(frozen=True)
class Comparison:
    """Report probes before and after a remedy."""

    probes: tuple[Change, ...]
    mean: Change  # of the mean distance over the probes; its accuracies are chance plus the mean distances
    judged: int  # rows before that were judged
    judged_after: int
    rows: int  # rows before of which they are a sample
    groups: int  # images or other groups of these rows
    implausible: float | None = None
    """share of new decoys less plausible than nine tenths of the published ones; None without new decoys"""
    implausible_half: float = 0.0  # distance to the lower bound of its 95% interval

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        return {
            "judged_rows": self.judged,
            "judged_rows_after": self.judged_after,
            "rows": self.rows,
            "groups": self.groups,
            "implausible_new_decoys": self.implausible,
            "mean": asdict(self.mean),
            "probes": [asdict(one) | {"harmed": one.harmed} for one in self.probes],
        }

    @property
    def few(self) -> bool:
        """Whether the groups of rows are too few for a verdict."""
        return self.groups < FEW_GROUPS

    @property
    def better(self) -> bool:
        """Whether the mean distance from chance falls, its interval below 0."""
        return self.mean.high < 0

    @property
    def less_plausible(self) -> bool:
        """Whether significantly more new decoys are implausible than published ones."""
        return self.implausible is not None and self.implausible - self.implausible_half > IMPLAUSIBLE

    @property
    def large(self) -> list[Change]:
        """Probes that find a large leak after the remedy, the strongest first; none with too few groups of rows."""
        return [] if self.few else self.far(LARGE)

    def far(self, least: float) -> list[Change]:
        """Probes significantly more than ``least`` from chance after the remedy, the farthest first."""
        distances = {one: abs(one.after - one.chance_after) for one in self.probes}
        found = [one for one, distance in distances.items() if distance > max(least, one.after_half)]
        return sorted(found, key=lambda one: -distances[one])

    @property
    def harmed(self) -> tuple[Change, ...]:
        """Probes that find a larger shortcut than before."""
        return tuple(one for one in self.probes if one.harmed)


def judge(
    published: Split,
    remedied: Split,
    families: Sequence[EmbeddingFamily],
    seed: int = 0,
    changes: Sequence[dict[str, Any]] = (),
    progress: Progress = silent,
    selection: bool = False,
) -> Comparison:
    """Compare a split before and after a remedy by the report probes; ``selection``: by the selection probes.

    Where choices changed, the kept rows are compared with themselves as published. Where rows were removed and no
    choice changed, as by pruning, that comparison is always equal; then all published rows are compared with the
    kept ones. Rows of a closed answer set share a fold and are sampled together, since each excludes the answers of
    the others. The ``changes`` of a repair tie the groups of a changed row and of its donor.

    Raises:
        InputError: there are fewer groups of rows than folds.
    """
    ids = published.rows["question_id"].combine_chunks()
    kept = pc.index_in(remedied.rows["question_id"].combine_chunks(), ids).to_numpy()
    pairs = published.rows.take(pa.array(kept))
    removes_only = pairs["choices"].combine_chunks().equals(remedied.rows["choices"].combine_chunks())
    compared = np.arange(published.rows.num_rows) if removes_only else kept  # indices of published rows
    groups, sets = published.clusters[compared], sets_of(remedied)
    if sets is None:
        units, donor_groups = groups, _donor_groups(published, changes)[compared]
    else:
        units = donor_groups = np.unique(sets, return_inverse=True)[1]
    sample = _sample(units, seed)
    groups, donor_groups, units, compared = (one[sample] for one in (groups, donor_groups, units, compared))
    is_kept = np.isin(compared, kept)
    row_after = pc.index_in(pa.array(compared[is_kept]), pa.array(kept))
    numbered = number_rows({"before": published.rows.take(pa.array(compared)), "after": remedied.rows.take(row_after)})
    before, after = counted = tuple(numbered.values())
    forms, spaces = TextForms(before.vocabulary), [TextSpace.embedded(family, *counted) for family in families]
    probes, of_probes = (SELECTION_PROBES, SELECTION_SEED) if selection else (REPORT_PROBES, REPORT_SEED)
    folds = group_folds(units, seed + of_probes)
    scores, inflation = [], dict[str, float]()
    for moment, rows, of_rows in (("before", before, folds), ("after", after, folds[is_kept])):
        judged = JudgingInputs(rows, of_rows, forms, spaces, seed, counted)
        found = run_judging_probes(probes, judged, prefixed(progress, moment))
        scores.append(_scores(found, rows))
        inflation = {name: one.inflation for name, one in found.items()}
    chance = before.chance, after.chance
    result = compare_probes(scores[0], scores[1], chance, groups, donor_groups, inflation, is_kept)
    result = replace(result, rows=published.rows.num_rows if removes_only else len(kept))
    if selection or removes_only:
        return result
    progress("learning plausibility", 0, 1)
    share, half = _implausible(Plausibility(before, units, folds, spaces, forms, seed), before, after, units)
    return replace(result, implausible=share, implausible_half=half)


def _scores(found: Mapping[str, Prediction], rows: Rows) -> dict[str, Float64s]:
    """The scores of each probe; of those that are exactly at chance in each closed set of their inputs, chance."""
    groups, scores = {sees.label: one.groups for sees, one in exact_sets(rows, None).items()}, {}
    for name, one in found.items():
        group = groups.get(name.rpartition(": ")[2])
        exact = group is not None and np.abs(np.bincount(group, one.scores - rows.chance)).max() < TIED
        scores[name] = rows.chance if exact else one.scores
    return scores


def _sample(units: Ints, seed: int) -> Int64s:
    """Indices of the rows of random whole groups, MOST_JUDGED rows or a few more; all rows if they are not more."""
    if len(units) <= MOST_JUDGED:
        return np.arange(len(units))
    distinct, unit, counts = np.unique(units, return_inverse=True, return_counts=True)
    order = np.random.default_rng([seed, MOST_JUDGED]).permutation(len(distinct))
    some = order[: int(np.searchsorted(np.cumsum(counts[order]), MOST_JUDGED)) + 1]
    return np.flatnonzero(np.isin(unit, some))


def _donor_groups(split: Split, changes: Sequence[dict[str, Any]]) -> Int64s:
    """(rows,): group of the question whose choice became a decoy of the row; the row's own if none did."""
    found = split.clusters.copy()
    number = {name: row for row, name in enumerate(split.rows["question_id"].to_pylist())} if changes else {}
    for one in changes:
        if one["split"] == split.name and one["donor"] in number and one["question_id"] in number:
            found[number[one["question_id"]]] = split.clusters[number[one["donor"]]]
    return found


def _implausible(
    learned: Plausibility, before: Rows, after: Rows, groups: Ints
) -> tuple[float, float] | tuple[None, float]:
    """The share of new decoys less plausible than nine tenths of the published ones, and how far below it may be."""
    known = (after.keys[:, :, None] == before.keys[:, None, :]).any(axis=2)
    row, column = (after.valid & ~known).nonzero()
    if not len(row):
        return None, 0.0
    odds = learned.of(row, column, after.texts[row, column], after.texts)
    found = (odds < np.nanquantile(learned.published[:, 1:], IMPLAUSIBLE)).astype(np.float64)
    return float(found.mean()), float(found.mean()) - mean_interval(found, groups[row])[0]


def compare_probes(
    before: Mapping[str, Float64s],
    after: Mapping[str, Float64s],
    chance: tuple[Float64s, Float64s],
    groups: Ints,
    donor_groups: Ints,
    inflation: Mapping[str, float] | None = None,
    kept: Bools | None = None,
) -> Comparison:
    """Compare rows before a remedy with the same rows, or the kept ones of them, after it.

    The change is a difference of two means over overlapping rows, so its standard error is that of the sum of the
    rows' influences: a kept row has one in both means (paired), a removed row in the first alone. The number of kept
    rows is random, as in a ratio estimate. Standard errors are clustered two ways, by the row's group and by the
    group of its new decoy's donor (Cameron, Gelbach and Miller 2011, eq. 2.11), since a text that moved ties two
    groups. The absolute value is linearised at the estimated signs.

    Scores are those of the same probes, (rows,) before and (kept rows,) after, ``chance`` likewise; ``groups`` and
    ``donor_groups`` (rows,) are numbers, ``inflation`` factors of standard errors, ``kept`` (rows,) a mask.
    """
    every = np.ones(len(groups), np.bool_)
    factors = np.array([(inflation or {}).get(name, 1.0) for name in before])
    average, z = float(np.mean(factors)), float(-ndtri(LEVEL))

    def errors(influences: Float64s) -> Float64s:
        return np.array([two_way_error(one, groups, donor_groups) for one in influences])

    old, old_influence = _distances([before[name] - chance[0] for name in before], every)
    new, new_influence = _distances([after[name] - chance[1] for name in before], every if kept is None else kept)
    changes, influence = new - old, new_influence - old_influence
    spreads = factors * errors(influence)
    bounds = _holm_quantiles(changes, spreads) * spreads
    halves = [z * factors * errors(one) for one in (old_influence, new_influence)]
    guess = float(chance[0].mean()), float(chance[1].mean())
    columns = (changes, changes - bounds, changes + bounds, *halves)
    figures = zip(before, *(one.tolist() for one in columns), strict=True)
    probes = tuple(
        Change(name, float(before[name].mean()), float(after[name].mean()), *guess, *row) for name, *row in figures
    )
    mean, means = float(np.mean(changes)), [np.mean(one, axis=0) for one in (influence, old_influence, new_influence)]
    error, *others = errors(np.stack(means)).tolist()
    half, sides = z * (average * error), [z * average * one for one in others]
    accuracies = guess[0] + float(np.mean(old)), guess[1] + float(np.mean(new))
    whole = Change("mean over the probes", *accuracies, *guess, mean, mean - half, mean + half, *sides)
    n_groups = min(len(np.unique(one)) for one in (groups, donor_groups))
    return Comparison(probes, whole, len(groups), len(after[next(iter(after))]), len(groups), n_groups)


def _distances(gains: Sequence[Float64s], kept: Bools) -> tuple[Float64s, Float64s]:
    """The distances of accuracies from chance by the kept rows' gains, and the influences (probes, rows), mean 0."""
    over = np.stack(gains)
    mean = over.mean(axis=1, keepdims=True)
    influence = np.zeros((len(over), len(kept)))
    influence[:, kept] = np.where(mean < 0, -1.0, 1.0) * (over - mean) * len(kept) / over.shape[1]
    return np.abs(mean[:, 0]), influence


def two_way_error(values: Float64s, one: Ints, other: Ints) -> float:
    """The standard error of a mean, clustered by two groupings; at least that by either alone."""

    def variance(by: Ints) -> float:
        sums = np.bincount(np.unique(by, return_inverse=True)[1], values - values.mean())
        return float(len(sums) / max(len(sums) - 1, 1) * (sums**2).sum() / len(values) ** 2)

    both = np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True)[1].ravel()
    variances = [variance(by) for by in (one, other, both)]
    return float(np.sqrt(max(variances[0] + variances[1] - variances[2], *variances)))


def _holm_quantiles(changes: Float64s, errors: Float64s) -> Float64s:
    """Normal quantiles of each probe's interval: the m-th strongest of n harms is tested at LEVEL / (n - m + 1).

    After the first that is not significant, all further ones have its quantile (Holm 1979).
    """
    ratios = changes / np.maximum(errors, 1e-12)
    quantiles, stopped = np.zeros(len(ratios)), None
    for rank, index in enumerate(np.argsort(-ratios, kind="stable").tolist()):
        quantile = float(-ndtri(LEVEL / (len(ratios) - rank))) if stopped is None else stopped
        quantiles[index] = quantile
        if stopped is None and ratios[index] <= quantile:
            stopped = quantile
    return quantiles
