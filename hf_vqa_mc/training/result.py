"""The result of a training run, and the picture of its learning curve."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import MissingExtra
from hf_vqa_mc.io.atomic import replaced_file
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy_table
from hf_vqa_mc.training.run_folder import BEST, copy_checkpoint
from hf_vqa_mc.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False, repr=False)
class TrainResult(Result):
    """A finished training run."""

    settings: TrainingSettings
    record: dict[str, Any]
    """training.json of the best checkpoint"""
    validated_on: str
    """key of the validation result, by which the checkpoint was chosen"""
    reported_on: str | None
    """key of the test result; None if the dataset has no such split"""
    curve: str = ""
    """path of the learning curve's picture, or why there is none"""

    @property
    def model_folder(self) -> Path:
        """The best checkpoint, which ``from_pretrained``, `predict` and ``vqa-mc push model`` take."""
        return self.settings.output / BEST

    @property
    def history(self) -> Frame:
        """One row per validation: step, epoch, loss, learning_rate, accuracy in [0, 1]."""
        return frame_of(self.record["curve"])

    def report(self) -> Report:
        """The reported split's accuracies, and what to do with the checkpoint."""
        record, results = self.record, self.record["results"]
        if self.reported_on is not None:
            yield f"{self.settings.model} on {self.settings.config}, {self.reported_on}"
            reported = results[self.reported_on]
            if "answerable" in reported:
                yield from _open_ended_lines(reported)
            else:
                yield mc_accuracy_table(reported, reported["questions"])
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
        yield self.curve
        yield f"to share it: vqa-mc push model NAMESPACE/NAME --folder {self.model_folder} --dry-run"

    def to_dict(self) -> dict[str, Any]:
        """The run's record: settings, data, results by split and the curve, as in training.json."""
        return self.record

    def to_pandas(self) -> Frame:
        """The validation curve, see `history`."""
        return self.history

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy the best checkpoint to a folder."""
        return copy_checkpoint(self.model_folder, Path(path), overwrite)


def _open_ended_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """The figures of an open-ended model."""
    yield f"{results['metric']}: {results['accuracy']:.1%} of {results['questions']:,} questions"
    if of_types := results.get("per_answer_type"):
        yield f"by answer type: {', '.join(f'{name} {score:.1%}' for name, score in of_types.items())}"
    yield f"answer in the vocabulary: {results['answerable']:.1%} of the questions"
    if "multiple_choice" in results:
        yield best_of_the_choices(results["multiple_choice"])


def best_of_the_choices(results: Mapping[str, Any]) -> str:
    """The figures of an open-ended model on multiple-choice rows."""
    of_target = f"; {picking_the_target(results)}" if "target_accuracy" in results else ""
    return f"best of the choices: {results['accuracy']:.1%} (chance {results['chance']:.1%}){of_target}"


def picking_the_target(results: Mapping[str, Any]) -> str:
    """The accuracy of picking the target, which is reported next to consensus accuracy."""
    of_target = results["target_accuracy"]
    return f"picking the target: {of_target['accuracy']:.1%} (chance {of_target['chance']:.1%})"


def draw_curve(record: Mapping[str, Any], validated: Mapping[str, Any], path: Path) -> None:
    """Draw training loss, validation score, chance and drops of the learning rate of training.json as PNG.

    ``validated`` are the results on the validation questions.

    Raises MissingExtra if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    figure = Figure(figsize=(7, 6), layout="constrained")
    figure.suptitle(f"{record['model']} on {record['config']}")
    above, below = figure.subplots(2, sharex=True)
    curve = record["curve"]
    epochs = [point["epoch"] for point in curve]
    above.plot(epochs, [100 * point["accuracy"] for point in curve], marker=".", label="validation")
    if (chance := validated.get("chance")) is not None:
        above.axhline(100 * chance, linestyle=":", color="gray", label="chance")
    below.plot(epochs, [point["loss"] for point in curve], marker=".", color="tab:red")
    above.set_ylabel(f"{validated.get('metric', 'accuracy')} in %")
    above.legend(loc="lower right")
    below.ticklabel_format(axis="y", style="plain", useOffset=False)
    below.set_ylabel("training loss")
    below.set_xlabel("epoch (dashed: learning rate drop)")
    for before, after in pairwise(curve):
        if after["learning_rate"] < before["learning_rate"]:
            for axes in (above, below):
                axes.axvline(before["epoch"], linestyle="--", color="lightgray", zorder=0)
    with replaced_file(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
