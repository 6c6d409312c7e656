"""Asking a trained model a dataset's questions, as it is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.dataset.loading import chosen_split
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.inputs import needed
from hf_vqa_mc.training.evaluation import Picked, picked
from hf_vqa_mc.training.inputs import Inputs
from hf_vqa_mc.training.material import check_same_features, open_images, with_images, with_word_vectors
from hf_vqa_mc.training.processes import accelerator
from hf_vqa_mc.training.questions import read_splits

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Predicted:
    """What a model makes of a split."""

    split: str
    found: Picked
    skipped: int
    """questions left out, since their images have no features"""

    @property
    def results(self) -> dict[str, Any]:
        """As in training.json."""
        return self.found.results()


def predict(
    checkpoint: str | Path,
    dataset: str,
    config: str,
    *,
    split: str | None = None,
    features: Path | None = None,
    word_vectors: str | None = None,
    skip_missing: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Predicted:
    """Let a trained model pick among the choices of a dataset's questions.

    With several processes (``torchrun``, ``accelerate launch``) each scores its share; all return the same.

    Args:
        checkpoint: a folder, or a name on the Hub.
        dataset: what ``load_dataset`` takes.
        config: of its questions.
        split: by default test, else validation, else the only one.
        features: the folder of image features, for models that see images.
        word_vectors: the file of the model's word vectors, for words that it was not trained on.
        skip_missing: leave questions out whose images have no features.
        progress: told (step, done, total).

    Raises:
        InputError: something given cannot be used, or does not fit the model.
        ConnectionError: the Hub cannot be reached.
    """
    model, processor = load_checkpoint(checkpoint)
    images = open_images(features, model.config, str(checkpoint))
    if images is not None:
        check_same_features(images, processor, str(checkpoint))
    text = with_word_vectors(processor.text, word_vectors)
    progress("reading questions", 0, 1)
    data = read_splits(dataset, config)
    progress("reading questions", 1, 1)
    chosen = chosen_split(list(data.splits), split, f"{dataset}, {config}")
    questions, skipped = with_images(data.splits[chosen], images, skip_missing)
    inputs = Inputs(data.texts, questions.texts(), text, needed(model.config), images)
    processes = accelerator()
    found = picked(model.to(processes.device), questions, inputs, processes, progress)
    return Predicted(chosen, found, skipped)
