"""Means with intervals: the figures of evaluations, comparisons and judges."""

from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.scoring.statistics import CONFIDENCE, SMALLEST_ERROR, mean_interval, standard_error
from hf_vqa_mc.scoring.table import with_interval
from hf_vqa_mc.text.counted import points

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NO_INTERVAL = "n/a: the differences are all equal, or of one image, so that their variance cannot be estimated."


@dataclass(frozen=True)
class Share:
    """A mean over rows with its 95% interval, clustered by image."""

    mean: float
    low: float | None  # None, with ``high``, for differences whose variance cannot be estimated
    high: float | None
    rows: int

    @property
    def sign(self) -> int:
        """1 if it is above 0, -1 if it is below, with its whole interval; else 0."""
        low, high = (self.mean, self.mean) if self.low is None or self.high is None else (self.low, self.high)
        return (low > 0) - (high < 0)

    def percent(self) -> str:
        """The share in percent with its interval."""
        return with_interval(self.mean, None if self.low is None or self.high is None else (self.low, self.high))

    def points(self) -> str:
        """The difference in percentage points with its interval; "n/a" without one, see `NO_INTERVAL`."""
        return f"{points(self.mean)} ({'n/a' if self.low is None else f'{points(self.low)} to {points(self.high)}'})"


def in_json(figures: Any) -> Any:  # noqa: ANN401  any figures
    """Figures with each `Share` and other dataclass as a dictionary."""
    if is_dataclass(figures) and not isinstance(figures, type):
        return asdict(figures)
    if isinstance(figures, dict):
        return {name: in_json(one) for name, one in figures.items()}
    return [in_json(one) for one in figures] if isinstance(figures, list) else figures


def share(scores: Floats, clusters: Ints) -> Share:
    """The mean of scores in [0, 1]; the interval is `mean_interval`."""
    low, high = mean_interval(scores, clusters)
    return Share(float(scores.mean()), low, high, len(scores))


def difference(one: Floats, other: Floats, clusters: Ints) -> Share:
    """The mean of paired differences with Student's interval, clustered; none if all are equal, or of one cluster."""
    found = one - other
    error, mean = standard_error(found, clusters), float(found.mean())
    if error is None or error < SMALLEST_ERROR:
        return Share(mean, None, None, len(found))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(np.unique(clusters)) - 1)) * error
    return Share(mean, max(mean - half, -1.0), min(mean + half, 1.0), len(found))
