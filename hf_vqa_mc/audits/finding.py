"""The noun of what is odd about a benchmark's rows without being a way to pick choices."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Finding:
    """Something to look at, and where."""

    name: str
    """such as ``choices that repeat``; unique in an audit"""
    sentence: str
    """what was found, with figures"""
    rows: NDArray[np.int64]
    """the rows concerned, ascending"""
    of: int
    """how many rows, or decoys, were looked at"""
    per: Literal["rows", "decoys"]
    count: int
    """how many of them are concerned"""


def percent(count: float, of: float) -> str:
    """A share as text, its digits few but enough to tell it from nothing.

    >>> percent(1, 8), percent(3, 100_000), percent(0, 5)
    ('12.5%', 'under 0.1%', 'none')
    """
    if not count:
        return "none"
    share = 100 * count / of
    return "under 0.1%" if share < 0.1 else f"{share:.1f}%"
