"""The runs to compare: folders of vqa-mc evaluate, files of vqa-mc score --per-question, and runs of vqa-mc train."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.files import read_file
from hf_vqa_mc.errors import InputError, shown, unknown_name
from hf_vqa_mc.evaluation.methods import FULL
from hf_vqa_mc.evaluation.run_folder import RESULTS, ROWS, SETTINGS
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.table import score_cell, with_interval
from hf_vqa_mc.text.markdown import one_line
from hf_vqa_mc.text.tables import TextTable

ACCURACY = "mc_accuracy"  # the metric of vqa-mc evaluate, named as in vqa-mc score
CLUSTER, QUESTION_TYPE = "cluster", "question_type"
SCORED = "a file of vqa-mc score --per-question --output FILE"
EXPECTED = f"a folder of vqa-mc evaluate or vqa-mc train, or {SCORED}"
LONGEST_NAME = 100
RECORDS = ("best/training.json", "training.json")
"""The record of a run of vqa-mc train, from its folder or from its checkpoint."""


@dataclass(frozen=True, eq=False)
class Run:
    """The scores of a run."""

    name: str  # of the model; the path if names are not distinct
    path: Path
    compared: str  # what was compared: a name of ``INPUTS``, "" for a file of vqa-mc score
    metric: str
    scores: pd.Series  # question id to score in [0, 1]; NaN without a reply
    columns: pd.DataFrame  # other columns by question id, such as `CLUSTER` and `QUESTION_TYPE`
    benchmark: Mapping[str, str | None]  # questions_sha256, dataset, config and split; None if unknown
    chances: pd.Series | None = None  # question id to the accuracy of random guessing; None if unknown
    rotations: int | None = None
    """number of orders of the choices in which each question was asked, at most one per choice"""


def read_runs(paths: Sequence[Path], input_name: str | None, metric: str | None) -> list[Run]:
    """Read the runs; their names are distinct."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such folder or file; expected {EXPECTED}")
    if len(paths) < 2:
        raise InputError(f"RUNS: expected two or more, each {EXPECTED}; runs of vqa-mc train are only listed")
    if twice := [one for one, other in combinations(paths, 2) if one.resolve() == other.resolve()]:
        raise InputError(f"RUNS: {twice[0]} is given twice; remove one of them")
    if any(path.is_dir() for path in paths):
        if metric not in (None, ACCURACY):
            raise InputError(f"--metric {metric}: the folders of vqa-mc evaluate have {ACCURACY} only")
        metric = ACCURACY
    runs: list[Run] = []
    for path in paths:
        runs.append(_evaluated(path, input_name) if path.is_dir() else _scored(path, metric))
        metric = runs[0].metric
    for first, second in combinations(runs, 2):
        _check_same_benchmark(first, second)
    names, full = [run.name for run in runs], [str(run.path) for run in runs]
    for others in (list(map(public_name, full)), full):
        names = names if len(set(names)) == len(names) else others
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _evaluated(path: Path, input_name: str | None) -> Run:
    """The run in a folder of vqa-mc evaluate."""
    if missing := [name for name in (RESULTS, ROWS) if not (path / name).is_file()]:
        if (path / SETTINGS).is_file():
            unfinished = f"the evaluation is not finished ({missing[0]} is missing)"
            raise InputError(f"{path}: {unfinished}; run it again to resume it")
        raise InputError(f"{path}: {missing[0]} is missing; expected {EXPECTED}")
    found = read_json(path / RESULTS)
    inputs = found["inputs"]
    if input_name is not None and input_name not in inputs:
        raise unknown_name(f"--input of {path}", input_name, inputs)
    compared = input_name or (FULL.name if FULL.name in inputs else next(iter(inputs)))
    table = read_file(path / ROWS)
    frame = table.to_pandas()
    frame.index = pd.Index(frame.pop("question_id").astype(str))
    chances = None
    if "choices" in frame and pa.types.is_list(table.schema.field("choices").type):
        chances = pd.Series(1 / np.maximum(pc.list_value_length(table["choices"]).to_numpy(), 1), frame.index)
    scores, about = frame[f"{compared}_score"].astype(np.float64), _about(found, found.get("model"), path)
    return Run(about[0], path, compared, ACCURACY, scores, frame, about[1], chances, found.get("rotations"))


