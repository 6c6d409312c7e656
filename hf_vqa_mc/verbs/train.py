"""``hf_vqa_mc.train`` and ``vqa-mc train``: a model of the papers on a dataset, validated on schedule, tested once."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import MissingExtra
from hf_vqa_mc.io.progress import Progress, is_first_process
from hf_vqa_mc.options import verb
from hf_vqa_mc.result import Result
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from hf_vqa_mc.training.loop import Trained

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class TrainResult(Result):
    """A finished training run."""

    settings: TrainingSettings
    trained: "Trained"
    curve: str
    """path of the learning curve's picture, or why there is none"""

    @property
    def model_folder(self) -> Path:
        """The best checkpoint, which ``from_pretrained``, `predict` and ``vqa-mc push model`` take."""
        return self.trained.folder

    @property
    def history(self) -> "pd.DataFrame":
        """One row per validation: step, epoch, loss, learning_rate, accuracy in [0, 1]."""
        import pandas as pd

        return pd.DataFrame(self.trained.record["curve"])

    def report(self) -> "Iterator[RenderableType]":
        """The reported split's accuracies, and what to do with the checkpoint."""
        from hf_vqa_mc.scoring.multiple_choice import mc_accuracy_table
        from hf_vqa_mc.verbs.score import ScoreTable

        done, record, results = self.trained, self.trained.record, self.trained.record["results"]
        if done.reported_on is not None:
            yield f"{self.settings.model} on {self.settings.config}, {done.reported_on}"
            reported = results[done.reported_on]
            yield ScoreTable(mc_accuracy_table(reported, reported["questions"]))
        else:
            yield f"{self.settings.config} has no other split to report"
        chosen_on = "held-out training images" if done.validated_on == "held_out" else done.validated_on
        yield f"best step {record['best_step']:,}: {results[done.validated_on]['accuracy']:.1%} on {chosen_on}"
        if record["skipped"]:
            yield f"left out: {record['skipped']:,} questions of all splits whose images have no features"
        yield f"checkpoint: {done.folder}"
        yield self.curve
        yield f"to share it: vqa-mc push model NAMESPACE/NAME --folder {done.folder} --dry-run"

    def to_dict(self) -> dict[str, Any]:
        """The run's record: settings, data, results by split and the curve, as in training.json."""
        return self.trained.record

    def to_pandas(self) -> "pd.DataFrame":
        """The validation curve, see `history`."""
        return self.history

    def save(self, path: str | Path) -> list[Path]:
        """Copy the best checkpoint to a folder."""
        from hf_vqa_mc.training.run_folder import copy_checkpoint

        return copy_checkpoint(self.model_folder, Path(path))


@verb(
    TrainingSettings,
    "vqa-mc train vqa_mc cocoqa_qou --model mlp-qa --word-vectors glove.6B.100d.txt --output runs/qa",
    "accelerate launch --num_processes 2 -m hf_vqa_mc train --settings run.yaml",
    settings_file=True,
)
def train(settings: TrainingSettings, progress: Progress) -> TrainResult:
    """Train a model.

    Returns:
        The run: ``model_folder`` with the best checkpoint, ``history`` of validations, the record.

    Raises:
        InputError: the dataset, features, word vectors or settings cannot be used, or the loss is not finite.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only; what was saved before still is.
    """
    from hf_vqa_mc.training.loop import train as train_model

    try:
        done = train_model(settings, progress)
    except KeyboardInterrupt:
        logger.info("stopped; the same call resumes from the last validation")
        raise
    picture, curve = done.output / "curve.png", ""
    if is_first_process():
        try:
            _draw_curve(done.record, done.record["results"][done.validated_on]["chance"], picture)
            curve = f"learning curve: {picture}"
        except MissingExtra as error:
            curve = f"no picture of the learning curve: {error}"
    return TrainResult(settings, done, curve)


def _draw_curve(record: Mapping[str, Any], chance: float | None, path: Path) -> None:
    """Draw training loss, validation accuracy, ``chance`` and drops of the learning rate of training.json as PNG.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    from hf_vqa_mc.io.atomic_file import replaced_file

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
    if chance is not None:
        above.axhline(100 * chance, linestyle=":", color="gray", label="chance")
    below.plot(epochs, [point["loss"] for point in curve], marker=".", color="tab:red")
    above.set_ylabel("accuracy in %")
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
