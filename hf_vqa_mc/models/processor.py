"""The processor: images, questions and choices to a model's tensors; part of every checkpoint."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import BatchFeature
from transformers.processing_utils import ProcessorMixin

from hf_vqa_mc.errors import InputError, shown, unknown_name
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.pictures import RawImage, open_image
from hf_vqa_mc.extraction.text_features import NewWords, TextFeatures
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.io.hub_folder import hub_folder
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.models.model import IMAGE_INPUTS, QUESTION_INPUTS
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors

PROCESSOR_CONFIG = "processor_config.json"
IMAGES_AT_A_TIME = 64
CHECKPOINT_FILES = (
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    PROCESSOR_CONFIG,
    "words.safetensors",
    "training.json",
)
"""Files read of a checkpoint; no pickles, no code."""

_OF_HUB = frozenset(("revision", "token", "cache_dir", "local_files_only", "force_download"))
_OF_OTHERS = frozenset(
    ("_from_auto", "_from_pipeline", "trust_remote_code", "code_revision", "dtype", "use_fast", "proxies")
)
"""Arguments that AutoProcessor and ``pipeline`` pass to all processors; ignored."""


class VqaMcProcessor(ProcessorMixin):
    """Converts images, questions and choices to a model's tensors.

    Args:
        text: word vectors.
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`.
        backbone: a backbone, or its name or folder, see `find_backbone`; by default that of ``image_kind``.

    Raises:
        InputError: the arguments do not match.
    """

    def __init__(
        self,
        text: TextFeatures,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.text, self.image_kind, self.inputs = text, image_kind, frozenset(inputs)
        self._backbone = backbone
        for name in self.inputs:
            if name not in (*IMAGE_INPUTS, *QUESTION_INPUTS):
                raise unknown_name("input", name, (*IMAGE_INPUTS, *QUESTION_INPUTS))
        self._image_input = None if image_kind is None else IMAGE_INPUTS[image_kind.grid is not None]
        if self.inputs.intersection(IMAGE_INPUTS) != {self._image_input} - {None}:
            given = "no image features" if image_kind is None else f"features of {image_kind}"
            expected = self._image_input or "none"
            raise InputError(f"a processor with {given} has inputs {sorted(self.inputs)}; expected {expected}")
        if isinstance(backbone, Backbone):
            self._check(backbone)

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
        if self._image_input is not None:
            if images is None or isinstance(images, (str, bytes)) or len(images) != len(questions):
                found = "none" if images is None else len(images)
                raise InputError(f"the model sees images: expected {len(questions)}, one per question, found {found}")
            features[self._image_input] = self._encoded(images)
        return BatchFeature(features)

    def _encoded(self, images: Sequence[RawImage]) -> Tensor:
        """Image features, rounded to the precision of the training features."""
        backbone = self.image_backbone()
        batches = [
            images[first : first + IMAGES_AT_A_TIME] for first in range(0, max(len(images), 1), IMAGES_AT_A_TIME)
        ]
        parts = [backbone.encode([open_image(image) for image in batch]) for batch in batches]
        features = torch.from_numpy(np.concatenate(parts))
        if len(bad := (~features.isfinite()).flatten(1).any(1).nonzero()):
            raise InputError(
                f"image {int(bad[0])}: {backbone.kind.backbone} gives non-finite features; remove the image"
            )
        return features.to(getattr(torch, backbone.kind.precision)).float()

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
            name = self._backbone or kind.backbone
            found = find_backbone(name, kind.grid, device=device, precision=kind.precision)
            self._check(found)
            self._backbone = found
        return self._backbone

    def _check(self, backbone: Backbone) -> None:
        kind, found = self.image_kind, backbone.kind
        if any(getattr(found, name) != getattr(kind, name) for name in ("revision", "shape", "precision") if kind):
            raise InputError(
                f"the model was trained with image features of {kind}, this backbone gives {found}; use the same "
                "backbone, or train with features of this one"
            )

    def with_options(
        self,
        *,
        word_vectors: str | Path | WordVectors | None = None,
        new_words: NewWords = "refuse",
        backbone: str | Backbone | None = None,
    ) -> "VqaMcProcessor":
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
            loaded = word_vectors if isinstance(word_vectors, WordVectors) else load_word_vectors(str(word_vectors))
            text = text.with_file(loaded)
        return VqaMcProcessor(text, self.image_kind, self.inputs, backbone=backbone or self._backbone)

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return {
            "processor_class": type(self).__name__,
            "inputs": sorted(self.inputs),
            "image_features": None if self.image_kind is None else self.image_kind.as_json(),
            "word_vectors": self.text.as_json(),
        }

    def to_json_file(self, json_file_path: str | PathLike[Any]) -> None:
        """Write processor_config.json and the word vectors; called by ``save_pretrained`` and ``push_to_hub``."""
        path = Path(json_file_path)
        self.text.save(path.parent)
        write_json(path, self.to_dict(), indent=2)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        pretrained_model_name_or_path: str | Path,
        **options: Any,  # noqa: ANN401  as with_options and checkpoint_folder have them
    ) -> "VqaMcProcessor":
        """The processor of a checkpoint.

        Raises:
            InputError: there is no such checkpoint, files are missing or damaged, or an option does not match.
            ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
        """
        of_hub = {name: value for name, value in options.items() if name in _OF_HUB}
        own = {name: value for name, value in options.items() if name not in _OF_HUB | _OF_OTHERS}
        return _stored(checkpoint_folder(pretrained_model_name_or_path, **of_hub)).with_options(**own)


def checkpoint_folder(name: str | Path, **of_hub: Any) -> Path:  # noqa: ANN401  as snapshot_download has them
    """The folder with a checkpoint's files, a folder or a name on the Hub; options of ``snapshot_download``.

    Raises InputError if there is no such checkpoint, ConnectionError if the Hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if folder.is_file():
        raise InputError(f"checkpoint {name} is a file; give its folder")
    expected = "expected a folder written by vqa-mc train, or a name on the Hub"
    return folder if folder.is_dir() else hub_folder("checkpoint", str(name), CHECKPOINT_FILES, expected, **of_hub)


def _stored(folder: Path) -> VqaMcProcessor:
    path = folder / PROCESSOR_CONFIG
    try:
        about = read_json(path)
        inputs, image_features = list(map(str, about["inputs"])), about["image_features"]
        word_vectors = about["word_vectors"]
    except FileNotFoundError:
        raise InputError(
            f"{folder} has no {PROCESSOR_CONFIG}; expected a checkpoint written by vqa-mc train"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not the config of a VqaMcProcessor; copy the checkpoint again") from error
    text = TextFeatures.load(folder)
    try:
        kind = None if image_features is None else FeatureKind.from_json(image_features, "image_features")
        processor = VqaMcProcessor(text, kind, inputs)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if text.as_json() != word_vectors:
        raise InputError(
            f"{path} has word vectors {shown(word_vectors)}, words.safetensors has {shown(text.as_json())}; use both "
            "files of one checkpoint"
        )
    return processor


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
