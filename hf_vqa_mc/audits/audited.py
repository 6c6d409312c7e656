"""What an audit found, as programs and the report read it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.ambiguity import VECTORS
from hf_vqa_mc.audits.bias import bias_scores, calibration
from hf_vqa_mc.audits.finding import Finding
from hf_vqa_mc.audits.probed import NotRun, Probed
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Shortcut
from hf_vqa_mc.audits.verdict import BLIND, Gain, gains, verdict
from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.version import __version__

FEW_IMAGES = 10
"""With fewer, as if they weighed alike, intervals tell little."""
LEAST_OF_A_TYPE = 30
"""Rows of a question type that is told by itself."""
MOST_TYPES = 40
SHOWN_ROWS = 20
"""Rows that a finding names."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What was found of a benchmark."""

    benchmark: Benchmark
    rows: Rows
    """those audited"""
    gains: list[Gain]
    """the largest first"""
    findings: list[Finding]
    ambiguous: dict[str, NDArray[np.bool_]]
    """reason to (rows, places), the target first: decoys that may be right, too"""
    probed: list[Probed]
    telling: dict[str, list[dict[str, Any]]]
    not_run: list[NotRun]

    @cached_property
    def bias(self) -> NDArray[np.float64] | None:
        """(rows,): how likely the blind probes with question and choices hold the target to be; None without them."""
        blind = [one for one in self.probed if one.shortcut.knows == "question"]
        return bias_scores(blind) if blind else None

    @cached_property
    def maybe_right(self) -> NDArray[np.bool_]:
        """(rows, places): decoys that may be right for any reason but near word vectors.

        Those are told by themselves: white and brown, or three and four, are as near as words that mean the same.
        """
        found = np.zeros(self.rows.texts.shape, np.bool_)
        for reason, decoys in self.ambiguous.items():
            if reason != VECTORS:
                found |= decoys
        return found

    def picked_blind(self, rows: Sequence[int]) -> dict[int, int]:
        """Of some rows, the place of the choice that the blind probes with question and choices pick."""
        blind = self._blind_chances
        if blind is None:
            return {}
        best = blind[rows].argmax(axis=1)
        return dict(zip(rows, self.rows.places[rows, best].tolist(), strict=True))

    @cached_property
    def _blind_chances(self) -> NDArray[np.float64] | None:
        """(rows, places): what the probes with question and choices hold likely, on average."""
        blind = [one.chances for one in self.probed if one.shortcut.knows == "question"]
        return np.mean(blind, axis=0) if blind else None

    def as_json(self) -> dict[str, Any]:
        """All figures, for programs and the report; fractions."""
        split, chance = self.benchmark.test, float(self.rows.chance.mean())
        images = set(split.rows["image_id"].to_pylist()) - {""}
        return {
            "version": __version__,
            "dataset": self.benchmark.dataset,
            "config": self.benchmark.config,
            "split": split.name,
            "rows": len(self.rows),
            "images": len(images),
            "choices": sorted({int(size) for size in self.rows.there.sum(axis=1)}),
            "chance": chance,
            "learnt_from": "train" if self.benchmark.train else f"{FOLDS} folds of {split.name}",
            "left_out": self.benchmark.left_out,
            "read_as": self.benchmark.read_as,
            "verdict": verdict(self.gains, chance),
            "caveat": self._caveat(),
            "shortcuts": [gain.as_json() for gain in self.gains],
            "per_type": self._per_type(),
            "findings": [_told(finding, split) for finding in self.findings],
            "may_be_right": self._ambiguity(),
            "telling": self.telling,
            "calibration": [] if self._blind_chances is None else calibration(self._blind_chances),
            "bias": None if self.bias is None else _histogram(self.bias),
            "not_run": [{"name": one.name, "why": one.why} for one in self.not_run],
        }

    def _caveat(self) -> str:
        """What limits the figures, "" where nothing does."""
        said = []
        split = self.benchmark.test
        if self.benchmark.train is None:
            said.append(
                "Without a training split, rules that learn are taught the answers of other rows of this split: they "
                "show what its answers have in common, which is of use only to who has seen such answers."
            )
        sizes = np.bincount(split.clusters)
        alike = 1 / float(((sizes / sizes.sum()) ** 2).sum())
        if alike < FEW_IMAGES:
            said.append(
                f"Most rows are about few images, as if there were {alike:.1f} alike: intervals are wide, and little "
                "can be told."
            )
        return " ".join(said)

    def _per_type(self) -> list[dict[str, Any]]:
        """The strongest shortcut of each kind of knowledge, in each question type."""
        types = self.benchmark.test.rows["question_type"].to_pylist()
        best: dict[str, Shortcut] = {}
        for gain in self.gains:
            if gain.shortcut.knows in BLIND:
                best.setdefault(gain.shortcut.knows, gain.shortcut)
        names, of_type = np.unique(np.array(types, object).astype(str), return_inverse=True)
        counts = np.bincount(of_type)
        told = []
        for number in np.argsort(-counts, kind="stable")[:MOST_TYPES]:
            some = of_type == number
            if not names[number] or counts[number] < LEAST_OF_A_TYPE:
                continue
            parts = [_of_some(shortcut, some) for shortcut in best.values()]
            found = {
                gain.shortcut.name: {"gain": gain.estimate.gain, "low": gain.estimate.low, "high": gain.estimate.high}
                for gain in gains(parts, self.rows.chance[some], self.benchmark.test.clusters[some])
            }
            about = {"type": str(names[number]), "rows": int(counts[number])}
            told.append({**about, "chance": float(self.rows.chance[some].mean()), "shortcuts": found})
        return told

    def _ambiguity(self) -> dict[str, Any]:
        decoys = int(self.rows.there[:, 1:].sum())
        shares = {reason: float(found.sum() / max(decoys, 1)) for reason, found in self.ambiguous.items()}
        rows = float(self.maybe_right.any(axis=1).mean())
        return {
            "decoys": decoys,
            "share": float(self.maybe_right.sum() / max(decoys, 1)),
            "share_of_rows": rows,
            "reasons": shares,
        }


def _of_some(shortcut: Shortcut, some: NDArray[np.bool_]) -> Shortcut:
    return replace(shortcut, scores=shortcut.scores[some])


def _told(finding: Finding, split: Split) -> dict[str, Any]:
    return {
        "name": finding.name,
        "sentence": finding.sentence,
        "count": finding.count,
        "of": finding.of,
        "per": finding.per,
        "share": finding.count / max(finding.of, 1),
        "question_ids": split.rows["question_id"].take(pa.array(finding.rows[:SHOWN_ROWS])).to_pylist(),
    }


def _histogram(bias: NDArray[np.float64]) -> dict[str, Any]:
    counts, ends = np.histogram(bias, bins=20, range=(0.0, 1.0))
    bins = [
        {"from": float(low), "to": float(high), "rows": int(count)}
        for low, high, count in zip(ends[:-1], ends[1:], counts, strict=True)
    ]
    return {"mean": float(bias.mean()), "histogram": bins}
