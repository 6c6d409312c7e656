"""What a model reads in addition to the questions: image features, captions and candidate images."""

from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.vqa_processor import VqaProcessor
from hf_vqa_mc.training.candidates import Candidates
from hf_vqa_mc.training.captions import Captions
from hf_vqa_mc.training.questions import Questions

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """A model's image features, captions and candidate images; None where it needs none."""

    images: ImageFeatures | None
    captions: Captions | None
    candidates: Candidates | None

    @classmethod
    def open(
        cls,
        config: "PreTrainedConfig",
        model: str,
        features: Path | None,
        captions: Path | None,
        candidates: Path | None,
        trained_with: FeatureKind | None = None,
    ) -> "ModelInputs":
        """Open a model's inputs; raises InputError if one is missing, not needed, or does not fit the model.

        ``trained_with``: the kind of features that a checkpoint was trained with, for messages.
        """
        images = open_images(features, config, model, trained_with)
        declared = model_of(config)
        reads_captions = "caption_bags" in declared.inputs
        if reads_captions != (captions is not None):
            fault = "reads captions: add --captions FILE" if reads_captions else "reads no captions: remove --captions"
            raise InputError(f"{declared.name} {fault}")
        if declared.explains != (candidates is not None):
            fault = "ranks candidate images: add --candidates FILE of vqa-mc generate complementary"
            raise InputError(
                f"{declared.name} {fault if declared.explains else 'ranks no images: remove --candidates'}"
            )
        ranked = None
        if candidates is not None and images is not None:
            count = None if trained_with is None else getattr(config, "candidates", None)
            ranked = Candidates(candidates, images, count)
        return cls(images, None if captions is None else Captions(captions), ranked)

    def of(self, questions: Questions, skip: bool) -> tuple[Questions, int]:
        """The questions for which all inputs exist, with captions and candidates, and the number of the others.

        Raises InputError if all lack one of them, or if some do and ``skip`` is false.
        """
        count = len(questions)
        if self.images is not None:
            what = f"features in {self.images.folder}"
            questions = _on_images(questions, self.images, skip, what, "run vqa-mc features for this dataset")
        if self.captions is not None:
            what = f"a caption in {self.captions.path}"
            questions = _on_images(questions, self.captions, skip, what, "give a file with all")
            questions = replace(questions, captions=[self.captions[one] for one in questions.image_ids])
        if self.candidates is not None:
            questions = self.candidates.of(questions, skip)
        return questions, count - len(questions)


def _on_images(questions: Questions, images: Container[str], skip: bool, what: str, remedy: str) -> Questions:
    """The questions on the given images.

    Raises InputError if all are on other images, or if some are and ``skip`` is false; ``what`` the other images lack,
    and the ``remedy``, are for the message.
    """
    valid = np.array([image_id in images for image_id in questions.image_ids], np.bool_)
    lost = np.flatnonzero(~valid)
    if not len(lost):
        return questions
    if not skip or len(lost) == len(valid):
        raise InputError(
            f"{questions.location}: {len(lost):,} of {len(valid):,} questions are on images without {what}, the first "
            f"on image_id {questions.image_ids[lost[0]]!r}; {remedy}, or skip such questions with --skip-missing"
        )
    return questions.take(np.flatnonzero(valid))


def open_images(
    folder: Path | None, config: "PreTrainedConfig", model: str, trained_with: FeatureKind | None = None
) -> ImageFeatures | None:
    """A model's image features, None if it sees no images; raises InputError if they do not fit the model.

    ``trained_with``: the kind of features that a checkpoint was trained with, for messages.
    """
    accepted = model_of(config).inputs.intersection(IMAGE_INPUTS)
    if not accepted:
        if folder is not None:
            raise InputError(f"--features {folder}: {model} sees no images; remove --features")
        return None
    option = "without --grid" if "image_features" in accepted else "with --grid 7"
    if folder is None:
        if trained_with is not None:
            raise InputError(
                f"{model} sees images: add --features DIR with features of {trained_with.folder_name}, the kind that "
                "it was trained with"
            )
        command = f"vqa-mc features DATASET CONFIG{option.removeprefix('with') if 'image_grid' in accepted else ''}"
        raise InputError(f"{model} sees images: add --features DIR; create the features with {command}")
    images = ImageFeatures(folder)
    if images.kind.input_name not in accepted:
        expected = " or ".join(_PER_IMAGE[name] for name in IMAGE_INPUTS if name in accepted)
        raise InputError(
            f"--features {folder} has {_PER_IMAGE[images.kind.input_name]} per image, {model} takes {expected}; run "
            f"vqa-mc features {option}"
        )
    return images


_PER_IMAGE = dict(zip(IMAGE_INPUTS, ("one vector", "a grid", "regions"), strict=True))


def check_same_features(images: ImageFeatures, processor: VqaProcessor, checkpoint: str) -> None:
    """Raise InputError unless image features are of the same kind as the checkpoint's."""
    if processor.image_kind != images.kind:
        trained_with = processor.image_kind.folder_name if processor.image_kind else "none"
        raise InputError(
            f"--features {images.folder} has features of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with}; extract these"
        )
