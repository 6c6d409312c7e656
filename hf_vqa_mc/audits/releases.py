"""What changed between two releases of a benchmark: its rows, and the gain of each shortcut."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.gains import ALARM_LEVEL, Gain, holm
from hf_vqa_mc.audits.shortcut import TIED, Sees
from hf_vqa_mc.benchmarks import Split
from hf_vqa_mc.scoring.statistics import CONFIDENCE
from hf_vqa_mc.scoring.table import points
from hf_vqa_mc.text.counted import counted

SHOWN_IDS = 20
"""Question ids listed per kind of change."""


@dataclass(frozen=True)
class RowChanges:
    """The rows that differ between two releases of a split."""

    matched_by: str
    """``question_id``, or ``question and image`` if a release has no ids"""
    same: int
    """number of rows whose question, choices and label are unchanged"""
    added: list[str]
    """question ids in the new release"""
    removed: list[str]
    """question ids in the old release"""
    changed: dict[str, list[str]]
    """question ids by what changed: question, answer, decoys or order of choices"""

    def as_json(self) -> dict[str, Any]:
        """Counts, and the first `SHOWN_IDS` ids of each kind."""
        kinds = {"added": self.added, "removed": self.removed, **self.changed}
        ids = {name: found[:SHOWN_IDS] for name, found in kinds.items() if found}
        counts = {name: len(found) for name, found in kinds.items()}
        return {"matched_by": self.matched_by, "same": self.same, **counts, "question_ids": ids}

    @property
    def sentence(self) -> str:
        """The counts in a sentence."""
        kinds = {"added": self.added, "removed": self.removed}
        kinds |= {f"with changed {name}": ids for name, ids in self.changed.items()}
        parts = [f"{counted(self.same, 'row')} unchanged"]
        parts += [f"{len(ids):,} {name}" for name, ids in kinds.items() if ids]
        return f"{', '.join(parts)} (rows are matched by {self.matched_by})."


def row_changes(old: Split, new: Split) -> RowChanges:
    """Match the rows of two releases by question id, or by question and image if a release has none."""
    by_id = all(_has_ids(split) for split in (old, new))
    before, after = (_rows(split, by_id) for split in (old, new))
    changed: dict[str, list[str]] = {}
    same = 0
    for key in (one for one in after if one in before):
        if (what := _change(before[key], after[key])) is None:
            same += 1
        else:
            changed.setdefault(what, []).append(after[key]["question_id"])
    added = [row["question_id"] for key, row in after.items() if key not in before]
    removed = [row["question_id"] for key, row in before.items() if key not in after]
    return RowChanges("question_id" if by_id else "question and image", same, added, removed, changed)


def _has_ids(split: Split) -> bool:
    """Whether question ids are the benchmark's own, not row numbers."""
    return any(str(row) != name for row, name in enumerate(split.rows["question_id"].to_pylist()))


