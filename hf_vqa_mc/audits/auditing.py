"""An audit from top to bottom: rules that count, probes that learn, what decoys look like, and the verdict."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.ambiguity import may_be_right
from hf_vqa_mc.audits.audited import Audit
from hf_vqa_mc.audits.checks import shortcut_checks
from hf_vqa_mc.audits.fast_probes import fast_probes
from hf_vqa_mc.audits.findings import findings
from hf_vqa_mc.audits.folds import folds_of
from hf_vqa_mc.audits.image_descriptors import image_descriptors
from hf_vqa_mc.audits.language_model import language_model_probe
from hf_vqa_mc.audits.mlp_probes import mlp_probes
from hf_vqa_mc.audits.probed import NotRun, Probed
from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import Shortcut
from hf_vqa_mc.audits.telling import telling_texts
from hf_vqa_mc.audits.verdict import gains
from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import load_word_vectors

if TYPE_CHECKING:
    from hf_vqa_mc.extraction.image_features import ImageFeatures

Vectors = NDArray[np.float32]
Progress = Callable[[str, int, int], None]


def audit(
    benchmark: Benchmark, settings: ProbeSettings | None = None, progress: Progress = lambda step, done, total: None
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
    settings = settings or ProbeSettings()
    split, train = benchmark.test, benchmark.train
    vectors = None
    if settings.word_vectors is not None:
        vectors = load_word_vectors(settings.word_vectors, lambda: _sentences(split), settings.seed)
    progress("counting", 0, 3)
    numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    asked = numbered[split.name]
    folds = folds_of(split, asked)
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
    settings: ProbeSettings,
    progress: Progress,
) -> list[Probed | Shortcut | NotRun]:
    """What learns, in the order of what it takes, until the time is over."""
    split, train = benchmark.test, benchmark.train
    asked, learnt = numbered[split.name], numbered[train.name] if train else None
    deadline = time.monotonic() + settings.time_limit
    found: list[Probed | Shortcut | NotRun] = []
    vectors: tuple[Vectors | None, Vectors | None] = (None, None)
    train_folds = folds_of(train, learnt) if train else None
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
            why = part.images_missing or f"{part.place} has no images here"
            return (None, None), [NotRun("probes that see images", why)]
        if not found.images:
            why = f"none of the {found.broken:,} images of {part.place} can be read; they are broken or too large"
            return (None, None), [NotRun("probes that see images", why)]
        vectors.append(found.vectors)
        if found.broken + found.left_out:
            why = f"{found.broken:,} could not be read, {found.left_out:,} were more than are read"
            unread.append(NotRun(f"some images of {part.name}", why))
    return (vectors[0], vectors[1] if train else None), unread


def _features(folder: Path) -> "ImageFeatures":
    from hf_vqa_mc.extraction.image_features import ImageFeatures

    made = ImageFeatures.open(folder)
    if made.grid is not None:
        raise InputError(f"--features {folder}: probes take one vector an image; make them without --grid")
    return made


def _sentences(split: Split) -> Iterator[list[str]]:
    """The benchmark's own text: each question with its choices, right or wrong."""
    texts = zip(split.rows["question"].to_pylist(), split.rows["choices"].to_pylist(), strict=True)
    return ([*words(question), *(word for choice in choices for word in words(choice))] for question, choices in texts)
