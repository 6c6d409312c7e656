"""Extraction of a dataset's image features; each distinct image is encoded once."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hf_vqa_mc.data.dataset_images import DatasetImages, find_images
from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.backbones import WHOLE, Backbone, Box, FeatureKind, RegionKind
from hf_vqa_mc.extraction.pictures import decoded
from hf_vqa_mc.extraction.regions import FEWEST, MOST, THRESHOLD, Regions
from hf_vqa_mc.extraction.store import FeatureStore, ImageFeatures, write_index
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.pictures import BrokenImage, picture_size
from hf_vqa_mc.io.prefetch import ahead
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.result import Frame, Result, frame_of

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass(eq=False, repr=False)
class FeaturesResult(Result):
    """The result of a feature extraction."""

    folder: Path
    """folder of the features: argument ``features`` of `train`"""
    kind: FeatureKind
    images: dict[str, bytes] = field(default_factory=dict)
    """image_id to sha256"""
    computed: int = 0
    """number of images encoded in this run; the others were in the store, or are duplicates"""
    missing: list[str] = field(default_factory=list)
    """image_ids"""
    broken: dict[str, str] = field(default_factory=dict)
    """image_id to the reason why the image cannot be decoded"""
    views: dict[str, Box] = field(default_factory=dict)
    """image_id to the part of the image that a grid covers"""
    region_counts: tuple[int, int] | None = None
    """minimum and maximum number of regions per image; None for other features"""

    def report(self) -> Iterator[str]:
        """Counts, skipped images and the folder."""
        kind = self.kind
        size = f"{kind.dim:,} dimensions"
        shape = size if kind.grid is None else f"{kind.grid}x{kind.grid} cells of {size}"
        if self.region_counts is not None:
            fewest, most = self.region_counts
            shape = f"{most} regions of {size}" if fewest == most else f"{fewest} to {most} regions of {size}"
        verb, source = ("imported", "from ") if kind.is_imported else ("encoded", "")
        revision = "" if kind.is_imported else f" at revision {kind.revision[:12]}"
        yield (
            f"{len(self.images):,} images, {self.computed:,} of them {verb} now: {shape} each ({kind.precision}), "
            f"{source}{kind.backbone}{revision}."
        )
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
            **({} if self.region_counts is None else {"regions_per_image": list(self.region_counts)}),
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

    def count_regions(self, store: FeatureStore) -> None:
        """Measure `region_counts`."""
        counts = store.region_counts([store.locations[image_hash] for image_hash in set(self.images.values())])
        if counts:
            self.region_counts = min(counts), max(counts)

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy these features to another folder, which ``output`` of `features` could be."""
        return ImageFeatures(self.folder).copy_to(Path(path) / self.folder.parent.name / self.folder.name)


def extract_features(
    dataset: str,
    config: str,
    *,
    images: Path | None = None,
    backbone: str | Backbone = "microsoft/resnet-152",
    grid: int | None = None,
    detector: str | None = None,
    output: Path = Path("vqa_mc_features"),
    skip_missing: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
    rows: "DatasetDict | None" = None,
    share: tuple[int, int] | None = None,
) -> FeaturesResult:
    """Compute the features of a dataset's images that are not in the store yet, and write their index.

    Computed features are kept if a run fails or is killed. ``rows`` are the splits of the config if they were read
    already; ``share`` is the number of a share and the number of shares, to encode only these images and write no
    index. Other arguments and errors are those of ``hf_vqa_mc.extraction``.
    """
    check_outside(output, "--output", [path for path in (dataset, images) if path is not None])
    found = find_images(dataset, config, images, rows)
    progress("reading the dataset", 1, 1)
    if share:
        found = replace(found, image_ids=found.image_ids[share[0] :: share[1]])
    elif found.missing and not skip_missing:
        raise unusable(found.location, len(found.image_ids), found.missing, {})
    model = _model(backbone, grid, detector)
    progress(f"loading {model.kind.backbone}", 1, 1)
    store = FeatureStore(output / model.kind.folder_name, model.kind)
    where = Path(dataset).resolve().name if Path(dataset).is_dir() else dataset
    done = FeaturesResult(store.folder / file_name(f"{where}-{config}"), model.kind, missing=found.missing)
    _encode(found, model, store, done, workers or os.cpu_count() or 1, progress)
    if share:
        return done
    if done.broken and not skip_missing:
        raise unusable(found.location, len(found.image_ids), [], done.broken)
    if not done.images:
        raise unusable(found.location, len(found.image_ids), done.missing, done.broken)
    about = {"dataset": where, "config": config, "missing": done.missing, "broken": done.broken}
    about |= {"labels": list(model.labels), "views": {name: box for name, box in done.views.items() if box != WHOLE}}
    write_index(done.folder, model.kind, done.images, about)
    done.count_regions(store)
    return done


