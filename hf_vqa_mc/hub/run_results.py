"""The results of runs of ``vqa-mc train``, read from their ``training.json``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.model_card import HELD_OUT, NOT_IN_TABLE, RECORD, Record, dataset_name, read_record
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.training.settings import RATES, RECIPE_SETTINGS, UNUSED, TrainingSettings, defaults

FINISHED, UNFINISHED = "finished", "unfinished"
OTHER_METRICS = {
    ("target_accuracy", "accuracy"): "picking the target",
    ("multiple_choice", "accuracy"): "best of the choices",
    ("multiple_choice", "target_accuracy", "accuracy"): "best of the choices, target",
    ("plain_accuracy",): "accuracy",
    ("harmonic_mpt",): "harmonic mean per type",
    ("answerable",): "in the vocabulary",
}
"""Fields of results besides the score, and their names."""


@dataclass(frozen=True)
class RunResult:
    """A run's result on a split of a config; fractions in [0, 1], None if unknown."""

    run: str
    """folder of the run, from the given one on"""
    dataset: str
    config: str
    """config that was trained on"""
    tested: str
    """config that was tested"""
    split: str
    model: str
    settings: dict[str, Any]
    """settings that differ from the default"""
    train_rows: int | None
    status: str
    """`FINISHED`, or `UNFINISHED` without a score"""
    questions: int | None = None
    metric: str | None = None
    score: float | None = None
    stderr: float | None = None
    interval: list[float] | None = None
    """bounds of the 95% interval of the score; None in runs of earlier versions"""
    chance: float | None = None
    other_metrics: dict[str, float] | None = None
    per_answer_type: dict[str, float] | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def run_results(folders: Sequence[Path]) -> list[RunResult]:
    """The results of runs, in the order of the folders, then by name.

    Args:
        folders: of runs, of checkpoints, or folders that contain them at any depth.

    Raises:
        InputError: a folder has no run, or a run is damaged.
    """
    found: dict[Path, str] = {}
    for folder in folders:
        checkpoints = list(_checkpoints(folder))
        if not checkpoints:
            raise InputError(f"{folder}: found no runs; expected folders written by vqa-mc train")
        for checkpoint in checkpoints:
            run = checkpoint.parent if checkpoint.name == "best" else checkpoint
            base = (run if run == folder.parent else folder).resolve()
            found.setdefault(checkpoint.resolve(), "/".join([base.name, *run.resolve().relative_to(base).parts]))
    return [row for checkpoint, name in found.items() for row in _results(name, read_record(checkpoint))]


def _checkpoints(folder: Path) -> Iterator[Path]:
    """The best checkpoints of the runs in a folder; also those that lack their training.json."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected a run of vqa-mc train, or a folder with runs")
    if folder.name == "best":
        yield folder
        return
    files = [*folder.rglob(RECORD), *folder.rglob("last/state.json")]
    visible = [one for one in files if not any(part.startswith(".") for part in one.relative_to(folder).parts)]
    yield from sorted({one.parent if one.name == RECORD else one.parents[1] / "best" for one in visible})


def _results(run: str, record: Record) -> Iterator[RunResult]:
    """One result per tested split; that on held-out training images only if nothing else was tested."""
    rows, results = record.get("rows", {}), record.get("results", {})
    chosen_on = HELD_OUT if HELD_OUT in rows else "validation"
    tests = [name for name in rows if name not in ("train", chosen_on)] or [name for name in rows if name == chosen_on]
    if not tests:
        raise InputError(f"{run}: its {RECORD} has no numbers of rows; train it again")
    about: dict[str, Any] = {
        "run": run,
        "dataset": dataset_name(record),
        "config": record.get("config", ""),
        "model": record.get("model", ""),
        "settings": changed_settings(record),
        "train_rows": rows.get("train"),
    }
    for test in tests:
        measured = results.get(test, {})
        about |= {"tested": about["config"], "split": test}
        if not record.get("finished", True) or "accuracy" not in measured:
            yield RunResult(**about, status=UNFINISHED)
            continue
        yield RunResult(
            **about,
            status=FINISHED,
            questions=measured.get("questions"),
            metric=measured.get("metric", "accuracy"),
            score=measured["accuracy"],
            stderr=measured.get("stderr"),
            interval=measured.get("interval"),
            chance=measured.get("chance"),
            other_metrics=_other_metrics(measured),
            per_answer_type=measured.get("per_answer_type"),
        )


def _other_metrics(measured: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for path, name in OTHER_METRICS.items():
        value: Any = measured
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[name] = value
    return found


def changed_settings(record: Record) -> dict[str, Any]:
    """The settings of a run that differ from the default and that its model uses, and the names of its inputs."""
    given: dict[str, Any] = record.get("settings", {})
    default = json.loads(json.dumps(defaults())) | _default_recipe(record, given)
    ignored = NOT_IN_TABLE | UNUSED["answers" in record]
    if record.get("steps") == 0:  # of a model that is fitted in one pass
        ignored |= RECIPE_SETTINGS - {"seed"}
    inputs = {
        "image_features": record.get("image_features", {}).get("backbone"),
        "word_vectors": record.get("word_vectors", {}).get("name"),
        "init_from": record.get("init_from", {}).get("config", record.get("init_from", {}).get("name")),
    }
    own = {
        name: value for name, value in given.items() if name not in ignored and value not in (None, default.get(name))
    }
    return {name: value for name, value in inputs.items() if value is not None} | own


def _default_recipe(record: Record, given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe of a run's model, with the learning rate of its optimizer; empty if the model is unknown."""
    model, optimizer = str(record.get("model")), given.get("optimizer")
    if model not in MODELS:
        return {}
    start = "checkpoint" if "init_from" in record else None
    own = TrainingSettings("", "", output=Path(), model=model, init_from=start)
    used = replace(own, optimizer=optimizer if optimizer in RATES else None)
    return own.recipe._asdict() | {"learning_rate": used.recipe.learning_rate}
