"""The declaration of a check, and the issues that it finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hf_vqa_mc.audits.checks.linted import Linted

ERROR, WARNING, NOTE = SEVERITIES = ("error", "warning", "note")
"""An error makes a row unusable or its score wrong; a warning needs a look; a note is for information."""
DETAIL = 200
"""Maximum number of characters of a detail."""


class Issues(NamedTuple):
    """The locations of a check's issues."""

    rows: NDArray[np.int64]
    """numbers of rows of all splits, see `Linted.locations`; `WHOLE` for an issue of the benchmark"""
    details: Sequence[str]
    """one for each"""


WHOLE = -1
"""Row of an issue of the whole benchmark."""
NO_ISSUES = Issues(np.zeros(0, np.int64), ())


@dataclass(frozen=True)
class Check:
    """A fault that is searched for."""

    name: str
    severity: str
    """of SEVERITIES"""
    sentence: str
    """what is wrong"""
    remedy: str
    find: Callable[["Linted"], Issues]
