"""The scores of runs to compare: folders of vqa-mc evaluate, and files of vqa-mc score --per-question."""

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
from hf_vqa_mc.evaluation.inputs import FULL
from hf_vqa_mc.evaluation.run_folder import RESULTS, ROWS, SETTINGS
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.text.markdown import one_line

ACCURACY = "mc_accuracy"
"""The metric of vqa-mc evaluate, named as in vqa-mc score."""
CLUSTER, QUESTION_TYPE = "cluster", "question_type"
SCORED = "a file of vqa-mc score --per-question --output FILE"
EXPECTED = f"a folder of vqa-mc evaluate or vqa-mc train, or {SCORED}"
LONGEST_NAME = 100


@dataclass(frozen=True, eq=False)
class Run:
    """The scores of a run."""

    name: str
    """of the model; the path if names are not distinct"""
    path: Path
    compared: str
    """what was compared: a name of ``INPUTS``, "" for a file of vqa-mc score"""
    metric: str
    scores: pd.Series
    """question id to score in [0, 1]; NaN without a reply"""
    columns: pd.DataFrame
    """other columns by question id, such as `CLUSTER` and `QUESTION_TYPE`"""
    benchmark: Mapping[str, str | None]
    """questions_sha256, dataset, config and split; None if unknown"""
    chances: pd.Series | None = None
    """question id to the accuracy of random guessing; None if unknown"""
    rotations: int | None = None
    """number of orders of the choices in which each question was asked, at most one per choice"""


def read_runs(paths: Sequence[Path], input_name: str | None, metric: str | None) -> list[Run]:
    """Read the runs; their names are distinct.

    Args:
        paths: two or more folders of vqa-mc evaluate, or files of vqa-mc score.
        input_name: the input to compare; by default full, else the first one of each run.
        metric: the metric to compare; by default that of vqa-mc evaluate, else the first one of the first file.

    Raises:
        InputError: a path is no finished run, has no such input or metric, or the runs are of different benchmarks.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such folder or file; expected {EXPECTED}")
    if len(paths) < 2:
        raise InputError(f"RUNS: expected two or more, each {EXPECTED}; runs of vqa-mc train are only listed")
    twice = [str(one) for one, other in combinations(paths, 2) if one.resolve() == other.resolve()]
    if twice:
        raise InputError(f"RUNS: {twice[0]} is given twice; remove one of them")
    if any(path.is_dir() for path in paths):
        if metric not in (None, ACCURACY):
            raise InputError(f"--metric {metric}: the folders of vqa-mc evaluate have {ACCURACY} only")
        metric = ACCURACY
    runs = []
    for path in paths:
        runs.append(_evaluated(path, input_name) if path.is_dir() else scored_run(path, read_json(path), metric))
        metric = runs[0].metric
    for one, other in combinations(runs, 2):
        _check_same_benchmark(one, other)
    names, full = [run.name for run in runs], [str(run.path) for run in runs]
    for others in (list(map(public_name, full)), full):
        names = names if len(set(names)) == len(names) else others
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _evaluated(path: Path, input_name: str | None) -> Run:
    """The run in a folder of vqa-mc evaluate."""
    missing = [name for name in (RESULTS, ROWS) if not (path / name).is_file()]
    if missing and (path / SETTINGS).is_file():
        raise InputError(
            f"{path}: the evaluation is not finished ({missing[0]} is missing); run it again to resume it"
        )
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing; expected {EXPECTED}")
    found = read_json(path / RESULTS)
    inputs = found["inputs"]
    if input_name is not None and input_name not in inputs:
        raise unknown_name(f"--input of {path}", input_name, inputs)
    compared = input_name or (FULL.name if FULL.name in inputs else next(iter(inputs)))
    table, column = read_file(path / ROWS), f"{compared}_score"
    frame = table.to_pandas()
    frame.index = pd.Index(frame.pop("question_id").astype(str))
    scores = frame[column].astype(np.float64)
    chances, rotations = None, found.get("rotations")
    if "choices" in frame and pa.types.is_list(table.schema.field("choices").type):
        chances = pd.Series(1 / np.maximum(pc.list_value_length(table["choices"]).to_numpy(), 1), frame.index)
    name = _name(found.get("model"), path)
    return Run(name, path, compared, ACCURACY, scores, frame, _benchmark(found), chances, rotations)


def scored_run(path: Path, found: Mapping[str, Any], metric: str | None = None) -> Run:
    """The run in a result of vqa-mc score; raises InputError if it has no scores of questions."""
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
    about = {name: found.get(field) for name, field in ((CLUSTER, "image_ids"), (QUESTION_TYPE, "question_types"))}
    columns = {name: pd.Series(one, dtype=object) for name, one in about.items() if one is not None}
    frame = pd.DataFrame({name: one.reindex(scores.index) for name, one in columns.items()}, index=scores.index)
    name = _name(PurePath(found.get("predictions") or "").stem, path)
    chance = results[metric].get("chance") if metric in results else None
    is_share = isinstance(chance, float) and 0 < chance <= 1
    chances = pd.Series(chance, scores.index) if is_share else None  # the mean for each question
    return Run(name, path, "", metric, scores, frame, _benchmark(found), chances)


def _name(model: str | None, path: Path) -> str:
    """The name of a run on one line."""
    return one_line(public_name(model) if model else path.name)[:LONGEST_NAME]


def _benchmark(found: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: found.get(name) for name in ("questions_sha256", "dataset", "config", "split")}


def _check_same_benchmark(one: Run, other: Run) -> None:
    """Raise InputError if two runs are known to be of different questions or have different metrics."""
    first, second = one.benchmark, other.benchmark
    if first["questions_sha256"] and second["questions_sha256"]:
        if first["questions_sha256"] != second["questions_sha256"]:
            raise InputError(
                f"{one.path} and {other.path} are not of the same benchmark: questions, choices or labels differ "
                "(questions_sha256); evaluate both on the same version and split (for a part, use --sample)"
            )
        return
    for name in ("dataset", "config", "split"):
        a, b = first[name], second[name]
        if a and b and PurePath(a).name != PurePath(b).name:
            raise InputError(
                f"{one.path} and {other.path} are not of the same benchmark: the {name} is {shown(a)} and {shown(b)}; "
                "compare runs of one benchmark"
            )
