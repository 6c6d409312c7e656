"""The processor of multiple-choice models: images, questions and choices to tensors; part of every checkpoint."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from transformers import BatchFeature

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.extraction.text_features import NewWords, TextFeatures
from hf_vqa_mc.models.vqa_processor import QUESTION_INPUTS, VqaProcessor
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors


class VqaMcProcessor(VqaProcessor):
    """Converts images, questions and choices to a model's tensors.

    Args:
        text: word vectors.
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`.
        backbone: a backbone, or its name or folder, see `find_backbone`; by default that of ``image_kind``.

    Raises:
        InputError: the arguments do not match.
    """

    text_inputs = QUESTION_INPUTS

    def __init__(
        self,
        text: TextFeatures,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__(image_kind, inputs, backbone)
        self.text = text

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors; choice_mask only if questions have different numbers of choices."""
        mask = ["question_mask"] if "question_tokens" in self.inputs else []
        return ["choice_vectors", *sorted(self.inputs), *mask, "choice_mask"]

    def __call__(
        self, questions: Sequence[str], choices: Sequence[Sequence[str]], images: Sequence[RawImage] | None = None
    ) -> BatchFeature:
        """The inputs of a model for a batch of questions.

        Args:
            questions: ignored by a model that does not see them.
            choices: one or more for each question.
            images: one for each question, if the model sees images: PIL images, paths, URLs or bytes.

        Returns:
            Arguments of ``forward``: ``choice_vectors`` float32 (batch, choices, dim); ``choice_mask`` bool (batch,
            choices) if questions have different numbers of choices; and of the model's inputs ``image_features``
            float32 (batch, image dim) or ``image_grid`` (batch, cells, image dim), ``question_vectors`` (batch, dim),
            ``question_tokens`` (batch, words, dim) with ``question_mask``.

        Raises:
            InputError: lengths do not match, an image cannot be read, or a word is unknown and there is no file of
                word vectors.
        """
        _check_texts(questions, choices)
        questions = [self.word_changes.text(question) for question in questions]
        seen = questions if self.inputs.intersection(QUESTION_INPUTS) else []
        encoded = self.text.encode([*seen, *chain.from_iterable(choices)])
        counts = np.array([len(of_question) for of_question in choices], np.int64)
        mask = np.arange(counts.max(initial=0)) < counts[:, None]
        vectors = np.zeros((*mask.shape, self.text.dim), np.float32)
        vectors[mask] = encoded[len(seen) :]
        features = {"choice_vectors": torch.from_numpy(vectors)}
        if not mask.all():
            features["choice_mask"] = torch.from_numpy(mask)
        if "question_vectors" in self.inputs:
            features["question_vectors"] = torch.from_numpy(encoded[: len(seen)])
        if "question_tokens" in self.inputs:
            tokens, mask = self.text.encode_words(questions)
            features["question_tokens"], features["question_mask"] = torch.from_numpy(tokens), torch.from_numpy(mask)
        features |= self.image_tensors(images, len(questions))
        return BatchFeature(features)

    def with_options(
        self,
        *,
        word_vectors: str | Path | WordVectors | None = None,
        new_words: NewWords = "refuse",
        backbone: str | Backbone | None = None,
    ) -> Self:
        """This processor with options that are not stored in a checkpoint.

        Args:
            word_vectors: the file of the model's word vectors, for words outside its vocabulary.
            new_words: without the file, "refuse" (raise InputError), "skip", or skip and "warn".
            backbone: another image backbone than that of the checkpoint.

        Raises:
            InputError: it is another file, or cannot be read.
        """
        text = replace(self.text, new_words=new_words)
        if word_vectors is not None:
            loaded = load_word_vectors(str(word_vectors)) if isinstance(word_vectors, str | Path) else word_vectors
            text = text.with_file(loaded)
        made = type(self)(text, self.image_kind, self.inputs, backbone=backbone or self._backbone)
        made.word_changes = self.word_changes
        return made

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return self.as_json() | {"word_vectors": self.text.as_json()}

    def to_json_file(self, json_file_path: str | PathLike[Any]) -> None:
        """Write processor_config.json and the word vectors; called by ``save_pretrained`` and ``push_to_hub``."""
        self.text.save(Path(json_file_path).parent)
        super().to_json_file(json_file_path)

    @classmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None, inputs: list[str]) -> Self:
        """The processor of a checkpoint; raises InputError if its word vectors are missing or others."""
        return cls(TextFeatures.stored(folder, about["word_vectors"]), kind, inputs)


def _check_texts(questions: Sequence[str], choices: Sequence[Sequence[str]]) -> None:
    if isinstance(questions, str) or isinstance(choices, str):
        raise InputError("questions and choices: expected lists with one entry per question, found a string")
    if len(questions) != len(choices):
        raise InputError(
            f"found {len(questions)} questions and {len(choices)} lists of choices; expected one per question"
        )
    for number, (question, of_question) in enumerate(zip(questions, choices, strict=True)):
        if not isinstance(question, str):
            raise InputError(f"question {number} is {shown(question)}; expected a string")
        if isinstance(of_question, str) or not all(isinstance(choice, str) for choice in of_question):
            raise InputError(f"choices of question {number} are {shown(of_question)}; expected a list of strings")
        if len(of_question) == 0:
            raise InputError(f"question {number} has no choices; expected one or more")
