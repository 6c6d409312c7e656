"""The processor of open-ended models: images and questions to tensors; part of every checkpoint."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from transformers import BatchFeature

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.models.model import WORD_INPUTS
from hf_vqa_mc.models.question_words import QuestionWords
from hf_vqa_mc.models.vqa_processor import VqaProcessor


class OpenEndedVqaProcessor(VqaProcessor):
    """Converts images and questions to a model's tensors.

    Args:
        words: vocabulary of the training questions.
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`.
        backbone: a backbone, or its name or folder, see `find_backbone`; by default that of ``image_kind``.

    Raises:
        InputError: the arguments do not match.
    """

    text_inputs = WORD_INPUTS

    def __init__(
        self,
        words: QuestionWords,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__(image_kind, inputs, backbone)
        self.words = words

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors."""
        return sorted(self.inputs)

    def __call__(self, questions: Sequence[str], images: Sequence[RawImage] | None = None) -> BatchFeature:
        """The inputs of a model for a batch of questions.

        Args:
            questions: texts; ignored by a model that does not see them.
            images: one for each question, if the model sees images: PIL images, paths, URLs or bytes.

        Returns:
            Of the model's inputs ``question_indices`` int64 (batch, words), ``question_bags`` float32 (batch, bag
            size), ``image_features`` float32 (batch, image dim) or ``image_grid`` (batch, cells, image dim).

        Raises:
            InputError: a question is no text, lengths do not match, or an image cannot be read.
        """
        if isinstance(questions, str):
            raise InputError("questions: expected a list of texts, found a string")
        for number, question in enumerate(questions):
            if not isinstance(question, str):
                raise InputError(f"question {number} is {shown(question)}; expected a string")
        features = {}
        if "question_indices" in self.inputs:
            features["question_indices"] = torch.from_numpy(self.words.indices(questions))
        if "question_bags" in self.inputs:
            features["question_bags"] = torch.from_numpy(self.words.bags(questions).toarray())
        return BatchFeature(features | self.image_tensors(images, len(questions)))

    def with_options(self, *, backbone: str | Backbone | None = None) -> Self:
        """This processor with another image backbone than that of the checkpoint."""
        return type(self)(self.words, self.image_kind, self.inputs, backbone=backbone or self._backbone)

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return self.as_json() | {"question_words": self.words.as_json()}

    @property
    def text_sizes(self) -> dict[str, tuple[str, int]]:
        """See `VqaProcessor`."""
        return {
            "vocabulary_size": ("words", self.words.size),
            "bag_size": ("dimensions of a bag of words", self.words.bag_size),
        }

    @classmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None, inputs: list[str]) -> Self:
        """The processor of a checkpoint."""
        return cls(QuestionWords.from_json(about["question_words"]), kind, inputs)
