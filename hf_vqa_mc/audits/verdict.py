"""What an audit says in plain words: of each shortcut, and of the benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.estimates import ALARM_LEVEL, Estimate, estimate, holm
from hf_vqa_mc.audits.shortcut import Shortcut

BLIND = {
    "choices": "without the image and the question",
    "question": "without the image",
    "image": "without the question",
}
"""What who knows so much does not look at; who knows everything takes no shortcut."""


@dataclass(frozen=True)
class Gain:
    """A shortcut and what it gains over chance."""

    shortcut: Shortcut
    estimate: Estimate
    p_holm: float
    """one-sided, among all shortcuts of the audit; 1 where everything is known, which is no shortcut"""

    @property
    def alarm(self) -> bool:
        """Whether it beats chance; of all shortcuts one does so wrongly in at most 2.5% of audits."""
        return self.p_holm < ALARM_LEVEL

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        found = self.estimate
        share, points = f"{100 * found.accuracy:.1f}%", abs(100 * found.gain)
        said = f"One who {self.shortcut.picks} is right in {share} of the rows"
        span = f"95% interval {_signed(found.low)} to {_signed(found.high)}"
        if self.shortcut.knows == "everything":
            return f"{said}, {points:.1f} points {'above' if found.gain >= 0 else 'below'} chance ({span})."
        if self.alarm:
            return f"{said}, {points:.1f} points above chance ({span})."
        if found.high < 0 and self.shortcut.folds:
            return f"{said}, {points:.1f} points below chance ({span}): other rows' answers mislead."
        if found.high < 0:
            return f"{said}, {points:.1f} points below chance ({span}): leaving that choice out helps."
        return f"{said}; that is not reliably more than chance ({span})."

    def as_json(self) -> dict[str, Any]:
        """For programs and the report; fractions."""
        found = self.estimate
        return {
            "name": self.shortcut.name,
            "knows": self.shortcut.knows,
            "probe": self.shortcut.probe,
            "accuracy": found.accuracy,
            "gain": found.gain,
            "low": found.low,
            "high": found.high,
            "p": found.p,
            "p_holm": self.p_holm,
            "alarm": self.alarm,
            "sentence": self.sentence,
        }


def gains(shortcuts: Sequence[Shortcut], chance: NDArray[np.float64], clusters: NDArray[np.integer]) -> list[Gain]:
    """What each shortcut gains, the largest first.

    Args:
        shortcuts: of one audit.
        chance: (rows,).
        clusters: (rows,): the number of each row's image.
    """
    found = [estimate(one.scores, chance, clusters, one.inflation) for one in shortcuts]
    blind = [place for place, one in enumerate(shortcuts) if one.knows in BLIND]
    adjusted = dict(zip(blind, holm([found[place].p for place in blind]), strict=True))
    every = [Gain(one, found[place], adjusted.get(place, 1.0)) for place, one in enumerate(shortcuts)]
    return sorted(every, key=lambda one: -one.estimate.gain)


def verdict(found: Sequence[Gain], chance: float) -> str:
    """The benchmark in two or three sentences.

    Args:
        found: the largest gain first.
        chance: mean, in [0, 1].
    """
    blind = [one for one in found if one.shortcut.knows in BLIND]
    alarms = [one for one in blind if one.alarm]
    if not alarms:
        return (
            f"None of {len(blind)} shortcuts reliably beats chance ({100 * chance:.1f}%). That is no proof that there "
            "is none: it was looked for those listed here."
        )
    said = [
        f"{len(alarms)} of {len(blind)} shortcuts beat chance, which is {100 * chance:.1f}%; a sound benchmark would "
        "raise any such alarm in at most one of 40 audits."
    ]
    for knows, without in BLIND.items():
        best = next((one for one in alarms if one.shortcut.knows == knows), None)
        if best is not None:
            said.append(
                f"{without.capitalize()}, {100 * best.estimate.accuracy:.1f}% of the rows are answered "
                f"({best.shortcut.name}, {_signed(best.estimate.gain)} points)."
            )
    return " ".join(said)


def exceeding(found: Sequence[Gain], most: float) -> list[Gain]:
    """The shortcuts whose gain is certainly more than so much: whose interval lies above it.

    Args:
        found: of an audit.
        most: a fraction.
    """
    return [one for one in found if one.shortcut.knows in BLIND and one.alarm and one.estimate.low > most]


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"
