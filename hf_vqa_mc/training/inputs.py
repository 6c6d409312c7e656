"""What a model reads in addition to the questions: image features, captions, candidate images and word vectors."""

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.engines.complementary.premise import captions_in
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors, load_word_vectors
from hf_vqa_mc.training.questions import Examples
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_PER_IMAGE = dict(zip(IMAGE_INPUTS, ("one vector", "a grid", "regions"), strict=True))


class Candidates:
    """Candidate images of ``vqa-mc generate complementary``, (questions, candidates), the nearest first."""

    def __init__(self, path: Path, count: int | None = None) -> None:
        self.path = path
        try:
            lines = [line for _, line in json_lines(path)]
            self.row = {str(line["question_id"]): row for row, line in enumerate(lines)}
            names = ("candidates", "distances")
            images, distances = (np.array([line[name] for line in lines], object) for name in names)
            if images.ndim != 2 or images.shape != distances.shape:
                raise ValueError("questions have different numbers of candidates, or there are none")
            order = distances.astype(np.float64).argsort(1, kind="stable")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"--candidates {path}: not a file of vqa-mc generate complementary ({error})") from error
        self.images = np.take_along_axis(images, order, 1)
        self.distances = np.take_along_axis(distances.astype(np.float64), order, 1)
        if count not in (None, self.images.shape[1]):
            raise InputError(
                f"--candidates {path}: {self.images.shape[1]} candidates per question, expected {count}, as in "
                f"training; run vqa-mc generate complementary --nearest {count}"
            )

    def of(self, questions: Examples, skip: bool) -> Examples:
        """The questions with candidates, and the picked ones: the nearest image of another question of the pair."""
        partners = defaultdict(set)
        for pair, image_id in zip(questions.group_ids or (), questions.image_ids, strict=False):
            partners[pair].add(image_id)
        remedy = "run vqa-mc generate complementary for this config"
        kept = _kept(questions, questions.question_ids, self.row, skip, f"candidates in {self.path}", remedy)
        rows = [self.row[one] for one in kept.question_ids]
        images, picked = self.images[rows], np.full(len(kept), NO_PICK, np.int64)
        for at, pair in enumerate(kept.group_ids or ()):
            others = partners[pair] - {kept.image_ids[at]} if pair else set()
            picked[at] = next((number for number, one in enumerate(images[at]) if one in others), NO_PICK)
        return replace(kept, candidates=images, distances=self.distances[rows], picked=picked)


class ModelInputs:
    """A model's image features, captions and candidate images; None where it needs none.

    ``trained_with`` is the kind of features that a checkpoint was trained with, for messages. Raises InputError if an
    input is missing, not needed, or does not fit the model.
    """

    def __init__(
        self,
        config: "PreTrainedConfig",
        model: str,
        features: Path | None,
        captions: Path | None,
        candidates: Path | None,
        trained_with: FeatureKind | None = None,
    ) -> None:
        self.images, declared = open_images(features, config, model, trained_with), model_of(config)
        used = {"captions": "caption_bags" in declared.inputs, "candidates": declared.explains}
        for name, given in (("captions", captions), ("candidates", candidates)):
            if used[name] != (given is not None):
                fault = f"needs --{name} FILE; add it" if used[name] else f"does not use --{name}; remove it"
                raise InputError(f"{declared.name} {fault}")
        self.candidates = None
        if candidates is not None:
            self.candidates = Candidates(candidates, None if trained_with is None else config.candidates)
            for image in dict.fromkeys(self.candidates.images.ravel().tolist()):
                if self.images is not None and image not in self.images:
                    raise InputError(
                        f"--candidates {candidates}: image {image!r} has no features in {self.images.folder}; use "
                        "those that the candidates were found with"
                    )
        self.captions_file, self.captions = captions, dict[str, str]()
        for image, caption in () if captions is None else captions_in(captions):
            self.captions.setdefault(image, caption)  # the first; which of five Antol et al. take is unknown

    def of(self, questions: Examples, skip: bool) -> tuple[Examples, int]:
        """The questions with all inputs, and the number of the others; raises InputError for these unless ``skip``."""
        count = len(questions)
        if self.images is not None:
            wanted, remedy = f"image features in {self.images.folder}", "run vqa-mc features for this dataset"
            questions = _kept(questions, questions.image_ids, self.images, skip, wanted, remedy)
        if self.captions_file is not None:
            wanted, remedy = f"caption in {self.captions_file}", "give a file with all"
            questions = _kept(questions, questions.image_ids, self.captions, skip, wanted, remedy)
            questions = replace(questions, captions=[self.captions[one] for one in questions.image_ids])
        if self.candidates is not None:
            questions = self.candidates.of(questions, skip)
        return questions, count - len(questions)

    def as_json(self) -> dict[str, Any]:
        """The kind of image features, and checksums."""
        kind, checksum = (self.images.kind.as_json(), self.images.checksum) if self.images else (None, None)
        found = {"image_features": kind, "images_sha256": checksum}
        if self.captions_file is not None:
            found["captions_sha256"] = _sha256(list(self.captions.items()))
        if self.candidates is not None:
            found["candidates_sha256"] = _sha256((list(self.candidates.row), self.candidates.images.tolist()))
        return found


