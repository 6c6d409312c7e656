"""The inputs and the result of a probe, its gain over random guessing with the uncertainty, and the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.scoring.statistics import CONFIDENCE, effective_rows, proportion_interval
from hf_vqa_mc.text.counted import counted, percent, points

FOLDS = 5  # folds of the audited rows for cross-validation; they share no images
TIED = 1e-9  # scores that differ by less are ties: the order of summation changes the last digits
ALARM_LEVEL = (1 - CONFIDENCE) / 2  # familywise error rate of alarms in an audit
UNCERTAIN = 0.1  # half of the median interval of gains, as a fraction, above which the rows are too few for a verdict
MOST_NAMES = 3  # maximum number of probes that are named for one reason why they were not run
CROSS_FITTED = ("accuracy", "gain", "low", "high", "rows")  # figures of cross-fitted probes in audit.json


class ProbeInputs(StrEnum):
    """The inputs of a probe, in the order of reports; a probe with all inputs is not a shortcut."""

    label: str  # name in tables, and part of the names of trained probes
    without: str  # the missing inputs in words; "" if none
    sentence: str  # continues "A strategy that ..."
    colour: str  # colour in charts
    question: bool  # whether the probe sees the question
    image: bool  # whether the probe sees the image
    is_shortcut: bool  # whether an input is missing, so that a gain over chance is a shortcut

    CHOICES = "choices", "choices alone", "without the image and the question", "sees the choices alone", "#b3372f"
    QUESTION = ("question", "question and choices", "without the image", "sees question and choices but no image",
                "#9a6b16")  # fmt: skip
    IMAGE = "image", "image and choices", "without the question", "sees image and choices but no question", "#2d66b1"
    EVERYTHING = "everything", "image, question and choices", "", "sees image, question and choices", "#6b7480"

    def __new__(cls, value: str, label: str, without: str, sentence: str, colour: str) -> "ProbeInputs":
        """Create a member: its value and its attributes."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label, member.without, member.sentence, member.colour = label, without, sentence, colour
        member.question, member.image = value in ("question", "everything"), value in ("image", "everything")
        member.is_shortcut = bool(without)
        return member


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """The scores of a strategy on each row; where a probe is run, the fields from ``name`` on are filled in."""

    scores: NDArray[np.float64]
    """(rows,): probability in [0, 1] that the target is picked, ties broken at random; NaN if not evaluated"""
    probabilities: NDArray[np.float64] | None = None
    """(rows, choices): P(target) of each choice, the target in column 0, NaN if not evaluated; None where unknown"""
    folds: int = 0  # number of evaluated folds of the audited rows; 0 if it was not fitted on audited rows
    clusters: NDArray[np.int64] | None = None  # (rows,): units of errors; None for images
    name: str = ""  # unique name, such as ``longest choice``
    sees: ProbeInputs = ProbeInputs.CHOICES
    sentence: str = ""  # continues "A strategy that ...": ``picks the longest choice``
    trained: bool = False  # whether it is a fitted model, not a count
    fitted: bool = False  # whether it is fitted on labels of the training split, or with ``folds`` of audited rows

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """(rows,): mask of the evaluated rows."""
        return ~np.isnan(self.scores)

    @property
    def inflation(self) -> float:
        """Factor of the standard error, since the training sets of different folds overlap.

        Nadeau and Bengio 2003, Inference for the Generalization Error, eq. 9: the variance of a mean over K folds is
        multiplied by 1 + K * (test rows / training rows), here 1 + K / (FOLDS - 1). One fold is held out, as a test
        split is.
        """
        return float(np.sqrt(1 + self.folds / (FOLDS - 1))) if self.folds > 1 else 1.0


class NotRun(NamedTuple):
    """A requested probe that was not run."""

    name: str
    reason: str


