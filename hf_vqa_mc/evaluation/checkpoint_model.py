"""Checkpoints of this package, which score the choices directly."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import torch

from hf_vqa_mc.evaluation.language_model import Prompt, Reply
from hf_vqa_mc.extraction.model_files import folder_version
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import answers_of, model_of
from hf_vqa_mc.training.inputs import with_word_vectors
from hf_vqa_mc.training.predicting import check_use

FILES = ("*.json", "*.safetensors")
KEPT = 500  # number of images whose features are kept in memory


class CheckpointModel:
    """A model of ``vqa-mc train``: a multiple-choice model, or an open-ended one that scores the choices as answers.

    Where no image is shown, its features are zeros; a hidden question has no words.
    """

    max_images = 1

    def __init__(self, name: str, word_vectors: str | None, device: str | None, batch_size: int) -> None:
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
        self._indices = {text: index for index, text in enumerate(answers)}

    def check_words(self, texts: Iterable[str]) -> None:
        """Warn about words of questions and choices that will be skipped; raise InputError if they need a file."""
        if not self._is_open_ended:
            self._processor.text.check_words(texts)

    def scores(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The score of each choice; None for those that are not in the vocabulary of an open-ended model."""
        questions, choices = [prompt.question for prompt in prompts], [prompt.choices for prompt in prompts]
        contents = [prompt.image for prompt in prompts] if self.sees_images else []
        images = [self._processor.no_image() if one is None else self._features(one) for one in contents] or None
        tensors = self._processor(images, questions, choices=choices)
        with torch.inference_mode():
            output = self._model(**{name: one.to(self._device) for name, one in tensors.items()})
        replies = []
        for row, texts_of_row in zip(output.logits.float().cpu().tolist(), choices, strict=True):
            known = map(self._indices.get, texts_of_row) if self._is_open_ended else range(len(texts_of_row))
            replies.append(Reply(scores=tuple(None if index is None else row[index] for index in known)))
        return replies
