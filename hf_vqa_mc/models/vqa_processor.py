"""What the processors of all models share: image features, options of ``from_pretrained``, and their file."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.processing_utils import ProcessorMixin

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind, Regions, image_tensors
from hf_vqa_mc.extraction.pictures import RawImage, open_image
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.text.word_changes import WordChanges

QUESTION_INPUTS = ("question_vectors", "question_tokens")
"""The average word vector, or one vector per word (with ``question_mask``)."""

PROCESSOR_CONFIG = "processor_config.json"

_OF_HUB = frozenset(("revision", "token", "cache_dir", "local_files_only", "force_download"))
_OF_OTHERS = frozenset(("trust_remote_code", "code_revision", "dtype", "use_fast", "proxies"))
"""Arguments that AutoProcessor and ``pipeline`` pass to all processors; ignored, as private ones are."""


class VqaProcessor(ProcessorMixin):
    """Converts images and texts to a model's tensors.

    Args:
        image_kind: kind of the image features in training; None for a model without images.
        inputs: `Model.inputs`.
        backbone: a backbone, or its name or folder, see `find_backbone`; by default that of ``image_kind``.

    Raises:
        InputError: the backbone gives other features than those in training.
    """

    def __init__(
        self, image_kind: FeatureKind | None, inputs: Collection[str], backbone: str | Backbone | None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.word_changes = WordChanges()
        """changes of the words of questions, as in training"""
        self.image_kind, self.inputs = image_kind, frozenset(inputs)
        self._backbone = backbone
        if isinstance(backbone, Backbone):
            self._check(backbone)

    @property
    @abstractmethod
    def word_vectors(self) -> TextFeatures | None:
        """The word vectors, saved in a file of their own."""

    @abstractmethod
    def texts_as_json(self) -> dict[str, Any]:
        """What is stored of the texts in processor_config.json."""

    @classmethod
    @abstractmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None) -> Self:
        """The processor of a checkpoint from the content of its processor_config.json."""

    def with_options(self, *, backbone: str | Backbone | None = None) -> Self:
        """This processor with another image backbone than in the checkpoint; raises InputError if it does not fit."""
        made = copy(self)
        made._backbone = backbone or self._backbone
        if isinstance(made._backbone, Backbone):
            made._check(made._backbone)
        return made

    def image_tensors(self, images: Sequence[RawImage] | None, count: int) -> dict[str, Tensor]:
        """The model's image input for ``count`` questions, empty if it sees no images.

        Raises InputError if there is not one readable image per question.
        """
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

    def encoded_images(self, images: Sequence[RawImage]) -> list[NDArray[np.float32] | Regions]:
        """The features of images, which stand for them in later calls of the processor.

        Raises:
            InputError: the model sees no images, or an image cannot be read.
        """
        backbone = self.image_backbone()
        encoded: dict[int, NDArray[np.float32] | Regions] = {
            at: image for at, image in enumerate(images) if isinstance(image, np.ndarray | Regions)
        }
        raw = [at for at in range(len(images)) if at not in encoded]
        for first in range(0, len(raw), backbone.batch_size):
            batch = raw[first : first + backbone.batch_size]
            prepared = [backbone.prepare(open_image(images[at])) for at in batch]
            encoded |= dict(zip(batch, backbone.encode_prepared(prepared), strict=True))
        return [encoded[at] for at in range(len(images))]

    def no_image(self) -> NDArray[np.float32] | Regions:
        """The features that stand for no image: zeros, for regions one that is the whole image.

        Raises InputError if the model sees no images.
        """
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
            if kind.is_imported:
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
        names = ("revision", "shape", "precision", "regions")
        if kind and any(getattr(found, name) != getattr(kind, name) for name in names):
            raise InputError(
                f"the model was trained with image features of {kind}, this backbone gives {found}; use the same "
                "backbone, or train with features of this one"
            )

    def to_dict(self) -> dict[str, Any]:
        """The content of processor_config.json."""
        return {
            "processor_class": type(self).__name__,
            "inputs": sorted(self.inputs),
            "image_features": None if self.image_kind is None else self.image_kind.as_json(),
            **({"word_changes": self.word_changes.as_json()} if self.word_changes else {}),
            **self.texts_as_json(),
        }

    def to_json_file(self, json_file_path: str | PathLike[Any]) -> None:
        """Write processor_config.json and the word vectors; called by ``save_pretrained`` and ``push_to_hub``."""
        if self.word_vectors is not None:
            self.word_vectors.save(Path(json_file_path).parent)
        write_json(Path(json_file_path), self.to_dict(), indent=2)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        pretrained_model_name_or_path: str | Path,
        **options: Any,  # noqa: ANN401  as with_options and checkpoint_folder have them
    ) -> Self:
        """The processor of a checkpoint.

        Raises:
            InputError: there is no such checkpoint, files are missing or damaged, or an option does not match.
            ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
        """
        of_hub = {name: value for name, value in options.items() if name in _OF_HUB}
        others = _OF_HUB | _OF_OTHERS
        own = {name: value for name, value in options.items() if name not in others and not name.startswith("_")}
        folder = checkpoint_folder(pretrained_model_name_or_path, **of_hub)
        path = folder / PROCESSOR_CONFIG
        if not path.is_file():
            raise InputError(f"{folder} has no {PROCESSOR_CONFIG}; expected a checkpoint written by vqa-mc train")
        about = read_json(path)
        kind = None if about["image_features"] is None else FeatureKind.from_json(about["image_features"])
        made = cls.stored(folder, about, kind)
        made.word_changes = WordChanges.from_json(about.get("word_changes"))
        return made.with_options(**own)