def _scored(path: Path, metric: str | None) -> Run:
    """The run in a file of vqa-mc score; raises InputError if it has no scores of questions."""
    found = read_json(path)
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, dict):
        raise InputError(f"{path}: field 'results' is missing; expected {EXPECTED}")
    metrics: dict[str, Any] = {}
    for scheme, result in results.items():
        scores = result.get("per_question") if isinstance(result, dict) else None
        if isinstance(scores, dict):
            of_measures = {f"{scheme} {measure}": one for measure, one in scores.items() if isinstance(one, dict)}
            metrics |= of_measures or {scheme: scores}
    if not metrics:
        raise InputError(f"{path}: there are no scores of questions; expected {SCORED}")
    metric = metric or next(iter(metrics))
    if metric not in metrics:
        raise unknown_name(f"--metric of {path}", metric, metrics)
    scores = pd.Series(metrics[metric], dtype=np.float64)
    columns = {CLUSTER: found.get("image_ids"), QUESTION_TYPE: found.get("question_types")}
    series = {name: pd.Series(one, dtype=object) for name, one in columns.items() if one is not None}
    frame = pd.DataFrame({name: one.reindex(scores.index) for name, one in series.items()}, index=scores.index)
    chance = results[metric].get("chance") if metric in results else None
    is_share = isinstance(chance, float) and 0 < chance <= 1
    chances = pd.Series(chance, scores.index) if is_share else None  # the mean for each question
    name, benchmark = _about(found, PurePath(found.get("predictions") or "").stem, path)
    return Run(name, path, "", metric, scores, frame, benchmark, chances)


def _about(found: Mapping[str, Any], model: str | None, path: Path) -> tuple[str, dict[str, str | None]]:
    """The name of a run on one line, and its benchmark."""
    name = one_line(public_name(model) if model else path.name)[:LONGEST_NAME]
    return name, {key: found.get(key) for key in ("questions_sha256", "dataset", "config", "split")}


def _check_same_benchmark(one: Run, other: Run) -> None:
    """Raise InputError if two runs are known to be of different questions."""
    differ = f"{one.path} and {other.path} are not of the same benchmark"
    checksums = one.benchmark["questions_sha256"], other.benchmark["questions_sha256"]
    if all(checksums):
        if checksums[0] != checksums[1]:
            remedy = "evaluate both on the same version and split (for a part, use --sample)"
            raise InputError(f"{differ}: questions, choices or labels differ (questions_sha256); {remedy}")
        return
    for name in ("dataset", "config", "split"):
        a, b = one.benchmark[name], other.benchmark[name]
        if a and b and PurePath(a).name != PurePath(b).name:
            raise InputError(f"{differ}: the {name} is {shown(a)} and {shown(b)}; compare runs of one benchmark")


def is_trained(path: Path) -> bool:
    """Whether a path is a run folder or a checkpoint of vqa-mc train."""
    return any((path / name).is_file() for name in RECORDS)


def trained_run(path: Path) -> dict[str, Any]:
    """The result of a run of vqa-mc train on its test split, else on its validation split; it has no question's score.

    Run (its folder), tested (config and split), model, metric, mean and interval (fractions), chance, questions; None
    if unknown.
    """
    record = read_json(next(path / name for name in RECORDS if (path / name).is_file()))
    if not record.get("finished", True):
        raise InputError(f"{path}: the training is not finished; run it again to resume it")
    split, measured = list(record["results"].items())[-1]
    interval, chance = measured.get("interval"), measured.get("chance")
    return {
        "run": one_line(public_name(str(path))),
        "tested": one_line(f"{record['config']}, {split}"),
        "model": one_line(record["model"]),
        "metric": one_line(measured.get("metric", "accuracy")),
        "mean": float(measured["accuracy"]),
        "interval": interval and list(map(float, interval)),
        "chance": chance and float(chance),
        "questions": measured.get("questions"),
    }


def trained_table(runs: Sequence[Mapping[str, Any]]) -> TextTable:
    """A row per run of `trained_run`, in percent with 95% intervals; without columns that are empty."""
    texts = ("run", "tested", "model", "metric")
    columns = {name: [str(run[name]) for run in runs] for name in texts}
    columns |= {
        "%": [with_interval(run["mean"], run["interval"]) for run in runs],
        "chance": [score_cell(run["chance"]) for run in runs],
        "questions": ["" if run["questions"] is None else f"{run['questions']:,}" for run in runs],
    }
    return TextTable({name: cells for name, cells in columns.items() if any(cells)}, texts, ("run", "tested"))