def _model(backbone: str | Backbone, grid: int | None, detector: str | None) -> Backbone:
    if detector is not None:
        return find_backbone(detector, regions=RegionKind(FEWEST, MOST, THRESHOLD))
    return find_backbone(backbone, grid) if isinstance(backbone, str) else backbone


class _Image(NamedTuple):
    image_id: str
    image_hash: bytes = b""
    prepared: Any = None
    """preprocessed; None if its features are known already"""
    view: Box = WHOLE
    error: str = ""


def _encode(
    found: DatasetImages,
    backbone: Backbone,
    store: FeatureStore,
    done: FeaturesResult,
    workers: int,
    progress: Progress,
) -> None:
    """Read all images, encode new ones, and fill ``store`` and ``done``; computed features are kept if interrupted."""
    wanted = [image_id for image_id in found.image_ids if image_id in found.source]
    step = f"features ({backbone.kind.backbone})"
    taken: set[bytes] = set()
    batch: list[_Image] = []

    def read(image_id: str) -> _Image:
        try:
            content = found.source.read(image_id)
        except (OSError, InputError) as error:
            return _Image(image_id, error=getattr(error, "strerror", None) or str(error))
        image_hash = sha256(content).digest()
        try:
            view = WHOLE if backbone.kind.grid is None else backbone.view(picture_size(content))
            if image_hash in store.locations or image_hash in taken:
                return _Image(image_id, image_hash, view=view)
            return _Image(image_id, image_hash, backbone.prepare(decoded(content)), view)
        except BrokenImage as error:
            return _Image(image_id, image_hash, error=str(error))

    try:
        with contextlib.closing(ahead(read, wanted, 2 * backbone.batch_size + workers, workers)) as images:
            for number, one in enumerate(images, 1):
                if one.error:
                    done.broken[one.image_id] = one.error
                else:
                    done.images[one.image_id] = one.image_hash
                    done.views[one.image_id] = one.view
                    if one.prepared is not None and one.image_hash not in taken:
                        taken.add(one.image_hash)
                        batch.append(one)
                if batch and (len(batch) == backbone.batch_size or number == len(wanted)):
                    _add_features(backbone, batch, store)
                    done.computed += len(batch)
                    batch.clear()
                if number < len(wanted):
                    progress(step, number, len(wanted))
    finally:
        store.commit()
    progress(step, len(wanted), len(wanted))


def _add_features(backbone: Backbone, batch: list[_Image], store: FeatureStore) -> None:
    for one, found in zip(batch, backbone.encode_prepared([one.prepared for one in batch]), strict=True):
        row = found.features if isinstance(found, Regions) else found
        is_shaped = row.shape == (backbone.kind.shape if row is found else (len(row), backbone.kind.dim))
        if not is_shaped or not np.isfinite(row).all():
            what = "features that are not finite" if is_shaped else f"features of shape {row.shape}"
            raise InputError(f"{backbone.kind.backbone} gives {what} for image_id {one.image_id!r}; remove the image")
        store.add(one.image_hash, found)


def unusable(location: str, total: int, missing: list[str], broken: dict[str, str]) -> InputError:
    """The error for images that are missing or broken, of so many in all."""
    reasons = []
    if missing:
        reasons.append(f"{len(missing)} of {total} missing, with image_id {listed(missing, separator='; ')}")
    if broken:
        named = listed([f"{image_id!r} ({reason})" for image_id, reason in broken.items()], separator="; ")
        reasons.append(f"{len(broken)} of {total} broken, with image_id {named}")
    skip = "" if len(missing) + len(broken) == total else "; skip them with --skip-missing"
    return InputError(f"images in {location}: {'; '.join(reasons)}{skip}")
