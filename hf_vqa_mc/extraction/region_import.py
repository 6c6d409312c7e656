"""Import of published region features into the store."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.data.dataset_images import dataset_image_ids
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMPORTED, FeatureKind, RegionKind
from hf_vqa_mc.extraction.extraction import FeaturesResult, unusable
from hf_vqa_mc.extraction.region_files import stored_regions
from hf_vqa_mc.extraction.store import FeatureStore, write_index
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from datasets import DatasetDict


def import_regions(
    dataset: str,
    config: str,
    path: Path,
    *,
    output: Path = Path("vqa_mc_features"),
    skip_missing: bool = False,
    progress: Progress = silent,
    rows: "DatasetDict | None" = None,
) -> FeaturesResult:
    """Copy the region features of a dataset's images from published files to the store, and write their index.

    The features are named after the file or folder: files of one extraction, such as those of training and test
    images, belong in one folder. ``rows`` are the splits of the config if they were read already. Other arguments and
    errors are those of ``hf_vqa_mc.extraction``.
    """
    check_outside(output, "--output", [dataset, path])
    _, _, image_ids = dataset_image_ids(dataset, config, rows)
    progress("reading the dataset", 1, 1)
    records = stored_regions(path, image_ids)
    missing = [image_id for image_id in image_ids if image_id not in records]
    if not records or (missing and not skip_missing):
        raise unusable(str(path), len(image_ids), missing, {})
    name = Path(dataset).resolve().name if Path(dataset).is_dir() else dataset
    first = next(iter(records.values()))
    regions = RegionKind(1, first.most, 0.0)
    kind = FeatureKind(path.resolve().stem, IMPORTED, None, first.read().features.shape[1], "float32", regions)
    store = FeatureStore(output / kind.folder_name, kind)
    done = FeaturesResult(store.folder / file_name(f"{name}-{config}"), kind, missing=missing)
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
                raise InputError(
                    f"{record.location} has {found.features.shape[1]} dimensions, the first image has {kind.dim}; "
                    "expected features of one network"
                )
            identity = sha256(found.features.tobytes() + found.boxes.tobytes()).digest()
            done.images[image_id] = identity
            if identity not in store.locations:
                store.add(identity, found)
                done.computed += 1
            progress("importing regions", number, len(records))
    finally:
        store.commit()
    if not done.images:
        raise unusable(str(path), len(image_ids), missing, done.broken)
    about = {"dataset": name, "config": config, "missing": missing, "broken": done.broken}
    write_index(done.folder, kind, done.images, about)
    done.count_regions(store)
    return done
