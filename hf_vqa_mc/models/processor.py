"""The processor of all models, a part of every checkpoint."""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import BatchFeature
from transformers.processing_utils import ProcessorMixin

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import IMPORTED, Backbone, FeatureKind, Regions, image_tensors
from hf_vqa_mc.extraction.pictures import RawImage, open_image
from hf_vqa_mc.extraction.text_features import NewWords, TextFeatures
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.models.question_texts import CHOICES, TEXT_INPUTS, QuestionTexts, checked_texts
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors

PROCESSOR_CONFIG = "processor_config.json"
EncodedImage = NDArray[np.float32] | Regions  # the features of an image

_OF_HUB = frozenset(("revision", "token", "cache_dir", "local_files_only", "force_download"))
_OF_OTHERS = frozenset(("trust_remote_code", "code_revision", "dtype", "use_fast", "proxies"))
"""Arguments that AutoProcessor and ``pipeline`` pass to all processors; ignored, as private ones are."""


class VqaProcessor(ProcessorMixin):
    """Converts images and texts to the tensors of a multiple-choice, open-ended or counter-example model.

    Args:
        texts: what the model reads, as in training.
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`; of a multiple-choice model with `CHOICES`.
    """

    def __init__(self, texts: QuestionTexts, image_kind: FeatureKind | None, inputs: Collection[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.texts = texts
        self.word_changes = WordChanges()  # changes of the words of questions, as in training
        self.image_kind, self.inputs = image_kind, frozenset(inputs)
        self._backbone: str | Backbone | None = None

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors; choice_mask only if questions have different numbers of choices."""
        mask = ["question_mask"] if "question_tokens" in self.inputs else []
        return [*sorted(self.inputs), *mask, *(["choice_mask"] if CHOICES in self.inputs else [])]

    def __call__(
        self,
        images: Sequence[RawImage | EncodedImage] | None = None,
        text: Sequence[str] | None = None,
        *,
        choices: Sequence[Sequence[str]] | None = None,
        captions: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        return_tensors: str | None = "pt",
    ) -> BatchFeature:
        """The inputs of a model for a batch of questions; what the model does not see is ignored.

        Args:
            images: one for each question: PIL images, paths, URLs or bytes.
            text: the questions.
            choices: one or more for each question, of a multiple-choice model.
            captions: one for each question, of a model that reads captions.
            groups: the question types or other groups of a prior; by default unknown.
            return_tensors: "pt" for tensors of torch, or "np".

        Returns:
            Arguments of ``forward``. Of a multiple-choice model ``choice_vectors`` float32 (batch, choices, dim), and
            ``choice_mask`` bool (batch, choices) if questions have different numbers of choices. Of the model's inputs
            ``question_vectors`` float32 (batch, dim), ``question_tokens`` (batch, words, dim) with ``question_mask``,
            ``question_indices`` int64 (batch, words), ``question_bags`` float32 (batch, bag size),
            ``question_layouts`` int64 (batch, nodes, 5), ``caption_bags`` float32 (batch, words), ``question_groups``
            int64 (batch,), ``image_features`` float32 (batch, image dim) or ``image_grid`` (batch, cells, image dim).

        Raises:
            InputError: something is no text, lengths do not match, an image cannot be read, or a word is unknown and
                there is no file of word vectors.
        """
        if text is None and "questions" not in map(TEXT_INPUTS.get, self.inputs):
            text = [""] * len(choices or images or captions or ())
        questions = [self.word_changes.text(question) for question in checked_texts(text, "questions")]
        given = {"questions": questions, "captions": captions, "groups": groups}
        for name, texts in given.items():
            if texts is not None and len(texts) != len(questions):
                raise InputError(f"{name}: expected {len(questions)}, one per question, found {len(texts)}")
        reading, tensors = self.texts, dict[str, Tensor]()
        if CHOICES in self.inputs:
            tensors = self._choice_tensors(choices, questions)
            reading = replace(reading, vectors=replace(self.text, new_words="skip"))  # new ones were reported
        tensors |= reading.tensors(self.inputs, **given)
        return BatchFeature(tensors | self.image_tensors(images, len(questions)), return_tensors)

    def _choice_tensors(self, choices: Sequence[Sequence[str]] | None, questions: Sequence[str]) -> dict[str, Tensor]:
        """The vectors of the choices and their mask; reports new words, also of the questions if they are seen.

        Raises InputError unless each question has one choice or more.
        """
        if choices is None or isinstance(choices, str) or len(choices) != len(questions):
            raise InputError(f"choices: expected {len(questions)} lists, one per question, found {shown(choices)}")
        for number, of_question in enumerate(choices):
            if isinstance(of_question, str) or not all(isinstance(choice, str) for choice in of_question):
                raise InputError(f"choices of question {number} are {shown(of_question)}; expected a list of strings")
            if len(of_question) == 0:
                raise InputError(f"question {number} has no choices; expected one or more")
        counts = np.array([len(of_question) for of_question in choices], np.int64)
        mask = np.arange(counts.max(initial=0)) < counts[:, None]
        vectors = np.zeros((*mask.shape, self.text.dim), np.float32)
        seen = questions if self.inputs & TEXT_INPUTS.keys() else []
        vectors[mask] = self.text.encode([*seen, *chain.from_iterable(choices)])[len(seen) :]
        tensors = {CHOICES: torch.from_numpy(vectors)}
        return tensors if mask.all() else tensors | {"choice_mask": torch.from_numpy(mask)}

    def with_options(
        self,
        *,
        word_vectors: str | Path | WordVectors | None = None,
        new_words: NewWords | None = None,
        backbone: str | Backbone | None = None,
    ) -> Self:
        """This processor with options that are not stored in a checkpoint.

        Args:
            word_vectors: the file of the model's word vectors, for words outside its vocabulary.
            new_words: without the file, "refuse" (raise InputError; the default of multiple-choice models), "skip"
                (that of others), or skip and "warn".
            backbone: another image backbone than that of the checkpoint, its name or its folder, see `find_backbone`.

        Raises:
            InputError: it is another file, cannot be read, or the model reads no word vectors; or the backbone gives
                other features than those in training.
        """
        made = copy(self)
        if (vectors := self.texts.vectors) is not None:
            vectors = replace(vectors, new_words=new_words or vectors.new_words)
            if word_vectors is not None:
                if isinstance(word_vectors, str | Path):
                    word_vectors = load_word_vectors(str(word_vectors))
                vectors = vectors.with_file(word_vectors)
            made.texts = replace(self.texts, vectors=vectors)
        elif word_vectors is not None:
            raise InputError("word_vectors: the model reads no word vectors; remove it")
        made._backbone = backbone or self._backbone
        if isinstance(backbone, Backbone):
            made._check(backbone)
        return made

    @property
    def text(self) -> TextFeatures:
        """The word vectors of a multiple-choice model."""
        return cast("TextFeatures", self.texts.vectors)

    @text.setter
    def text(self, vectors: TextFeatures) -> None:
        self.texts = replace(self.texts, vectors=vectors)

    def image_tensors(self, images: Sequence[RawImage | EncodedImage] | None, count: int) -> dict[str, Tensor]:
        """The image input for ``count`` questions, empty without images; raises InputError if one is missing."""
        if self.image_kind is None:
            return {}
        if images is None or isinstance(images, (str, bytes)) or len(images) != count:
            found = "none" if images is None else len(images)
            raise InputError(f"the model sees images: expected {count}, one per question, found {found}")
        kind = self.image_backbone().kind
        tensors = image_tensors(kind, self.encoded_images(images))
        features = tensors[kind.input_name]
        if len(bad := (~features.isfinite()).flatten(1).any(1).nonzero()):
            raise InputError(f"image {int(bad[0])}: {kind.backbone} gives non-finite features; remove the image")
        tensors[kind.input_name] = features.to(getattr(torch, kind.precision)).float()
        return tensors

    def encoded_images(self, images: Sequence[RawImage | EncodedImage]) -> list[EncodedImage]:
        """The features of images, which stand for them in later calls; raises InputError if one cannot be read."""
        backbone = self.image_backbone()
        encoded: list[Any] = list(images)
        raw = [(at, image) for at, image in enumerate(images) if not isinstance(image, np.ndarray | Regions)]
        for first in range(0, len(raw), backbone.batch_size):
            batch = raw[first : first + backbone.batch_size]
            found = backbone.encode_prepared([backbone.prepare(open_image(image)) for _, image in batch])
            for (at, _), features in zip(batch, found, strict=True):
                encoded[at] = features
        return encoded

    def no_image(self) -> EncodedImage:
        """The features that stand for no image: zeros, for regions one that is the whole image."""
        kind = self.image_backbone().kind
        if kind.regions is None:
            return np.zeros(kind.shape, np.float32)
        return Regions(np.zeros((1, kind.dim), np.float32), np.array([[0, 0, 1, 1, 1, 0]], np.float32))

    def image_backbone(self, device: str | None = None) -> Backbone:
        """The image backbone, loaded on the first call: on ``device``, by default the GPU if there is one.

        Raises:
            InputError: the model sees no images, or the backbone does not exist or has another revision.
            ConnectionError: the Hub cannot be reached, and the backbone is not in the cache.
        """
        kind = self.image_kind
        if kind is None:
            raise InputError("the model sees no images and has no backbone")
        if not isinstance(self._backbone, Backbone):
            if kind.revision == IMPORTED:
                raise InputError(
                    f"the model sees regions of {kind.folder_name}, which are read from files; use vqa-mc predict"
                )
            name = self._backbone or kind.backbone
            found = find_backbone(name, kind.grid, kind.regions, device=device, precision=kind.precision)
            self._check(found)
            self._backbone = found
        return self._backbone

    def _check(self, backbone: Backbone) -> None:
        """Raise InputError if a backbone gives other features than those in training."""
        kind, found = self.image_kind, backbone.kind
        names = ("revision", "side", "shape", "precision", "regions")
        if kind and any(getattr(found, name) != getattr(kind, name) for name in names):
            raise InputError(
                f"the model was trained with image features of {kind}, this backbone gives {found}; use the same "
                "backbone, or train with features of this one"
            )

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return {
            "processor_class": VqaProcessor.__name__,
            "inputs": sorted(self.inputs),
            "image_features": None if self.image_kind is None else self.image_kind.as_json(),
            **({"word_changes": self.word_changes.as_json()} if self.word_changes else {}),
            **self.texts.as_json(),
        }

    def to_json_file(self, json_file_path: str | PathLike[Any]) -> None:
        """Write processor_config.json and the word vectors; called by ``save_pretrained`` and ``push_to_hub``."""
        if self.texts.vectors is not None:
            self.texts.vectors.save(Path(json_file_path).parent)
        write_json(Path(json_file_path), self.to_dict(), indent=2)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        pretrained_model_name_or_path: str | Path,
        **options: Any,  # noqa: ANN401  as with_options and checkpoint_folder have them
    ) -> "VqaProcessor":
        """The processor of a checkpoint.

        Raises:
            InputError: there is no such checkpoint, files are missing or damaged, or an option does not match.
            ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
        """
        given = {name: value for name, value in options.items() if name not in _OF_OTHERS and not name.startswith("_")}
        of_hub = {name: given.pop(name) for name in _OF_HUB & given.keys()}
        folder = checkpoint_folder(pretrained_model_name_or_path, **of_hub)
        path = folder / PROCESSOR_CONFIG
        if not path.is_file():
            raise InputError(f"{folder} has no {PROCESSOR_CONFIG}; expected a checkpoint written by vqa-mc train")
        about = read_json(path)
        kind = None if about["image_features"] is None else FeatureKind.from_json(about["image_features"])
        texts = QuestionTexts.stored(folder, about, "refuse" if CHOICES in about["inputs"] else "skip")
        made = VqaProcessor(texts, kind, about["inputs"])
        made.word_changes = WordChanges.of(about.get("word_changes") or {})
        return made.with_options(**given)
