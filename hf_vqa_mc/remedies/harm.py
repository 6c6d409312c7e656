"""Whether a remedy makes a benchmark better, and whether it harms: report probes before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hf_vqa_mc.decoys.candidates import Bools, Float64s, Int64s, Ints
from hf_vqa_mc.scoring.statistics import CONFIDENCE

LEVEL = (1 - CONFIDENCE) / 2
"""Familywise error rate of harm, one-sided, and one-sided level of the interval of what is better."""

Values = Float64s


@dataclass(frozen=True)
class Change:
    """The change of a distance from chance, with a 95% interval."""

    name: str
    """name of the probe"""
    before: float
    """accuracy before"""
    after: float
    """accuracy after"""
    chance: float
    """accuracy of random guessing before"""
    chance_after: float
    change: float
    """|accuracy - chance| after minus before; negative is better"""
    low: float
    """lower bound; of probes corrected by Holm"""
    high: float
    """upper bound, likewise"""
    before_half: float
    """half of the 95% interval of ``before``"""
    after_half: float

    @property
    def harmed(self) -> bool:
        """Whether the distance from chance rises, interval above 0; below chance is a leak, too."""
        return self.low > 0


@dataclass(frozen=True)
class Comparison:
    """Report probes before and after a remedy."""

    probes: tuple[Change, ...]
    mean: Change
    """of the mean distance over the probes; its accuracies are chance plus the mean distances"""
    judged: int
    """rows before that were judged"""
    rows: int
    """rows of which they are a sample"""
    implausible: float | None = None
    """share of new decoys less plausible than nine tenths of the published ones; None without new decoys or trained
    probes"""

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        return {
            "judged_rows": self.judged,
            "rows": self.rows,
            "implausible_new_decoys": self.implausible,
            "mean": asdict(self.mean),
            "probes": [asdict(one) | {"harmed": one.harmed} for one in self.probes],
        }

    @property
    def better(self) -> bool:
        """Whether the mean distance from chance falls, its interval below 0."""
        return self.mean.high < 0

    @property
    def harmed(self) -> tuple[Change, ...]:
        """Probes that find a larger shortcut than before."""
        return tuple(one for one in self.probes if one.harmed)


def compare_probes(
    before: Mapping[str, Values],
    after: Mapping[str, Values],
    chance: tuple[Values, Values],
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

    Args:
        before: probe to scores (rows,): probability that the target is picked.
        after: likewise, for the same probes and the kept rows.
        chance: accuracy of random guessing before (rows,) and after (kept rows,).
        groups: (rows,): image, video or context, as numbers.
        donor_groups: (rows,): group of the donor of a changed row, else the row's own.
        inflation: probe to factor of the standard error for overlapping training sets, see `Prediction.inflation`.
        kept: (rows,): mask of the kept rows; by default all.
    """
    kept = np.ones(len(groups), np.bool_) if kept is None else kept
    names, clusters = list(before), (groups, donor_groups)
    factors = [(inflation or {}).get(name, 1.0) for name in names]
    sides = [
        [
            _distance(scores[name] - expected, mask, clusters, factor)
            for name, factor in zip(names, factors, strict=True)
        ]
        for scores, expected, mask in ((before, chance[0], np.ones_like(kept)), (after, chance[1], kept))
    ]
    influence = [new.influence - old.influence for old, new in zip(*sides, strict=True)]
    changes = [new.value - old.value for old, new in zip(*sides, strict=True)]
    errors = [factor * two_way_error(one, *clusters) for factor, one in zip(factors, influence, strict=True)]
    quantiles = _holm_quantiles(changes, errors)
    guess = float(chance[0].mean()), float(chance[1].mean())
    probes = tuple(
        Change(
            name,
            float(before[name].mean()),
            float(after[name].mean()),
            *guess,
            change,
            *_interval(change, error, z),
            old.half,
            new.half,
        )
        for name, old, new, change, error, z in zip(names, *sides, changes, errors, quantiles, strict=True)
    )
    mean, factor = float(np.mean(changes)), float(np.mean(factors))
    bounds = _interval(mean, factor * two_way_error(np.mean(influence, axis=0), *clusters), _z(LEVEL))
    distances = [guess[side] + float(np.mean([one.value for one in sides[side]])) for side in (0, 1)]
    of_sides = [
        _z(LEVEL) * factor * two_way_error(np.mean([one.influence for one in side], axis=0), *clusters)
        for side in sides
    ]
    whole = Change("mean over the probes", distances[0], distances[1], *guess, mean, *bounds, *of_sides)
    return Comparison(probes, whole, len(groups), len(groups))


class _Distance(NamedTuple):
    """The distance of an accuracy from chance."""

    value: float
    influence: Values
    """(rows,): of each row before the remedy, mean 0"""
    half: float
    """half of its 95% interval"""


def _distance(gains: Values, kept: Bools, clusters: tuple[Ints, Ints], factor: float) -> _Distance:
    """The distance from chance of the kept rows' ``gains`` over it."""
    mean = float(gains.mean())
    influence = np.zeros(len(kept))
    influence[kept] = (np.sign(mean) or 1.0) * (gains - mean) * len(kept) / len(gains)
    return _Distance(abs(mean), influence, _z(LEVEL) * factor * two_way_error(influence, *clusters))


def two_way_error(values: Values, one: Ints, other: Ints) -> float:
    """The standard error of a mean, clustered by two groupings; at least that by either alone."""
    deviations = values - values.mean()
    both = np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True)[1].ravel()
    variances = [_variance(deviations, np.unique(by, return_inverse=True)[1]) for by in (one, other, both)]
    return float(np.sqrt(max(variances[0] + variances[1] - variances[2], *variances)))


def _variance(deviations: Values, cluster: Int64s) -> float:
    sums = np.bincount(cluster, deviations)
    return float(len(sums) / max(len(sums) - 1, 1) * (sums**2).sum() / len(deviations) ** 2)


def _holm_quantiles(changes: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Normal quantiles of each probe's interval: the m-th strongest of n harms is tested at LEVEL / (n - m + 1).

    After the first that is not significant, all further ones have its quantile (Holm 1979).
    """
    ratios = np.array(changes) / np.maximum(errors, 1e-12)
    quantiles, stopped = np.zeros(len(ratios)), None
    for rank, index in enumerate(np.argsort(-ratios, kind="stable").tolist()):
        quantile = _z(LEVEL / (len(ratios) - rank)) if stopped is None else stopped
        quantiles[index] = quantile
        if stopped is None and ratios[index] <= quantile:
            stopped = quantile
    return [float(one) for one in quantiles]


def _z(tail: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(tail))


def _interval(change: float, error: float, quantile: float) -> tuple[float, float]:
    return change - quantile * error, change + quantile * error
