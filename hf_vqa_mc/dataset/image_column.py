"""``with_images`` adds an image column to rows; images are read lazily."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hf_vqa_mc.dataset.image_files import NAMED
from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.dataset.stored_images import StoredImages, image_address, stored_images
from hf_vqa_mc.errors import InputError, listed

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

Rows = TypeVar("Rows", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")

IMAGES_SUFFIX = "_images"


def with_images(ds: Rows, images: str | Path | None = None) -> Rows:
    """Add a column ``image`` of type `datasets.Image`; an image is read when its row is.

    Args:
        ds: rows of any ``<source>_<variant>`` config, streamed or not.
        images: the folder or Hub repository with the ``<source>_images`` config (``"vqa_mc"``,
            ``"NAMESPACE/vqa_mc"``), or that config's folder. By default that of ``ds``: its Hub repository, else
            ``./vqa_mc``.

    Raises:
        InputError: there is no images config, or it lacks some of the rows' images.
    """
    if isinstance(ds, dict):
        return type(ds)({split: with_images(rows, images) for split, rows in ds.items()})
    if "image" in (ds.column_names or ()):
        return ds
    folder = images_folder(ds, images)
    try:
        stored = stored_images(folder)
    except FileNotFoundError as error:
        raise InputError(f"with_images: {error}; build them with vqa-mc build ... --images DIR") from None
    return _with_addresses(ds, folder, stored)


def _with_addresses(ds: Any, folder: str, stored: StoredImages) -> Any:  # noqa: ANN401  mypy cannot narrow Rows
    from datasets import Dataset, Features, Image

    features = None if ds.features is None else Features({**ds.features, "image": Image()})
    if not isinstance(ds, Dataset):

        def add(row: dict[str, Any]) -> dict[str, Any]:
            return {"image": {"bytes": None, "path": image_address(folder, row["image_id"])}}

        # map(features=...) would not decode the column, and images would stay addresses
        rows = ds.map(add)
        return rows.cast(features) if features else rows.cast_column("image", Image())
    image_ids = list(ds.with_format(None)["image_id"])
    if missing := sorted({image_id for image_id in image_ids if image_id not in stored}):
        raise InputError(
            f"with_images: {len(missing)} of the images are not in {folder}: image_id {listed(missing, NAMED)}; build "
            "both from the same source"
        )
    addresses = [image_address(folder, image_id) for image_id in image_ids]
    return ds.add_column("image", addresses).cast_column("image", Image())


def images_folder(ds: Any, images: str | Path | None) -> str:  # noqa: ANN401  any of Rows
    """The folder, or fsspec address, of the images config of these rows."""
    config = ds.info.config_name or ""
    where = origin(ds) if images is None else str(images)
    if where is None:
        raise InputError(
            f"with_images: the rows do not record their origin and {Path.cwd()} has no built folder "
            f'{ds.info.dataset_name or "vqa_mc"}; name it: with_images(ds, images="path/to/vqa_mc")'
        )
    if Path(where).is_dir():
        where = str(Path(where).absolute())
    elif "://" not in where and where.count("/") == 1:
        where = f"hf://datasets/{where}"
    if Path(where).name.endswith(IMAGES_SUFFIX):
        return where
    return f"{where}/{_images_config(config, where)}"


def _images_config(config: str, where: str) -> str:
    """The longest matching images config, such as ``vqa_minus_images`` for ``vqa_minus_iou_qou``."""
    import fsspec

    file_system, root = fsspec.url_to_fs(where)
    names = [Path(path).name for path in (file_system.ls(root, detail=False) if file_system.isdir(root) else [])]
    found = sorted((name for name in names if name.endswith(IMAGES_SUFFIX)), key=len)
    fitting = [name for name in found if f"{config}_".startswith(name.removesuffix("images"))]
    if not fitting and not config and len(found) == 1:
        fitting = found
    if not fitting:
        raise InputError(
            f"with_images: {where} has no images for {config or 'these rows'}"
            + (f" (it has {', '.join(found)})" if found else "")
            + "; build them with vqa-mc build SOURCE --images DIR"
        )
    return fitting[-1]


def origin(ds: Any) -> str | None:  # noqa: ANN401  any of Rows
    """The Hub repository from which rows were loaded, else the built folder of that name in the current directory."""
    name = ds.info.dataset_name or "vqa_mc"
    for repository in getattr(ds, "_token_per_repo_id", None) or ():  # set by datasets for streamed rows
        return str(repository)
    for file in getattr(ds, "cache_files", ()):  # .../<namespace>___<name>/<config>/<version>/<hash>/<file>
        for part in Path(file["filename"]).parts:
            if part.endswith(f"___{name}"):
                return part.replace("___", "/")
    return str(Path(name).absolute()) if read_inventory(Path(name)) else None