def picked(values: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """(rows,): probability in [0, 1] that picking the highest value, ties broken at random, picks the target.

    ``values`` are (rows, choices), the target in column 0.
    """
    valid = np.where(rows.valid, values, -np.inf)
    best = rows.valid & (valid >= valid.max(axis=1, keepdims=True) - TIED)
    return np.asarray(best[:, 0] / best.sum(axis=1))


@dataclass(frozen=True)
class Estimate:
    """An accuracy and its gain over chance (accuracy minus chance), with the 95% interval of the gain."""

    accuracy: float
    gain: float
    low: float
    high: float
    p: float  # one-sided p-value against chance
    rows: int  # number of rows that it was evaluated on


def estimate(
    scores: NDArray[np.float64], chance: NDArray[np.float64], clusters: NDArray[np.integer], inflation: float = 1.0
) -> Estimate:
    """A strategy's accuracy and its gain over chance; the interval is `proportion_interval`, clustered by image.

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
    spread, p = np.sqrt(expected * (1 - expected) / rows), 1.0
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Gain(Prediction):
    """A prediction and its gain over chance."""

    estimate: Estimate
    p_holm: float  # one-sided p-value, adjusted for all shortcuts of the audit; 1 for a probe with all inputs
    cross_fitted: Estimate | None = None  # fitted on other audited rows; None if it is not fitted, or not run so

    @property
    def fitted_on(self) -> str | None:
        """``train``, the training split; ``folds``, other audited rows; None if it is fitted on nothing."""
        return "folds" if self.folds else "train" if self.fitted else None

    @property
    def alarm(self) -> bool:
        """Whether it significantly beats chance; without shortcuts at most 2.5% of audits have any alarm."""
        return self.p_holm < ALARM_LEVEL

    @property
    def rows(self) -> str:
        """The rows that it was evaluated on, in words."""
        rows, of = self.estimate.rows, len(self.scores)
        return "the rows" if rows == of else f"a random {rows:,} of the {of:,} rows"

    @property
    def result(self) -> str:
        """The result as a sentence."""
        found = self.estimate
        text = f"A strategy that {self.sentence} is correct in {percent(found.accuracy)} of {self.rows}"
        if found.low == found.high:
            return f"{text}: exactly chance, due to the closed answer sets."
        interval = f"95% interval {points(found.low)} to {points(found.high)}"
        gained = f"{abs(100 * found.gain):.1f} points {'above' if found.gain >= 0 else 'below'} chance ({interval})"
        if not self.sees.is_shortcut or self.alarm:
            return f"{text}, {gained}."
        if found.high < 0:
            why = "other rows' answers are misleading" if self.folds else "excluding that choice helps"
            return f"{text}, {gained}: {why}."
        return f"{text}; that is not significantly above chance ({interval})."

    def as_json(self) -> dict[str, Any]:
        """All figures as fractions."""
        return {
            "name": self.name,
            "inputs": self.sees.value,
            "trained": self.trained,
            **vars(self.estimate),
            "p_holm": self.p_holm,
            "alarm": self.alarm,
            "fitted_on": self.fitted_on,
            **{f"cross_fitted_{name}": getattr(self.cross_fitted, name, None) for name in CROSS_FITTED},
            "sentence": self.result,
        }


def gains(
    shortcuts: Sequence[Prediction],
    chance: NDArray[np.float64],
    clusters: NDArray[np.integer],
    cross_fitted: Sequence[Prediction] = (),
    exact: Mapping[ProbeInputs, NDArray[np.integer]] | None = None,
) -> list[Gain]:
    """Estimate the gains of all shortcuts of an audit, largest first.

    ``cross_fitted`` are shortcuts of the same names, fitted on other audited rows although there is a training split.
    A strategy that is at chance in each of the ``exact`` groups (rows,) of its inputs, see `exact_sets`, is so by
    construction, so there is nothing to estimate: its gain and interval are 0.
    """

    def of(one: Prediction) -> Estimate:
        some, units = one.evaluated, clusters if one.clusters is None else one.clusters
        group = (exact or {}).get(one.sees) if one.clusters is None else None  # an assignment sees other rows, too
        if group is not None and np.abs(np.bincount(group[some], (one.scores - chance)[some])).max() < TIED:
            return Estimate(float(chance[some].mean()), 0.0, 0.0, 0.0, 1.0, int(some.sum()))
        return estimate(one.scores[some], chance[some], units[some], one.inflation)

    found = {one.name: of(one) for one in shortcuts}
    again = {one.name: of(one) for one in cross_fitted} | {one.name: found[one.name] for one in shortcuts if one.folds}
    tested = [one.name for one in shortcuts if one.sees.is_shortcut]
    adjusted = dict(zip(tested, holm([found[name].p for name in tested]), strict=True))
    every = []
    for one in shortcuts:
        more = {"p_holm": adjusted.get(one.name, 1.0), "cross_fitted": again.get(one.name)}
        every.append(Gain(**{**vars(one), "estimate": found[one.name], **more}))
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
    """The conclusion in two or three sentences, the first of which names what was not tested (`not_tested`)."""
    tested = [one for one in found if one.sees.is_shortcut]
    alarms = [one for one in tested if one.alarm]
    where = "" if any(one.sees.image for one in tested) else " without the image"
    rest = f"; not tested: {'; '.join(missing)}." if missing else "."
    above = f"significantly above chance ({percent(chance)}){rest}"
    if not alarms:
        margin, text = uncertainty(tested), f"None of {counted(len(tested), 'tested shortcut')}{where} is {above}"
        if margin <= UNCERTAIN:
            return f"{text} Other shortcuts may exist."
        rows, about = max(one.estimate.rows for one in tested), f" about {counted(images, 'image')}" if images else ""
        limit = f"gains are uncertain by about {100 * margin:.0f} points."
        return f"{text} These rows ({rows:,}{about}) are too few for a verdict: {limit}"
    sentences = [
        f"{len(alarms)} of {counted(len(tested), 'shortcut')}{where} {'is' if len(alarms) == 1 else 'are'} {above}",
        "For a benchmark without shortcuts, at most one of 40 audits would find any.",
    ]
    of_choices = max((one.estimate.gain for one in alarms if one.sees is ProbeInputs.CHOICES), default=0.0)
    for sees in ProbeInputs:
        best = next((one for one in alarms if one.sees is sees), None)
        if best and (
            sees is ProbeInputs.CHOICES or best.estimate.gain > of_choices
        ):  # else the choices reveal as much
            sentences.append(
                f"{sees.without.capitalize()}, {percent(best.estimate.accuracy)} of {best.rows} are answered "
                f"correctly ({best.name}, {points(best.estimate.gain)} points)."
            )
    return " ".join(sentences)


def uncertainty(found: Sequence[Gain]) -> float:
    """Half of the median interval of the shortcuts' gains; those that are exact have none."""
    widths = [one.estimate.high - one.estimate.low for one in found if one.sees.is_shortcut]
    return float(np.median([width / 2 for width in widths if width] or [0.0]))


def exceeding(found: Sequence[Gain], most: float) -> list[Gain]:
    """The significant shortcuts whose whole interval is above a gain of ``most``, a fraction of the rows."""
    return [one for one in found if one.sees.is_shortcut and one.alarm and one.estimate.low > most]