def _sha256(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _kept(
    questions: Examples, ids: Sequence[str], known: Container[str], skip: bool, wanted: str, remedy: str
) -> Examples:
    """The questions whose ids are known; raises InputError if none is, or if some are not and ``skip`` is false."""
    valid = np.array([one in known for one in ids], np.bool_)
    lost = np.flatnonzero(~valid)
    if len(lost) and (not skip or len(lost) == len(valid)):
        raise InputError(
            f"{questions.location}: {len(lost):,} of {len(valid):,} questions have no {wanted}, the first one's id is "
            f"{ids[lost[0]]!r}; {remedy}, or skip such questions with --skip-missing"
        )
    return questions.take(np.flatnonzero(valid)) if len(lost) else questions


def open_images(
    folder: Path | None, config: "PreTrainedConfig", model: str, trained_with: FeatureKind | None = None
) -> ImageFeatures | None:
    """A model's image features, None if it sees no images; errors and arguments are those of `ModelInputs.open`."""
    accepted = model_of(config).inputs.intersection(IMAGE_INPUTS)
    if not accepted:
        if folder is not None:
            raise InputError(f"--features {folder}: {model} sees no images; remove --features")
        return None
    command = f"vqa-mc features DATASET CONFIG{'' if 'image_features' in accepted else ' --grid 7'}"
    if folder is None:
        of_kind = f" with those of {trained_with.folder_name}, as in training" if trained_with else ""
        raise InputError(f"{model} sees images: add --features DIR{of_kind}; create the features with {command}")
    images = ImageFeatures(folder)
    if images.kind.input_name not in accepted:
        expected = " or ".join(_PER_IMAGE[name] for name in IMAGE_INPUTS if name in accepted)
        raise InputError(
            f"--features {folder} has {_PER_IMAGE[images.kind.input_name]} per image, {model} takes {expected}; "
            f"create these with {command}"
        )
    return images


def check_same_features(images: ImageFeatures | None, trained_with: FeatureKind | None, checkpoint: str) -> None:
    """Raise InputError unless image features are of the same kind as the checkpoint's."""
    if images is not None and trained_with != images.kind:
        raise InputError(
            f"--features {images.folder} has features of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with.folder_name if trained_with else 'none'}; extract these"
        )


def with_word_vectors(text: TextFeatures, word_vectors: str | None) -> TextFeatures:
    """A checkpoint's text features with its file of word vectors; raises InputError if it is another file."""
    if text.name == CORPUS:
        if word_vectors not in (None, CORPUS):
            raise InputError(f"--word-vectors {word_vectors}: the checkpoint has its own; remove --word-vectors")
        return replace(text, new_words="skip")  # there is no file with more words
    return text if word_vectors is None else text.with_file(load_word_vectors(word_vectors))


def provenance(dataset: str, config: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The records of a config's source and of its build in a built folder; None if there are none."""
    inventory = read_inventory(Path(dataset)) if Path(dataset).is_dir() else None
    for entry in (inventory or {"sources": {}})["sources"].values():
        if config in entry["configs"]:
            return entry.get("about"), entry.get("made_with")
    return None, None


def named_word_vectors(settings: TrainingSettings) -> str:
    """The given word vectors, or ``corpus`` if the decoys were made with it; raises InputError if unknown."""
    if settings.word_vectors is not None:
        return settings.word_vectors
    made = (provenance(settings.dataset, settings.config)[1] or {}).get("word_vectors") or {}
    if made.get("name") != CORPUS:
        with_these = f" (the decoys were made with {made['name']})" if made else ""
        remedy = f"add --word-vectors FILE{with_these}, or --word-vectors {CORPUS}"
        raise InputError(f"the model needs word vectors: {remedy}")
    return CORPUS


def run_word_vectors(
    settings: TrainingSettings, sentences: Iterable[Sequence[str]], progress: Progress
) -> WordVectors:
    """The word vectors of a new model, on ``corpus`` trained on sentences: the words of groups of texts."""
    name = named_word_vectors(settings)
    step = "training word vectors" if name == CORPUS else "reading word vectors"
    progress(step, 0, 1)
    in_words = [[word for text in texts for word in words(text)] for texts in sentences]
    vectors = load_word_vectors(name, lambda: in_words, settings.seed)
    progress(step, 1, 1)
    return vectors
