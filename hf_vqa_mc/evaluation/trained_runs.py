"""The stored results of runs of vqa-mc train, which have no scores of questions and so are not paired."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.table import percent, with_interval
from hf_vqa_mc.text.markdown import one_line
from hf_vqa_mc.text.tables import TextTable

RECORDS = ("best/training.json", "training.json")
"""The record of a run, from its folder or from its checkpoint."""
TEXTS = ("run", "tested", "model", "metric")


@dataclass(frozen=True)
class TrainedRun:
    """The result of a run on one tested split; fractions in [0, 1], None if unknown."""

    run: str
    """its folder"""
    tested: str
    """config and split"""
    model: str
    metric: str
    mean: float
    interval: list[float] | None
    chance: float | None
    questions: int | None


def is_trained(path: Path) -> bool:
    """Whether a path is a run folder or a checkpoint of vqa-mc train."""
    return any((path / name).is_file() for name in RECORDS)


def trained_run(path: Path) -> TrainedRun:
    """The result of a run on its test split, else on its validation split.

    Raises:
        InputError: the run is not finished.
    """
    file = next(path / name for name in RECORDS if (path / name).is_file())
    record = read_json(file)
    if not record.get("finished", True):
        raise InputError(f"{path}: the training is not finished; run it again to resume it")
    split, measured = list(record["results"].items())[-1]
    interval, chance = measured.get("interval"), measured.get("chance")
    return TrainedRun(
        run=one_line(public_name(str(path))),
        tested=one_line(f"{record['config']}, {split}"),
        model=one_line(record["model"]),
        metric=one_line(measured.get("metric", "accuracy")),
        mean=float(measured["accuracy"]),
        interval=interval and list(map(float, interval)),
        chance=chance and float(chance),
        questions=measured.get("questions"),
    )


def trained_table(runs: Sequence[TrainedRun]) -> TextTable:
    """A row per run and tested split, in percent with 95% intervals; without columns that are empty."""
    columns = {name: [str(getattr(run, name)) for run in runs] for name in TEXTS}
    columns |= {
        "%": [with_interval(run.mean, run.interval) for run in runs],
        "chance": ["" if run.chance is None else percent(run.chance) for run in runs],
        "questions": ["" if run.questions is None else f"{run.questions:,}" for run in runs],
    }
    return TextTable({name: cells for name, cells in columns.items() if any(cells)}, TEXTS, ("run", "tested"))
