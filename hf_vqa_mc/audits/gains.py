"""The gain of each shortcut over random guessing with its uncertainty, and the verdict on the benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.shortcut import TIED, NotRun, ProbeInputs, Shortcut
from hf_vqa_mc.scoring.statistics import CONFIDENCE, effective_rows, proportion_interval
from hf_vqa_mc.scoring.table import points
from hf_vqa_mc.text.counted import counted

ALARM_LEVEL = (1 - CONFIDENCE) / 2
"""Familywise error rate of alarms in an audit."""
UNCERTAIN = 0.1
"""Half of the median interval of gains, as a fraction, above which the rows are too few for a verdict."""
MOST_NAMES = 3
"""Maximum number of probes that are named for one reason why they were not run."""
CROSS_FITTED = ("accuracy", "gain", "low", "high", "rows")
"""Figures of cross-fitted probes in audit.json."""


@dataclass(frozen=True)
class Estimate:
    """An accuracy and its gain over chance, with an interval for the gain."""

    accuracy: float
    """accuracy in [0, 1]"""
    gain: float
    """accuracy minus chance"""
    low: float
    """lower end of the gain's 95% interval"""
    high: float
    """upper end"""
    p: float
    """one-sided p-value against chance"""
    rows: int
    """number of rows that it was evaluated on"""


def estimate(
    scores: NDArray[np.float64], chance: NDArray[np.float64], clusters: NDArray[np.integer], inflation: float = 1.0
) -> Estimate:
    """A strategy's accuracy and its gain over chance.

    The interval is `proportion_interval`, clustered by image.

    Args:
        scores: (rows,): how often the strategy picks the target, in [0, 1].
        chance: (rows,): accuracy of random guessing.
        clusters: (rows,): image number of each row, from 0.
        inflation: factor of the standard error for strategies fitted on other audited rows.

    >>> result = estimate(np.ones(50), np.full(50, 0.25), np.arange(50))
    >>> result.gain, round(result.low, 3), result.high
    (0.75, 0.675, 0.75)
    """
    accuracy, expected = float(scores.mean()), float(chance.mean())
    rows, freedom = effective_rows(scores, clusters, inflation)
    low, high = proportion_interval(accuracy, rows, freedom)
    hits, misses = accuracy * rows, (1 - accuracy) * rows
    spread = np.sqrt(expected * (1 - expected) / rows)
    p = 1.0
    if spread > 0 and hits > 0:
        by_chance = float(scipy.special.betainc(hits, misses + 1, expected))  # binomial: at least as many hits
        p = max(float(scipy.special.stdtr(freedom, (expected - accuracy) / spread)), by_chance)
    return Estimate(accuracy, accuracy - expected, low - expected, high - expected, p, len(scores))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for multiple comparisons (Holm 1979).

    The arithmetic of ``statsmodels.stats.multitest.multipletests``, which collects garbage at each call (0.16 s here).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(order), 0, -1)), 1)
    return adjusted.tolist()


@dataclass(frozen=True)
class Gain:
    """A shortcut and its gain over chance."""

    shortcut: Shortcut
    estimate: Estimate
    p_holm: float
    """one-sided p-value, adjusted for all shortcuts of the audit; 1 for a probe with all inputs"""
    cross_fitted: Estimate | None = None
    """fitted on other rows of the audited split; None if it is fitted on nothing, or was not run so"""

    @property
    def fitted_on(self) -> str | None:
        """``train``, the training split; ``folds``, other audited rows; None if it is fitted on nothing."""
        return "folds" if self.shortcut.folds else "train" if self.shortcut.fitted else None

    @property
    def alarm(self) -> bool:
        """Whether it significantly beats chance; without shortcuts at most 2.5% of audits have any alarm."""
        return self.p_holm < ALARM_LEVEL

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        found = self.estimate
        text = f"A strategy that {self.shortcut.sentence} is correct in {100 * found.accuracy:.1f}% of {_rows(self)}"
        if found.low == found.high:
            return f"{text}: exactly chance, due to the closed answer sets."
        interval = f"95% interval {points(found.low)} to {points(found.high)}"
        gained = f"{abs(100 * found.gain):.1f} points {'above' if found.gain >= 0 else 'below'} chance ({interval})"
        if not self.shortcut.sees.is_shortcut or self.alarm:
            return f"{text}, {gained}."
        if found.high < 0:
            why = "other rows' answers are misleading" if self.shortcut.folds else "excluding that choice helps"
            return f"{text}, {gained}: {why}."
        return f"{text}; that is not significantly above chance ({interval})."

    def as_json(self) -> dict[str, Any]:
        """All figures as fractions."""
        return {
            "name": self.shortcut.name,
            "inputs": self.shortcut.sees.value,
            "trained": self.shortcut.trained,
            **vars(self.estimate),
            "p_holm": self.p_holm,
            "alarm": self.alarm,
            "fitted_on": self.fitted_on,
            **{f"cross_fitted_{name}": getattr(self.cross_fitted, name, None) for name in CROSS_FITTED},
            "sentence": self.sentence,
        }