def _rows(split: Split, by_id: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows by a key that is unique: repeated ids or questions are numbered."""
    names = ["question_id", "image_id", "question", "choices", "label"]
    seen: Counter[Any] = Counter()
    found = {}
    for row in split.rows.select(names).to_pylist():
        key = row["question_id"] if by_id else (row["question"], row["image_id"])
        found[key, seen[key]] = row
        seen[key] += 1
    return found


def _change(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """The first of the changes that a reader cares about; None for a row that is the same."""
    if before["question"] != after["question"]:
        return "question"
    if before["choices"][before["label"]] != after["choices"][after["label"]]:
        return "answer"
    if sorted(before["choices"]) != sorted(after["choices"]):
        return "decoys"
    return None if (before["choices"], before["label"]) == (after["choices"], after["label"]) else "order of choices"


@dataclass(frozen=True)
class GainChange:
    """The change of a shortcut's gain from one release to the next; fractions."""

    name: str
    inputs: str
    before: float
    """gain over chance in the old release"""
    after: float
    """gain in the new release"""
    change: float
    low: float
    """lower end of the 95% interval of the change"""
    high: float
    p_holm: float
    """one-sided p-value of an increase, adjusted for all shortcuts"""
    alarm: bool
    """whether it is significant in the new release"""


def gain_changes(old: Audit, new: Audit) -> list[GainChange]:
    """The changes of the shortcuts that both audits have, largest first.

    The standard error is that of a difference of two means, clustered by image over both releases: rows that both
    have are paired if the images keep their ids.
    """
    before = {gain.shortcut.name: gain for gain in old.gains}
    pairs = [(before[gain.shortcut.name], gain) for gain in new.gains if gain.shortcut.name in before]
    found = [_difference(was, now, old, new) for was, now in pairs]
    adjusted = holm([p for _, _, p in found])
    quantile = float(scipy.stats.norm.ppf((1 + CONFIDENCE) / 2))
    changes = [
        GainChange(
            now.shortcut.name, now.shortcut.sees.value, was.estimate.gain, now.estimate.gain,
            change, change - quantile * error, change + quantile * error, p, now.alarm,
        )
        for (was, now), (change, error, _), p in zip(pairs, found, adjusted, strict=True)
    ]  # fmt: skip
    return sorted(changes, key=lambda one: -one.change)


def _difference(was: Gain, now: Gain, old: Audit, new: Audit) -> tuple[float, float, float]:
    """The change of a gain, its standard error, and the one-sided p-value of an increase."""
    parts = [_influence(was, old), _influence(now, new)]
    units = np.concatenate([units for _, units in parts])
    deviations = np.concatenate([-parts[0][0], parts[1][0]])
    sums = np.bincount(np.unique(units, return_inverse=True)[1], deviations)
    clusters = len(sums)
    inflation = max(was.shortcut.inflation, now.shortcut.inflation)
    error = inflation * float(np.sqrt(clusters / max(clusters - 1, 1) * (sums**2).sum()))
    change = now.estimate.gain - was.estimate.gain
    if error < TIED:
        return change, 0.0, 0.0 if change > TIED else 1.0
    return change, error, float(scipy.stats.norm.sf(change / error))


def _influence(gain: Gain, done: Audit) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Each evaluated row's share in the deviation of the mean gain, and its unit."""
    rows = np.flatnonzero(gain.shortcut.evaluated)
    gained = gain.shortcut.scores[rows] - done.rows.chance[rows]
    units = np.array(done.benchmark.test.units, object)[rows].astype(str)
    if gain.estimate.low == gain.estimate.high:  # exact by construction
        return np.zeros(len(rows)), units
    return (gained - gained.mean()) / len(rows), units


def regressions(changes: Sequence[GainChange], most: float) -> list[GainChange]:
    """The significant shortcuts whose gain rose significantly, with its whole interval by more than ``most``."""
    certain = [one for one in changes if one.inputs != Sees.EVERYTHING and one.alarm and one.p_holm < ALARM_LEVEL]
    return [one for one in certain if one.low > most]


@dataclass(frozen=True, eq=False)
class Releases:
    """Two releases of a benchmark, audited."""

    old: Audit
    new: Audit
    rows: RowChanges
    gains: list[GainChange]

    def as_json(self) -> dict[str, Any]:
        """What changed: rows, and the gain of each shortcut."""
        return {"rows": self.rows.as_json(), "shortcuts": [asdict(one) for one in self.gains]}

    def sentences(self) -> Iterator[str]:
        """The changed rows, and the shortcuts whose gain changed most."""
        yield self.rows.sentence
        certain = [one for one in self.gains if one.low > 0 or one.high < 0]
        of = f"{len(certain)} of {counted(len(self.gains), 'shortcut')}"
        yield f"The 95% interval of the change of the gain excludes 0 for {of}."
        for one in certain:
            yield f"{one.name}: {points(one.change)} points ({points(one.low)} to {points(one.high)})."


def releases(old: Audit, new: Audit) -> Releases:
    """Compare two audits."""
    return Releases(old, new, row_changes(old.benchmark.test, new.benchmark.test), gain_changes(old, new))
