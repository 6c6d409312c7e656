"""From a predictions file and what was asked to scores: the whole way, as ``vqa-mc score`` goes it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.annotation_files import ACCEPTED, json_files, read_annotations
from hf_vqa_mc.metrics.asked import Asked
from hf_vqa_mc.metrics.beside_files import Beside, option_of
from hf_vqa_mc.metrics.join import DEFAULT_PROTOCOL, Joined, answers_to, check_offered
from hf_vqa_mc.metrics.near_misses import raw_source, with_dataset_in
from hf_vqa_mc.metrics.official import check_has_official
from hf_vqa_mc.metrics.prediction_files import FORMATS, PACKED
from hf_vqa_mc.metrics.predictions import read_predictions
from hf_vqa_mc.metrics.schemes import choose, run
from hf_vqa_mc.scoring.consensus import Protocol

Progress = Callable[[str, int, int], None]

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class Scored:
    """Scores, and what they are of."""

    predictions: Path
    inputs: list[Path]
    """all that was read"""
    joined: Joined
    results: dict[str, dict[str, Any]]
    """scheme to what it gave"""

    @property
    def asked(self) -> Asked:
        """The questions."""
        return self.joined.asked


def score_predictions(
    predictions: str | Path,
    dataset: str | Path,
    config: str | None = None,
    *,
    split: str | None = None,
    id_column: str | None = None,
    answer_column: str | None = None,
    metrics: Sequence[str] = (),
    beside: Beside | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    per_question: bool = False,
    official: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Scored:
    """Score a model's predictions.

    Args:
        predictions: json, jsonl, csv or parquet, plain or packed.
        dataset: what ``load_dataset`` takes, or a publisher's annotation file.
        config: of a dataset that has several.
        split: of a dataset; by default test, else validation, else the only one.
        id_column: of the predictions; by default ``question_id``, ``questionId`` or ``qa_id``.
        answer_column: of the predictions; by default ``answer``, ``prediction`` or ``label``.
        metrics: names of schemes; by default what the dataset calls for.
        beside: files that some schemes take.
        protocol: 2021 or 2017, VQA's two official programs.
        per_question: also give each question's score.
        official: refuse questions for which there are no official files.
        progress: told (step, done, total).

    Raises:
        InputError: something given cannot be used; names file, record or question, and field.

    Warns:
        PredictionsIgnored: some predictions do not count; says how many.
    """
    beside = beside or Beside()
    for name, path in beside.given().items():
        if not path.is_file():
            raise InputError(f"{option_of(name)} {path}: no such file")
    answered = read_predictions(Path(predictions).expanduser(), id_column, answer_column)
    progress("reading predictions", 1, 1)
    asked = read_asked(str(dataset), config, split, grounding=beside.attentions is not None)
    progress("reading what was asked", 1, 1)
    if official:
        check_has_official(asked)
    chosen = choose(asked, metrics, beside, protocol)
    joined = Joined(
        asked,
        answers_to(asked, answered, each_once="mc_accuracy" in chosen),
        beside,
        cast("Protocol", protocol),
        per_question,
        answered.from_csv,
    )
    check_offered(joined, chosen, answered.path)
    results = {}
    for name in chosen:
        results[name] = run(name, joined)
        progress("scoring", len(results), len(chosen))
    return Scored(answered.path, inputs_of(answered.path, dataset, beside), joined, results)


def inputs_of(predictions: Path, dataset: str | Path, beside: Beside) -> list[Path]:
    """The files and folders that are read, which nothing written may touch."""
    return [predictions, Path(dataset), *beside.given().values()]


def read_asked(dataset: str, config: str | None = None, split: str | None = None, *, grounding: bool = False) -> Asked:
    """What was asked: a dataset's rows, or a publisher's annotations.

    Args:
        dataset: a folder, a file, or a name on the Hub.
        config: of a dataset that has several.
        split: of a dataset.
        grounding: keep what GQA's grounding score needs.

    Raises:
        InputError: it is none of those accepted.
    """
    path = Path(dataset).expanduser()
    near = with_dataset_in(path)
    if near:
        raise InputError(f"{dataset} holds no dataset itself; did you mean {' or '.join(map(str, near))}?")
    try:
        return _read_asked(path, dataset, config, split, grounding)
    except InputError as error:
        source = raw_source(path)
        if source is None:
            raise
        raise InputError(
            f"{dataset} holds {source.title} as it is published; build it first (vqa-mc build {source.name} "
            f"--data-dir {path if path.is_dir() else path.parent}), then score against the folder that this makes"
        ) from error


def _read_asked(path: Path, dataset: str, config: str | None, split: str | None, grounding: bool) -> Asked:
    if path.is_file() or (path.is_dir() and _is_parts(path)):
        for name, value in (("CONFIG", config), ("--split", split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; leave it out")
        return read_annotations(path, grounding)
    if not path.is_dir():
        packed_or_json = [suffix for suffix in path.suffixes if suffix in (*PACKED, *FORMATS)]
        if packed_or_json or not _HUB_NAME.fullmatch(dataset):
            raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    from hf_vqa_mc.metrics.built_dataset import read_rows

    return read_rows(str(path) if path.is_dir() else dataset, config, split, grounding=grounding)


def _is_parts(folder: Path) -> bool:
    """Whether a folder holds annotation files and is no dataset."""
    return bool(json_files(folder)) and not any(
        entry.is_dir() or entry.name == "README.md" or entry.suffix in (".parquet", ".py")
        for entry in folder.iterdir()
    )
