"""``hf_vqa_mc.predict`` and ``vqa-mc predict``: a trained model's answers, for ``vqa-mc score``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.io.progress import Progress, is_first_process
from hf_vqa_mc.options import option, settings, verb
from hf_vqa_mc.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from hf_vqa_mc.training.evaluation import Predicted


def default_output(given: Mapping[str, Any]) -> Path:
    """The command's file: ``CONFIG-predictions.json``."""
    from hf_vqa_mc.extraction.backbones import file_name

    return Path(f"{file_name(given['config'])}-predictions.json")


@settings
class PredictSettings:
    """Answer the questions of a dataset with a trained model.

    With several processes (torchrun or accelerate launch, -m hf_vqa_mc predict ...), each scores a share.
    """

    checkpoint: str = option("Folder written by vqa-mc train, or name on the Hub.", kw_only=False)
    dataset: str = option("Folder written by vqa-mc build, or dataset on the Hub.", kw_only=False)
    config: str = option("Config such as cocoqa_iou_qou.", kw_only=False)
    split: str | None = option("Split to answer; by default test, else validation, else the only one.", default=None)
    features: Path | None = option("Folder of image features of the same kind as in training.", default=None)
    word_vectors: str | None = option(
        "File of the model's word vectors, for words that were not in training.", default=None
    )
    output: Path | None = option(
        "File to write the predictions to; CONFIG-predictions.json for the command.",
        default=None,
        cli_default=default_output,
    )
    skip_missing: bool = option("Skip and count questions whose images have no features.", default=False)


@dataclass(frozen=True, eq=False, repr=False)
class PredictResult(Result):
    """A model's answers to the questions of a split, and how many are correct."""

    settings: PredictSettings
    predicted: "Predicted"

    def report(self) -> Iterator[str]:
        """The accuracy, and the command that breaks it down."""
        given, results, skipped = self.settings, self.predicted.results, self.predicted.skipped
        left_out = f", {skipped:,} left out" if skipped else ""
        written = f"; wrote {given.output}" if given.output else ""
        yield (
            f"{results['accuracy']:.1%} of {results['questions']:,} questions{left_out} of {given.config}, "
            f"{self.predicted.split} (chance {results['chance']:.1%}){written}"
        )
        if given.output and not skipped:
            words = f"{given.output} {given.dataset} {given.config} --split {self.predicted.split}"
            yield f"to see which decoys were chosen: vqa-mc score {words}"

    def to_dict(self) -> dict[str, Any]:
        """Checkpoint, data and results, as in training.json."""
        given = {name: getattr(self.settings, name) for name in ("checkpoint", "dataset", "config")}
        done = self.predicted
        return {**given, "split": done.split, "skipped": done.skipped, "results": done.results}

    def to_pandas(self) -> "pd.DataFrame":
        """One row per question: question_id, answer (text), label (its index), target, probabilities of all choices.

        Choices are scored independently, so the probabilities do not sum to 1.
        """
        import pandas as pd

        return pd.DataFrame(self.predicted.rows())

    def save(self, path: str | Path) -> list[Path]:
        """Write the predictions as ``vqa-mc score`` reads them."""
        self.predicted.found.write(Path(path))
        return [Path(path)]


@verb(
    PredictSettings,
    "vqa-mc predict runs/qa/best vqa_mc cocoqa_iou --word-vectors glove.6B.100d.txt",
)
def predict(settings: PredictSettings, progress: Progress) -> PredictResult:
    """Answer the questions.

    Returns:
        The answers with their probabilities; written to ``output`` if given.

    Raises:
        InputError: the checkpoint, dataset, features or word vectors cannot be used, or do not fit each other.
        ConnectionError: the Hub cannot be reached.
    """
    from hf_vqa_mc.io.atomic_file import check_output_file
    from hf_vqa_mc.training.evaluation import predict as predict_split

    if settings.output is not None:
        check_output_file(settings.output, "--output", [Path(settings.dataset), Path(settings.checkpoint)])
    given = {name: value for name, value in vars(settings).items() if name != "output"}
    done = predict_split(**given, progress=progress)
    if settings.output is not None and is_first_process():
        done.found.write(settings.output)
    return PredictResult(settings, done)
