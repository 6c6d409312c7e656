"""An audit from top to bottom: rules that count, probes that learn, what decoys look like, and the verdict."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audit.ambiguity import VECTORS, may_be_right
from hf_vqa_mc.audit.bias import bias_scores, calibration
from hf_vqa_mc.audit.checks import shortcut_checks
from hf_vqa_mc.audit.fast_probes import fast_probes
from hf_vqa_mc.audit.finding import Finding
from hf_vqa_mc.audit.findings import findings
from hf_vqa_mc.audit.folds import folds_of
from hf_vqa_mc.audit.image_descriptors import image_descriptors
from hf_vqa_mc.audit.language_model import language_model_probe
from hf_vqa_mc.audit.mlp_probes import mlp_probes
from hf_vqa_mc.audit.probed import NotRun, Probed
from hf_vqa_mc.audit.rows import Rows, number_rows
from hf_vqa_mc.audit.shortcut import FOLDS, Shortcut
from hf_vqa_mc.audit.telling import telling_texts
from hf_vqa_mc.audit.verdict import BLIND, Gain, gains, verdict
from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.language.text import words
from hf_vqa_mc.language.word_vectors import load_word_vectors
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from hf_vqa_mc.features.image_features import ImageFeatures

LEAST_OF_A_TYPE = 30
"""Rows of a question type that is told by itself."""
MOST_TYPES = 40
SHOWN_ROWS = 20
"""Rows that a finding names."""

Vectors = NDArray[np.float32]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class AuditSettings:
    """What an audit looks for.

    Raises:
        InputError: one of them cannot be; names it as the option.
    """

    probes: bool = True
    """the logistic regressions and random forests"""
    probe_rows: int = 20_000
    """rows that a probe learns from at most"""
    time_limit: float = 600.0
    """seconds after which no further probe begins to learn"""
    word_vectors: str | None = None
    """for decoys that are near the target, and for the MLPs"""
    mlps: bool = False
    """the papers' MLPs as probes, too"""
    features: Path | None = None
    """image features for probes that see images; by default a few numbers of their pixels"""
    language_model: str | None = None
    """a causal language model of transformers, asked as it is"""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.probe_rows < 1:
            raise InputError(f"--probe-rows {self.probe_rows}: expected 1 or more")
        if not self.time_limit > 0:
            raise InputError(f"--time-limit {self.time_limit}: expected seconds, more than 0")
        if self.mlps and self.word_vectors is None:
            raise InputError("--mlps need word vectors: add --word-vectors FILE, a gensim-data name, or corpus")


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
            "verdict": verdict(self.gains, chance),
            "shortcuts": [gain.as_json() for gain in self.gains],
            "per_type": self._per_type(),
            "findings": [_told(finding, split) for finding in self.findings],
            "may_be_right": self._ambiguity(),
            "telling": self.telling,
            "calibration": [] if self._blind_chances is None else calibration(self._blind_chances),
            "bias": None if self.bias is None else _histogram(self.bias),
            "not_run": [{"name": one.name, "why": one.why} for one in self.not_run],
        }

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


def audit(
    benchmark: Benchmark, settings: AuditSettings | None = None, progress: Progress = lambda step, done, total: None
) -> Audit:
    """Looks for shortcuts in the audited split.

    What is counted or learnt comes from the training split where there is one, else from the other four of five parts
    of the audited rows, which share no image with the part that is asked.

    Args:
        benchmark: as `benchmarks.read_benchmark` gives it.
        settings: what to look for.
        progress: told (step, done, total).

    Raises:
        InputError: the word vectors, features or language model cannot be used.
    """
    settings = settings or AuditSettings()
    split, train = benchmark.test, benchmark.train
    vectors = None
    if settings.word_vectors is not None:
        vectors = load_word_vectors(settings.word_vectors, lambda: _sentences(split), settings.seed)
    progress("counting", 0, 3)
    numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    asked, folds = numbered[split.name], folds_of(split)
    shortcuts = shortcut_checks(asked, split.placed, folds, numbered[train.name] if train else None)
    progress("counting", 1, 3)
    found = findings(benchmark.splits, numbered, split.name)
    progress("counting", 2, 3)
    ambiguous = may_be_right(asked, split.rows["answers"].combine_chunks(), vectors)
    progress("counting", 3, 3)
    learners = _probes(benchmark, numbered, folds, settings, progress)
    probed = [one for one in learners if isinstance(one, Probed)]
    shortcuts += [one.shortcut for one in probed] + [one for one in learners if isinstance(one, Shortcut)]
    return Audit(
        benchmark=benchmark,
        rows=asked,
        gains=gains(shortcuts, asked.chance, split.clusters),
        findings=found,
        ambiguous=ambiguous,
        probed=probed,
        telling=telling_texts(asked, clusters=split.clusters),
        not_run=[one for one in learners if isinstance(one, NotRun)],
    )