def gains(
    shortcuts: Sequence[Shortcut],
    chance: NDArray[np.float64],
    clusters: NDArray[np.integer],
    cross_fitted: Sequence[Shortcut] = (),
    exact: Mapping[ProbeInputs, NDArray[np.integer]] | None = None,
) -> list[Gain]:
    """Estimate the gains of all shortcuts of an audit, largest first.

    Args:
        shortcuts: fitted on the training split if there is one.
        chance: see `estimate`.
        clusters: see `estimate`.
        cross_fitted: shortcuts of the same names, fitted on other audited rows although there is a training split.
        exact: (rows,): see `ExactSets.groups`, by inputs. A strategy that is at chance in each of them is so by
            construction, so there is nothing to estimate: its gain and interval are 0.
    """

    def of(one: Shortcut) -> Estimate:
        some, units = one.evaluated, clusters if one.clusters is None else one.clusters
        group = (exact or {}).get(one.sees) if one.clusters is None else None  # an assignment sees other rows, too
        if group is not None and np.abs(np.bincount(group[some], (one.scores - chance)[some])).max() < TIED:
            return Estimate(float(chance[some].mean()), 0.0, 0.0, 0.0, 1.0, int(some.sum()))
        return estimate(one.scores[some], chance[some], units[some], one.inflation)

    found = [of(one) for one in shortcuts]
    again = {one.name: of(one) for one in cross_fitted}
    again |= {one.name: own for one, own in zip(shortcuts, found, strict=True) if one.folds}
    tested = [index for index, one in enumerate(shortcuts) if one.sees.is_shortcut]
    adjusted = dict(zip(tested, holm([found[index].p for index in tested]), strict=True))
    every = [
        Gain(one, found[index], adjusted.get(index, 1.0), again.get(one.name)) for index, one in enumerate(shortcuts)
    ]
    return sorted(every, key=lambda one: -one.estimate.gain)


def not_tested(not_run: Sequence[NotRun]) -> list[str]:
    """What was not tested, with the reason in brackets; probes with the same reason are named together."""
    by_reason: dict[str, list[str]] = {}
    for one in not_run:
        by_reason.setdefault(one.reason.split(";")[0], []).append(one.name)
    return [
        f"{', '.join(names) if len(names) <= MOST_NAMES else counted(len(names), 'probe')} ({reason})"
        for reason, names in by_reason.items()
    ]


def verdict(found: Sequence[Gain], chance: float, images: int = 0, missing: Sequence[str] = ()) -> str:
    """The conclusion in two or three sentences, the first of which names what was not tested.

    Args:
        found: gains, largest first.
        chance: accuracy of guessing.
        images: number of images.
        missing: from `not_tested`.
    """
    tested = [one for one in found if one.shortcut.sees.is_shortcut]
    alarms = [one for one in tested if one.alarm]
    where = "" if any(one.shortcut.sees.image for one in tested) else " without the image"
    rest = f"; not tested: {'; '.join(missing)}." if missing else "."
    if not alarms:
        widths = [one.estimate.high - one.estimate.low for one in tested]  # 0 of those that are exact
        margin = float(np.median([width / 2 for width in widths if width] or [0.0]))
        rows = max((one.estimate.rows for one in tested), default=0)
        about = f" about {counted(images, 'image')}" if images else ""
        limit = (
            f"These rows ({rows:,}{about}) are too few for a verdict: gains are uncertain by about "
            f"{100 * margin:.0f} points."
        )
        return (
            f"None of {counted(len(tested), 'tested shortcut')}{where} is significantly above chance "
            f"({100 * chance:.1f}%){rest} {limit if margin > UNCERTAIN else 'Other shortcuts may exist.'}"
        )
    sentences = [
        f"{len(alarms)} of {counted(len(tested), 'shortcut')}{where} {'is' if len(alarms) == 1 else 'are'} "
        f"significantly above chance ({100 * chance:.1f}%){rest}",
        "For a benchmark without shortcuts, at most one of 40 audits would find any.",
    ]
    for sees in ProbeInputs:
        for best in [one for one in alarms if one.shortcut.sees is sees][:1]:
            sentences.append(
                f"{sees.without.capitalize()}, {100 * best.estimate.accuracy:.1f}% of {_rows(best)} are answered "
                f"correctly ({best.shortcut.name}, {points(best.estimate.gain)} points)."
            )
    return " ".join(sentences)


def _rows(gain: Gain) -> str:
    """The rows that a strategy was evaluated on, in words."""
    rows, of = gain.estimate.rows, len(gain.shortcut.scores)
    return "the rows" if rows == of else f"a random {rows:,} of the {of:,} rows"


def exceeding(found: Sequence[Gain], most: float) -> list[Gain]:
    """The significant shortcuts whose whole interval is above a gain of ``most``, a fraction of the rows."""
    return [one for one in found if one.shortcut.sees.is_shortcut and one.alarm and one.estimate.low > most]
