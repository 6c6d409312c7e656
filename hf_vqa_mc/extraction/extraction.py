"""Extraction of a dataset's image features; each distinct image is encoded once."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hf_vqa_mc.data.dataset_images import DatasetImages
from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.backbones import IMPORTED, WHOLE, Backbone, Box, FeatureKind, RegionKind, Regions
from hf_vqa_mc.extraction.pictures import decoded
from hf_vqa_mc.extraction.region_files import stored_regions
from hf_vqa_mc.extraction.store import FeatureStore, write_index
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.pictures import BrokenImage, picture_size
from hf_vqa_mc.io.prefetch import ahead
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.result import Frame, Result, frame_of


@dataclass(eq=False, repr=False)
class FeaturesResult(Result):
    """The result of a feature extraction."""

    folder: Path  #: folder of the features: argument ``features`` of `train`
    kind: FeatureKind
    images: dict[str, bytes] = field(default_factory=dict)  #: image_id to sha256
    computed: int = 0  #: number of images encoded in this run; the others were in the store, or are duplicates
    missing: list[str] = field(default_factory=list)  #: image_ids
    broken: dict[str, str] = field(default_factory=dict)  #: image_id to the reason why the image cannot be decoded
    views: dict[str, Box] = field(default_factory=dict)  #: image_id to the part of the image that a grid covers

    def report(self) -> Iterator[str]:
        """Counts, skipped images and the folder."""
        kind = self.kind
        parts = f"up to {kind.regions.most} regions of " if kind.regions else ""
        parts = f"{kind.grid}x{kind.grid} cells of " if kind.grid else parts
        shape = f"{parts}{kind.dim:,} dimensions"
        is_imported = kind.revision == IMPORTED
        verb, source = ("imported", "from ") if is_imported else ("encoded", "")
        revision = "" if is_imported else f" at revision {kind.revision[:12]}"
        found = f"{len(self.images):,} images, {self.computed:,} of them {verb} now: {shape} each ({kind.precision})"
        yield f"{found}, {source}{kind.backbone}{revision}."
        broken = [f"{image_id} ({reason})" for image_id, reason in self.broken.items()]
        for why, names in (("missing", self.missing), ("broken", broken)):
            if names:
                yield f"Skipped ({why}): {len(names):,} images, image_id {listed(names, separator='; ')}"
        yield f"features: {self.folder}"

    def to_dict(self) -> dict[str, Any]:
        """Counts, the kind of the features and the folder."""
        return {
            "folder": str(self.folder),
            **self.kind.as_json(),
            "images": len(self.images),
            "distinct": len(set(self.images.values())),
            "computed": self.computed,
            "missing": self.missing,
            "broken": self.broken,
        }

    def to_pandas(self) -> Frame:
        """One row per image: image_id, sha256 of its file, and why it was skipped ("" unless it was)."""
        skipped = {**dict.fromkeys(self.missing, "missing"), **self.broken}
        rows = [(image_id, image_hash.hex(), "") for image_id, image_hash in self.images.items()]
        rows += [(image_id, "", why) for image_id, why in skipped.items()]
        return frame_of(rows, columns=["image_id", "sha256", "skipped"])


def extract_features(
    found: DatasetImages,
    *,
    backbone: str | Backbone = "microsoft/resnet-152",
    grid: int | None = None,
    detector: str | None = None,
    output: Path = Path("vqa_mc_features"),
    skip_missing: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
    share: tuple[int, int] | None = None,
) -> FeaturesResult:
    """Compute the features of a dataset's images that are not in the store yet, and write their index.

    Computed features are kept if a run fails or is killed. ``share`` is the number of a share and the number of
    shares, to encode only these images and write no index. Other arguments and errors are those of `features`.
    """
    check_outside(output, "--output", [found.dataset])
    progress("reading the dataset", 1, 1)
    if share:
        found = replace(found, image_ids=found.image_ids[share[0] :: share[1]])
    elif found.missing and not skip_missing:
        raise _unusable(found.location, len(found.image_ids), found.missing, {})
    if detector is not None:
        model = find_backbone(detector, regions=RegionKind())
    else:
        model = find_backbone(backbone, grid) if isinstance(backbone, str) else backbone
    progress(f"loading {model.kind.backbone}", 1, 1)
    store = FeatureStore(output / model.kind.folder_name, model.kind)
    done = FeaturesResult(store.folder, model.kind, missing=found.missing)
    _encode(found, model, store, done, workers or os.cpu_count() or 1, progress)
    if share:
        return done
    if done.broken and not skip_missing:
        raise _unusable(found.location, len(found.image_ids), [], done.broken)
    views = {name: box for name, box in done.views.items() if box != WHOLE}
    return _indexed(done, store, found, found.location, {"labels": list(model.labels), "views": views})


def import_regions(
    of_dataset: DatasetImages,
    path: Path,
    *,
    output: Path = Path("vqa_mc_features"),
    skip_missing: bool = False,
    progress: Progress = silent,
) -> FeaturesResult:
    """Copy the region features of a dataset's images from published files to the store; write their index.

    They are named after the file or folder: files of one extraction belong in one folder. Other arguments and errors
    are those of `features`.
    """
    check_outside(output, "--output", [of_dataset.dataset, path])
    image_ids = of_dataset.image_ids
    progress("reading the dataset", 1, 1)
    records = stored_regions(path, image_ids)
    missing = [image_id for image_id in image_ids if image_id not in records]
    if not records or (missing and not skip_missing):
        raise _unusable(str(path), len(image_ids), missing, {})
    first = next(iter(records.values()))
    limits = RegionKind(1, first.most, 0.0)
    kind = FeatureKind(path.resolve().stem, IMPORTED, None, first.read().features.shape[1], "float32", limits)
    store = FeatureStore(output / kind.folder_name, kind)
    done = FeaturesResult(store.folder, kind, missing=missing)
    try:
        for number, (image_id, record) in enumerate(records.items(), 1):
            try:
                found = record.read()
            except InputError as error:
                if not skip_missing:
                    raise
                done.broken[image_id] = str(error)
                continue
            if found.features.shape[1] != kind.dim:
                dims = f"{found.features.shape[1]} dimensions, the first image has {kind.dim}"
                raise InputError(f"{record.location} has {dims}; expected features of one network")
            identity = sha256(found.features.tobytes() + found.boxes.tobytes()).digest()
            done.images[image_id] = identity
            if identity not in store.locations:
                store.add(identity, found)
                done.computed += 1
            progress("importing regions", number, len(records))
    finally:
        store.commit()
    return _indexed(done, store, of_dataset, str(path), {})


def _indexed(
    done: FeaturesResult, store: FeatureStore, of_dataset: DatasetImages, location: str, about: dict[str, Any]
) -> FeaturesResult:
    """Write the index; raises InputError if no image has features."""
    if not done.images:
        raise _unusable(location, len(done.missing) + len(done.broken), done.missing, done.broken)
    dataset, config = of_dataset.dataset, of_dataset.config
    name = Path(dataset).resolve().name if Path(dataset).is_dir() else dataset
    of = {"dataset": name, "config": config, "missing": done.missing, "broken": done.broken}
    done.folder = store.folder / file_name(f"{name}-{config}")
    write_index(done.folder, done.kind, done.images, of | about)
    return done


def _encode(
    found: DatasetImages, model: Backbone, store: FeatureStore, done: FeaturesResult, workers: int, progress: Progress
) -> None:
    """Read all images, encode new ones, and fill ``store`` and ``done``; computed features are kept if interrupted."""
    wanted = [image_id for image_id in found.image_ids if image_id in found.source]
    step = f"features ({model.kind.backbone})"
    new: dict[bytes, tuple[str, Any]] = {}  # sha256 to image_id and preprocessed image of the next batch
    taken: set[bytes] = set()

    def read(image_id: str) -> tuple[bytes, Box, Any] | str:
        """Sha256, view, and the preprocessed image, None if its features are known; or why it cannot be read."""
        try:
            content = found.source.read(image_id)
            image_hash = sha256(content).digest()
            view = WHOLE if model.kind.grid is None else model.view(picture_size(content))
            is_known = image_hash in store.locations or image_hash in taken
            return image_hash, view, None if is_known else model.prepare(decoded(content))
        except (OSError, InputError, BrokenImage) as error:
            return getattr(error, "strerror", None) or str(error)

    try:
        with contextlib.closing(ahead(read, wanted, 2 * model.batch_size + workers, workers)) as images:
            for number, (image_id, one) in enumerate(zip(wanted, images, strict=True), 1):
                if isinstance(one, str):
                    done.broken[image_id] = one
                else:
                    done.images[image_id], done.views[image_id], prepared = one
                    if prepared is not None and one[0] not in taken:
                        taken.add(one[0])
                        new[one[0]] = image_id, prepared
                if new and (len(new) == model.batch_size or number == len(wanted)):
                    features = model.encode_prepared([prepared for _, prepared in new.values()])
                    for (image_hash, (name, _)), of_image in zip(new.items(), features, strict=True):
                        values = of_image.features if isinstance(of_image, Regions) else of_image
                        if not np.isfinite(values).all():
                            fault = f"gives non-finite features for image_id {name!r}; remove the image"
                            raise InputError(f"{model.kind.backbone} {fault}")
                        store.add(image_hash, of_image)
                    done.computed += len(new)
                    new.clear()
                if number < len(wanted):
                    progress(step, number, len(wanted))
    finally:
        store.commit()
    progress(step, len(wanted), len(wanted))


def _unusable(location: str, total: int, missing: list[str], broken: dict[str, str]) -> InputError:
    """The error for images that are missing or broken, of so many in all."""
    reasons = []
    if missing:
        reasons.append(f"{len(missing)} of {total} missing, with image_id {listed(missing, separator='; ')}")
    if broken:
        named = listed([f"{image_id!r} ({reason})" for image_id, reason in broken.items()], separator="; ")
        reasons.append(f"{len(broken)} of {total} broken, with image_id {named}")
    skip = "" if len(missing) + len(broken) == total else "; skip them with --skip-missing"
    return InputError(f"images in {location}: {'; '.join(reasons)}{skip}")
