"""The folder of a run: best checkpoint, state to resume from, and log, each written atomically; the run's result.

::

    RUN/best/       model, processor and training.json, for from_pretrained
    RUN/last/       weights, optimizer and state of the last validation
    RUN/log.jsonl   one line per validation
    RUN/predictions.json   of the test split
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import locked, new_folder, write_bytes
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy_table
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from torch import Tensor

BEST, LAST, LOG = "best", "last", "log.jsonl"
STATE, TENSORS = "state.json", "state.safetensors"
RECORD, PREDICTIONS = "training.json", "predictions.json"


@dataclass
class State:
    """The state of a run."""

    settings: dict[str, Any]  # settings that change the result
    step: int = 0  # number of steps done
    curve: list[dict[str, Any]] = field(default_factory=list)  # one point per validation
    best: float = -1.0  # accuracy of the best validation
    best_step: int = 0
    seconds: float = 0.0  # training time, without interruptions
    finished: bool = False


@contextlib.contextmanager
def lock_folder(path: Path, work: str) -> Iterator[None]:
    """Create a folder, and lock it in the block; raises InputError if another process holds the lock.

    It is removed at the end if it is empty.
    """
    path.mkdir(parents=True, exist_ok=True)
    try:
        with locked(path / ".lock", f"--output {path}: another {work} writes there; wait, or choose another folder"):
            yield
    finally:
        with contextlib.suppress(OSError):
            path.rmdir()


def read_state(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
    """State and tensors of the run at a path; None if there are none. Raises InputError if they are damaged."""
    folder = path / LAST
    if not folder.is_dir():
        return None
    try:
        return State(**read_json(folder / STATE)), load_file(folder / TENSORS)
    except (ValueError, TypeError, OSError, SafetensorError) as error:
        what = f"the state of the run is damaged ({error})"
        raise InputError(f"{folder}: {what}; remove {path} to train anew") from error


def write_state(path: Path, state: State, tensors: dict[str, "Tensor"]) -> None:
    """Write the state, the tensors and the log."""

    def fill(folder: Path) -> None:
        save_file(tensors, folder / TENSORS)
        (folder / STATE).write_text(json.dumps(asdict(state)), "utf-8")

    replace_folder(path / LAST, fill)
    write_log(path, state)


def write_log(path: Path, state: State) -> None:
    """Write one line per validation."""
    log = "".join(json.dumps(point) + "\n" for point in state.curve).encode()
    if not (path / LOG).is_file() or (path / LOG).read_bytes() != log:
        write_bytes(path / LOG, log)


def replace_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Atomically replace a folder by one written by `fill`."""
    with new_folder(path, None) as new:
        try:
            fill(new.tree)
        except SafetensorError as error:
            if found := re.search(r"\(os error (\d+)\)", str(error)):
                raise OSError(int(found[1]), os.strerror(int(found[1]))) from error
            raise
        for file in new.tree.iterdir():
            file.chmod(new.tree.stat().st_mode & 0o666)  # safetensors creates private files
        new.publish()


RUN_FILES = (f"{BEST}/{RECORD}", f"{LAST}/{STATE}")


def check_run_folder(path: Path, work: str = "run", own: Iterable[str] = RUN_FILES) -> None:
    """Raise InputError unless the path does not exist, is an empty folder, or has one of a run's ``own`` files."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; give a folder")
    found = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if found and not any((path / name).exists() for name in own):
        raise InputError(f"--output {path} is not the folder of a {work}: it has {min(found)}; choose another folder")


def config_of(checkpoint: str) -> str | None:
    """The config that a checkpoint was trained on, None if unknown; raises InputError if there is no checkpoint."""
    path = checkpoint_folder(checkpoint) / RECORD
    config: str | None = read_json(path).get("config") if path.is_file() else None
    return config


@dataclass(frozen=True, eq=False, repr=False)
class TrainResult(Result):
    """A finished training run."""

    settings: TrainingSettings
    record: dict[str, Any]  #: training.json of the best checkpoint
    validated_on: str  #: key of the validation result, by which the checkpoint was chosen
    reported_on: str | None  #: key of the test result; None if the dataset has no such split

    @property
    def model_folder(self) -> Path:
        """The best checkpoint, which ``from_pretrained``, `predict` and ``vqa-mc push model`` take."""
        return self.settings.output / BEST

    def report(self) -> Report:
        """The reported split's accuracies, and what to do with the checkpoint."""
        record, results = self.record, self.record["results"]
        if self.reported_on is not None:
            yield f"{self.settings.model} on {self.settings.config}, {self.reported_on}"
            reported = results[self.reported_on]
            if "answerable" not in reported:
                yield mc_accuracy_table(reported, reported["questions"])
            else:
                yield f"{reported['metric']}: {reported['accuracy']:.1%} of {reported['questions']:,} questions"
                if of_types := reported.get("per_answer_type"):
                    yield f"by answer type: {', '.join(f'{name} {score:.1%}' for name, score in of_types.items())}"
                yield f"answer in the vocabulary: {reported['answerable']:.1%} of the questions"
                if "multiple_choice" in reported:
                    yield best_of_the_choices(reported["multiple_choice"])
        else:
            yield f"{self.settings.config} has no other split to report"
        if self.settings.word_changes:
            yield f"words of each question, in training and tests: {self.settings.word_changes}"
        chosen_on = "held-out training images" if self.validated_on == "held_out" else self.validated_on
        step = f"best step {record['best_step']:,}" if record["best_step"] else "fitted in one pass"
        yield f"{step}: {results[self.validated_on]['accuracy']:.1%} on {chosen_on}"
        if record["skipped"]:
            yield f"left out: {record['skipped']:,} questions of all splits whose images have no features"
        yield f"checkpoint: {self.model_folder}"
        yield f"to share it: vqa-mc push model NAMESPACE/NAME --folder {self.model_folder} --dry-run"

    def to_dict(self) -> dict[str, Any]:
        """The run's record: settings, data, results by split and the curve, as in training.json."""
        return self.record

    def to_pandas(self) -> Frame:
        """One row per validation: step, epoch, loss, learning_rate, accuracy in [0, 1]."""
        return frame_of(self.record["curve"])


def best_of_the_choices(results: Mapping[str, Any]) -> str:
    """The figures of an open-ended model on multiple-choice rows."""
    of_target = f"; {picking_the_target(results)}" if "target_accuracy" in results else ""
    return f"best of the choices: {results['accuracy']:.1%} (chance {results['chance']:.1%}){of_target}"


def picking_the_target(results: Mapping[str, Any]) -> str:
    """The accuracy of picking the target, which is reported next to consensus accuracy."""
    of_target = results["target_accuracy"]
    return f"picking the target: {of_target['accuracy']:.1%} (chance {of_target['chance']:.1%})"
