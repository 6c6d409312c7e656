"""What a model reads in addition to the questions: image features, captions and candidate images."""

import hashlib
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.vqa_processor import VqaProcessor
from hf_vqa_mc.training.captions import Captions
from hf_vqa_mc.training.questions import Questions

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_PER_IMAGE = dict(zip(IMAGE_INPUTS, ("one vector", "a grid", "regions"), strict=True))


class Candidates:
    """The candidate images in a file of ``vqa-mc generate complementary``, the most similar first.

    Args:
        path: of the file.
        features: of images.
        count: expected number of candidates per question; None: any.

    Raises:
        InputError: the file is not one of candidates, has another number of them, or one has no features.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, features: ImageFeatures, count: int | None = None) -> None:
        self.path = path
        self._row: dict[str, int] = {}
        images, distances = list[list[str]](), list[list[float]]()
        try:
            for _, line in json_lines(path):
                question_id, of_question, of_images = str(line["question_id"]), line["candidates"], line["distances"]
                self._row[question_id] = len(images)
                order = np.argsort(of_images, kind="stable")
                images.append([of_question[at] for at in order])
                distances.append([of_images[at] for at in order])
            if len(set(map(len, images))) != 1:
                raise ValueError("questions have different numbers of candidates, or there are none")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"--candidates {path}: not a file of vqa-mc generate complementary ({error})") from error
        self.images, self.distances = np.array(images, object), np.array(distances)
        for image_id in dict.fromkeys(self.images.ravel().tolist()):
            if image_id not in features:
                raise InputError(
                    f"{path}: candidate {image_id!r} has no features in {features.folder}; use those that the "
                    "candidates were found with"
                )
        if count not in (None, self.images.shape[1]):
            raise InputError(
                f"--candidates {path}: {self.images.shape[1]} candidates per question, expected {count}, as in "
                f"training; run vqa-mc generate complementary --nearest {count}"
            )

    @property
    def checksum(self) -> str:
        """Checksum of the question ids and their candidates."""
        return hashlib.sha256(repr((list(self._row), self.images.tolist())).encode()).hexdigest()

    def of(self, questions: Questions, skip: bool) -> Questions:
        """The questions with candidates, and the picked ones; errors are those of `ModelInputs.of`.

        The picked candidate is the most similar image of another question of the balanced pair.
        """
        partners = defaultdict(set)
        for pair, image_id in zip(questions.together or (), questions.image_ids, strict=False):
            partners[pair].add(image_id)
        lacking = f"have no candidates in {self.path}, the first is question_id"
        remedy = "run vqa-mc generate complementary for this config"
        kept = _kept(questions, questions.question_ids, self._row, skip, lacking, remedy)
        rows = [self._row[one] for one in kept.question_ids]
        images = self.images[rows]
        picked = np.full(len(kept), NO_PICK, np.int64)
        for at, pair in enumerate(kept.together or ()):
            others = partners[pair] - {kept.image_ids[at]} if pair else set()
            picked[at] = next((number for number, one in enumerate(images[at]) if one in others), NO_PICK)
        return replace(kept, candidates=images, distances=self.distances[rows], picked=picked)


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
        images, declared = open_images(features, config, model, trained_with), model_of(config)
        reads_captions = "caption_bags" in declared.inputs
        if reads_captions != (captions is not None):
            fault = "reads captions: add --captions FILE" if reads_captions else "reads no captions: remove --captions"
            raise InputError(f"{declared.name} {fault}")
        if declared.explains and candidates is None:
            remedy = "add --candidates FILE of vqa-mc generate complementary"
            raise InputError(f"{declared.name} ranks candidate images: {remedy}")
        if candidates is not None and not declared.explains:
            raise InputError(f"{declared.name} ranks no images: remove --candidates")
        ranked = None
        if candidates is not None and images is not None:
            count = None if trained_with is None else getattr(config, "candidates", None)
            ranked = Candidates(candidates, images, count)
        return cls(images, None if captions is None else Captions(captions), ranked)

    def of(self, questions: Questions, skip: bool) -> tuple[Questions, int]:
        """The questions for which all inputs exist, with captions and candidates, and the number of the others.

        Raises InputError if all lack one of them, or if some do and ``skip`` is false.
        """
        count, lacking = len(questions), "are on images without {}, the first on image_id"
        if self.images is not None:
            without = lacking.format(f"features in {self.images.folder}")
            remedy = "run vqa-mc features for this dataset"
            questions = _kept(questions, questions.image_ids, self.images, skip, without, remedy)
        if self.captions is not None:
            without = lacking.format(f"a caption in {self.captions.path}")
            questions = _kept(questions, questions.image_ids, self.captions, skip, without, "give a file with all")
            questions = replace(questions, captions=[self.captions[one] for one in questions.image_ids])
        if self.candidates is not None:
            questions = self.candidates.of(questions, skip)
        return questions, count - len(questions)


def _kept(
    questions: Questions, ids: Sequence[str], known: Container[str], skip: bool, lacking: str, remedy: str
) -> Questions:
    """The questions whose ids are known; raises InputError if none is, or if some are not and ``skip`` is false."""
    valid = np.array([one in known for one in ids], np.bool_)
    lost = np.flatnonzero(~valid)
    if len(lost) and (not skip or len(lost) == len(valid)):
        raise InputError(
            f"{questions.location}: {len(lost):,} of {len(valid):,} questions {lacking} {ids[lost[0]]!r}; {remedy}, "
            "or skip such questions with --skip-missing"
        )
    return questions.take(np.flatnonzero(valid)) if len(lost) else questions


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


def check_same_features(images: ImageFeatures | None, processor: VqaProcessor, checkpoint: str) -> None:
    """Raise InputError unless image features are of the same kind as the checkpoint's."""
    if images is not None and processor.image_kind != images.kind:
        trained_with = processor.image_kind.folder_name if processor.image_kind else "none"
        raise InputError(
            f"--features {images.folder} has features of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with}; extract these"
        )
