"""The word vectors of a run: those of its options, of the dataset's build, or of a checkpoint."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors, load_word_vectors
from hf_vqa_mc.training.settings import TrainingSettings


def with_word_vectors(text: TextFeatures, word_vectors: str | None) -> TextFeatures:
    """A checkpoint's text features with its file of word vectors; raises InputError if it is another file."""
    if text.name == CORPUS:
        if word_vectors not in (None, CORPUS):
            raise InputError(f"--word-vectors {word_vectors}: the checkpoint has its own; remove --word-vectors")
        return replace(text, new_words="skip")  # there is no file with more words
    return text if word_vectors is None else text.with_file(load_word_vectors(word_vectors))


def made_with(dataset: str, config: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The records of a config's source and of its build in a built folder; None if there are none."""
    inventory = read_inventory(Path(dataset)) if Path(dataset).is_dir() else None
    for entry in (inventory or {"sources": {}})["sources"].values():
        if config in entry["configs"]:
            return entry.get("about"), entry.get("made_with")
    return None, None


def named_word_vectors(settings: TrainingSettings, otherwise: str = f", or --word-vectors {CORPUS}") -> str:
    """The word vectors of a new model: those given, or ``corpus`` if the decoys were made with it.

    Raises InputError, ending with ``otherwise``, if none are given and the decoys were made with a file.
    """
    if settings.word_vectors is not None:
        return settings.word_vectors
    made = (made_with(settings.dataset, settings.config)[1] or {}).get("word_vectors") or {}
    if made.get("name") != CORPUS:
        with_these = f" (the decoys were made with {made['name']})" if made else ""
        raise InputError(f"the model needs word vectors: add --word-vectors FILE{with_these}{otherwise}")
    return CORPUS


def run_word_vectors(
    settings: TrainingSettings, sentences: Iterable[Sequence[str]], progress: Progress
) -> WordVectors:
    """The word vectors of a new model, on ``corpus`` trained on sentences: the words of groups of texts.

    Raises InputError if none are given, or the file cannot be read.
    """
    name = named_word_vectors(settings)
    step = "training word vectors" if name == CORPUS else "reading word vectors"
    progress(step, 0, 1)
    vectors = load_word_vectors(
        name, lambda: ([word for text in texts for word in words(text)] for texts in sentences), settings.seed
    )
    progress(step, 1, 1)
    return vectors
