"""The processor of open-ended models: images and questions to tensors; part of every checkpoint."""

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from transformers import BatchFeature

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.models.open_ended_texts import GIVEN, OpenEndedTexts, checked_texts
from hf_vqa_mc.models.vqa_processor import VqaProcessor


class OpenEndedVqaProcessor(VqaProcessor):
    """Converts images and questions to a model's tensors.

    Args:
        texts: what the model reads, as fitted to the training questions.
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`.
        backbone: a backbone, or its name or folder, see `find_backbone`; by default that of ``image_kind``.

    Raises:
        InputError: the arguments do not match.
    """

    text_inputs = tuple(GIVEN)

    def __init__(
        self,
        texts: OpenEndedTexts,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__(image_kind, inputs, backbone)
        self.texts = texts

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors."""
        return sorted(self.inputs)

    def __call__(
        self,
        questions: Sequence[str],
        images: Sequence[RawImage] | None = None,
        *,
        captions: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> BatchFeature:
        """The inputs of a model for a batch of questions.

        Args:
            questions: texts; ignored by a model that does not see them.
            images: one for each question, if the model sees images: PIL images, paths, URLs or bytes.
            captions: one for each question, if the model reads captions.
            groups: the question types or other groups of a prior; by default unknown.

        Returns:
            Of the model's inputs ``question_indices`` int64 (batch, words), ``question_bags`` float32 (batch, bag
            size), ``question_vectors`` float32 (batch, text dim), ``question_layouts`` int64 (batch, nodes, 5),
            ``caption_bags`` float32 (batch, words), ``question_groups`` int64 (batch,), ``image_features`` float32
            (batch, image dim) or ``image_grid`` (batch, cells, image dim).

        Raises:
            InputError: something is no text, lengths do not match, or an image cannot be read.
        """
        questions = [self.word_changes.text(question) for question in checked_texts(questions, "questions")]
        given = {"questions": questions, "captions": captions, "groups": groups}
        for name, texts in given.items():
            if texts is not None and len(texts) != len(questions):
                raise InputError(f"{name}: expected {len(questions)}, one per question, found {len(texts)}")
        return BatchFeature(self.texts.tensors(self.inputs, **given) | self.image_tensors(images, len(questions)))

    def with_options(self, *, backbone: str | Backbone | None = None) -> Self:
        """This processor with another image backbone than in the checkpoint."""
        made = type(self)(self.texts, self.image_kind, self.inputs, backbone=backbone or self._backbone)
        made.word_changes = self.word_changes
        return made

    @property
    def has_word_vectors(self) -> bool:
        """See `VqaProcessor`."""
        return isinstance(self.texts.vectors, TextFeatures)

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return self.as_json() | self.texts.as_json()

    def to_json_file(self, json_file_path: str | PathLike[Any]) -> None:
        """Write processor_config.json and word vectors; called by ``save_pretrained`` and ``push_to_hub``."""
        if isinstance(self.texts.vectors, TextFeatures):
            self.texts.vectors.save(Path(json_file_path).parent)
        super().to_json_file(json_file_path)

    @classmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None, inputs: list[str]) -> Self:
        """The processor of a checkpoint."""
        return cls(OpenEndedTexts.stored(folder, about), kind, inputs)