def _probes(
    benchmark: Benchmark,
    numbered: Mapping[str, Rows],
    folds: NDArray[np.int8],
    settings: AuditSettings,
    progress: Progress,
) -> list[Probed | Shortcut | NotRun]:
    """What learns, in the order of what it takes, until the time is over."""
    split, train = benchmark.test, benchmark.train
    asked, learnt = numbered[split.name], numbered[train.name] if train else None
    deadline = time.monotonic() + settings.time_limit
    found: list[Probed | Shortcut | NotRun] = []
    vectors: tuple[Vectors | None, Vectors | None] = (None, None)
    train_folds = folds_of(train) if train else None
    if settings.probes or settings.mlps:
        vectors, unseen = _image_vectors(split, train, settings.features, progress)
        found += unseen
    if settings.probes:
        found += fast_probes(
            asked,
            folds,
            learnt,
            vectors,
            placed=split.placed,
            most_rows=settings.probe_rows,
            deadline=deadline,
            seed=settings.seed,
            train_folds=train_folds,
            progress=progress,
        )
    if settings.mlps:
        assert settings.word_vectors is not None  # noqa: S101  the settings were checked for it
        found += mlp_probes(
            split,
            asked,
            folds,
            train,
            vectors,
            word_vectors=settings.word_vectors,
            most_rows=settings.probe_rows,
            deadline=deadline,
            seed=settings.seed,
            progress=progress,
        )
    if settings.language_model is not None:
        for with_question in (False, True):
            found.append(
                language_model_probe(
                    asked, settings.language_model, with_question=with_question, deadline=deadline, progress=progress
                )
            )
    return found


def _image_vectors(
    split: Split, train: Split | None, features: Path | None, progress: Progress
) -> tuple[tuple[Vectors | None, Vectors | None], list[NotRun]]:
    """What images look like, of both splits; None of both, and why, where probes cannot see them."""
    made = None if features is None else _features(features)
    vectors: list[Vectors] = []
    unread = []
    for part in (split, train):
        if part is None:
            continue
        if made is not None:
            vectors.append(made.take(part.rows["image_id"].to_pylist()))
            continue
        found = image_descriptors(part, progress)
        if found is None:
            return (None, None), [NotRun("probes that see images", f"{part.place} has no images here")]
        vectors.append(found.vectors)
        if found.broken + found.left_out:
            why = f"{found.broken:,} could not be read, {found.left_out:,} were more than are read"
            unread.append(NotRun(f"some images of {part.name}", why))
    return (vectors[0], vectors[1] if train else None), unread


def _features(folder: Path) -> "ImageFeatures":
    from hf_vqa_mc.features.image_features import ImageFeatures

    made = ImageFeatures.open(folder)
    if made.grid is not None:
        raise InputError(f"--features {folder}: probes take one vector an image; make them without --grid")
    return made


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


def _sentences(split: Split) -> Iterator[list[str]]:
    """The benchmark's own text: each question with its choices, right or wrong."""
    texts = zip(split.rows["question"].to_pylist(), split.rows["choices"].to_pylist(), strict=True)
    return ([*words(question), *(word for choice in choices for word in words(choice))] for question, choices in texts)
