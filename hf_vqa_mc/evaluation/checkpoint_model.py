"""Checkpoints of this package, which score the choices directly."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hf_vqa_mc.evaluation.language_model import Prompt, Reply
from hf_vqa_mc.extraction.model_files import folder_version
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import answers_of, model_of
from hf_vqa_mc.training.evaluation import check_use
from hf_vqa_mc.training.model_inputs import with_word_vectors

if TYPE_CHECKING:
    from hf_vqa_mc.extraction.pictures import RawImage

FILES = ("*.json", "*.safetensors")
KEPT = 500
"""Number of images whose features are kept in memory."""


class CheckpointModel:
    """A model of ``vqa-mc train``: a multiple-choice model, or an open-ended one that scores the choices as answers.

    Where no image is shown, its features are zeros; a hidden question has no words.

    Args:
        name: folder or name on the Hub.
        device: such as ``cuda:1``; by default the GPU if there is one.
        batch_size: maximum number of questions per forward pass.
        word_vectors: file of the word vectors of a multiple-choice model, for words that were not in training; with
            vectors trained on the corpus such words are skipped, as by ``vqa-mc predict``.

    Raises:
        InputError: the checkpoint is damaged, or an option does not fit it.
    """

    max_images = 1

    def __init__(
        self,
        name: str,
        *,
        device: str | None = None,
        batch_size: int = 64,
        word_vectors: str | None = None,
    ) -> None:
        self.name, self.batch_size = name, batch_size
        local = Path(name).expanduser()
        self.version = folder_version(local, FILES) if local.is_dir() else None
        self._model, self._processor = load_checkpoint(name)
        kind = model_of(self._model.config)
        self.sees_images, self._is_open_ended = kind.sees_image, kind.open_ended
        check_use(kind, name, word_vectors)
        if not self._is_open_ended:
            self._processor.text = with_word_vectors(self._processor.text, word_vectors)
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device)  # type: ignore[arg-type]
        if self.sees_images:
            self._processor.image_backbone(self._device)
        self._features = lru_cache(KEPT)(lambda image: self._processor.encoded_images([image])[0])
        answers = answers_of(self._model) if self._is_open_ended else []
        self._index_of = {text: index for index, text in enumerate(answers)}

    def check_words(self, texts: Iterable[str]) -> None:
        """Warn about words of questions and choices that will be skipped; raise InputError if they need a file."""
        if not self._is_open_ended:
            self._processor.text.check_words(texts)

    def scores(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The score of each choice; None for those that are not in the vocabulary of an open-ended model."""
        questions, choices = [prompt.question for prompt in prompts], [prompt.choices for prompt in prompts]
        texts = (questions,) if self._is_open_ended else (questions, choices)
        tensors = self._processor(*texts, images=self._images(prompts))
        with torch.inference_mode():
            output = self._model(**{name: one.to(self._device) for name, one in tensors.items()})
        rows = output.logits.float().cpu().tolist()
        if not self._is_open_ended:
            return [Reply(scores=tuple(row[: len(of_row)])) for row, of_row in zip(rows, choices, strict=True)]
        known = [[self._index_of.get(text) for text in of_row] for of_row in choices]
        return [
            Reply(scores=tuple(None if index is None else row[index] for index in indices))
            for row, indices in zip(rows, known, strict=True)
        ]

    def _images(self, prompts: Sequence[Prompt]) -> "list[RawImage] | None":
        if not self.sees_images:
            return None
        return [
            self._processor.no_image() if prompt.image is None else self._features(prompt.image) for prompt in prompts
        ]
