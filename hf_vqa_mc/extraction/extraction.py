"""Extraction of a dataset's image features; each distinct image is encoded once."""

import contextlib
import os
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind, file_name
from hf_vqa_mc.extraction.dataset_images import DatasetImages, find_images
from hf_vqa_mc.extraction.image_features import write_index
from hf_vqa_mc.extraction.pictures import BrokenImage, decoded
from hf_vqa_mc.extraction.store import FeatureStore
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.prefetch import ahead
from hf_vqa_mc.io.progress import Progress, silent


@dataclass
class Extracted:
    """The result of an extraction."""

    folder: Path
    """for ``ImageFeatures.open``"""
    kind: FeatureKind
    images: dict[str, bytes] = field(default_factory=dict)
    """image_id to sha256"""
    computed: int = 0
    """number of images encoded in this run; the others were in the store, or are duplicates"""
    missing: list[str] = field(default_factory=list)
    """image_ids"""
    broken: dict[str, str] = field(default_factory=dict)
    """image_id to the reason why the image cannot be decoded"""


def extract_features(
    dataset: str,
    config: str,
    *,
    images: Path | None = None,
    backbone: str | Backbone = "microsoft/resnet-152",
    grid: int | None = None,
    output: Path = Path("vqa_mc_features"),
    skip_missing: bool = False,
    batch_size: int = 64,
    workers: int | None = None,
    progress: Progress = silent,
) -> Extracted:
    """Compute the features of a dataset's images that are not in the store yet, and write their index.

    Computed features are kept if a run fails or is killed. Arguments are those of ``hf_vqa_mc.features``.

    Raises:
        InputError: an argument is not valid; or images are missing or broken without ``skip_missing``.
        OSError: the disk is full or read-only.
    """
    found = find_images(dataset, config, images)
    progress("reading the dataset", 1, 1)
    if found.missing and not skip_missing:
        raise _unusable(found, found.missing, {})
    model = find_backbone(backbone, grid) if isinstance(backbone, str) else backbone
    progress(f"loading {model.kind.backbone}", 1, 1)
    store = FeatureStore(output / model.kind.folder_name, model.kind)
    where = Path(dataset).resolve().name if Path(dataset).is_dir() else dataset
    done = Extracted(store.folder / file_name(f"{where}-{config}"), model.kind, missing=found.missing)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")  # PIL warns about unusual files that it reads
        _Run(found, model, store, done).run(batch_size, workers or os.cpu_count() or 1, progress)
    if done.broken and not skip_missing:
        raise _unusable(found, [], done.broken)
    if not done.images:
        raise _unusable(found, done.missing, done.broken)
    about = {"dataset": where, "config": config, "missing": done.missing, "broken": done.broken}
    write_index(done.folder, model.kind, done.images, about)
    return done


class _Read(NamedTuple):
    image_id: str
    image_hash: bytes = b""
    prepared: NDArray[np.float32] | None = None
    """preprocessed; None if its features are known already"""
    error: str = ""


class _Run:
    """Reads and encodes images; fills the store and ``done``."""

    def __init__(self, found: DatasetImages, backbone: Backbone, store: FeatureStore, done: Extracted) -> None:
        self._found, self._backbone, self._store, self._done = found, backbone, store, done
        self._taken: set[bytes] = set()
        self._batch: list[_Read] = []

    def run(self, batch_size: int, workers: int, progress: Progress) -> None:
        """Read and encode all images; if interrupted, computed features are kept."""
        wanted = [image_id for image_id in self._found.image_ids if image_id in self._found.source]
        step = f"features ({self._backbone.kind.backbone})"
        try:
            with contextlib.closing(ahead(self._read, wanted, 2 * batch_size + workers, workers)) as read:
                for number, one in enumerate(read, 1):
                    self._take(one)
                    if len(self._batch) == batch_size or number == len(wanted):
                        self._encode()
                    if number < len(wanted):
                        progress(step, number, len(wanted))
        finally:
            self._store.commit()
        progress(step, len(wanted), len(wanted))

    def _read(self, image_id: str) -> _Read:
        try:
            content = self._found.source.read(image_id)
        except OSError as error:
            return _Read(image_id, error=error.strerror or str(error))
        image_hash = sha256(content).digest()
        if image_hash in self._store or image_hash in self._taken:
            return _Read(image_id, image_hash)
        try:
            return _Read(image_id, image_hash, self._backbone.prepare(decoded(content)))
        except BrokenImage as error:
            return _Read(image_id, image_hash, error=str(error))

    def _take(self, one: _Read) -> None:
        if one.error:
            self._done.broken[one.image_id] = one.error
            return
        self._done.images[one.image_id] = one.image_hash
        if one.prepared is not None and one.image_hash not in self._taken:
            self._taken.add(one.image_hash)
            self._batch.append(one)

    def _encode(self) -> None:
        if not self._batch:
            return
        features = self._backbone.forward(np.stack([one.prepared for one in self._batch if one.prepared is not None]))
        for one, row in zip(self._batch, features, strict=True):
            is_shaped = row.shape == self._backbone.kind.shape
            if not is_shaped or not np.isfinite(row).all():
                what = "features that are not finite" if is_shaped else f"features of shape {row.shape}"
                raise InputError(f"{self._backbone.kind.backbone} gives {what} for image_id {one.image_id!r}")
            self._store.add(one.image_hash, row)
        self._done.computed += len(self._batch)
        self._batch.clear()


def _unusable(found: DatasetImages, missing: list[str], broken: dict[str, str]) -> InputError:
    total, reasons = len(found.image_ids), []
    if missing:
        reasons.append(f"{len(missing)} of {total} missing, with image_id {listed(missing, separator='; ')}")
    if broken:
        named = listed([f"{image_id!r} ({reason})" for image_id, reason in broken.items()], separator="; ")
        reasons.append(f"{len(broken)} of {total} broken, with image_id {named}")
    skip = "" if len(missing) + len(broken) == total else "; skip them with --skip-missing"
    return InputError(f"images in {found.location}: {'; '.join(reasons)}{skip}")
