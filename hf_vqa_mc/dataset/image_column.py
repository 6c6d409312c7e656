"""The images beside the questions: ``with_images`` adds a column that is read only when looked at."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hf_vqa_mc.dataset.image_files import NAMED
from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.dataset.stored_images import StoredImages, image_address, stored_images
from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

Rows = TypeVar("Rows", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")

IMAGES_SUFFIX = "_images"


def with_images(ds: Rows, images: str | Path | None = None) -> Rows:
    """The same rows with a column ``image``, in ``load_dataset``'s image type; an image is read when its row is.

    Args:
        ds: rows of any ``<source>_<variant>`` config, streamed or not.
        images: the folder or Hub repository whose ``<source>_images`` config holds them (``"vqa_mc"``,
            ``"NAMESPACE/vqa_mc"``), or that config's own folder. By default where ``ds`` was loaded from: the Hub
            repository, else ``./vqa_mc``.

    Raises:
        InputError: no images config is found, or it lacks some of the rows' images.
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

        # Features named in map would be taken for already applied, and the image would stay an address.
        rows = ds.map(add)
        return rows.cast(features) if features else rows.cast_column("image", Image())
    image_ids = list(ds.with_format(None)["image_id"])
    if missing := sorted({image_id for image_id in image_ids if image_id not in stored}):
        raise InputError(
            f"with_images: {len(missing)} of the images are not in {folder}, the first with image_id "
            f"{', '.join(missing[:NAMED])}; was it built from the same source?"
        )
    addresses = [image_address(folder, image_id) for image_id in image_ids]
    return ds.add_column("image", addresses).cast_column("image", Image())


def images_folder(ds: Any, images: str | Path | None) -> str:  # noqa: ANN401  any of Rows
    """The folder, or fsspec address, of the images config that belongs to these rows."""
    config = ds.info.config_name or ""
    where = origin(ds) if images is None else str(images)
    if where is None:
        raise InputError(
            f"with_images: no built folder ./{ds.info.dataset_name or 'vqa_mc'} here ({Path.cwd()}) and the rows do "
            'not say where they are from; name it: with_images(ds, images="path/to/vqa_mc")'
        )
    if Path(where).is_dir():
        where = str(Path(where).absolute())
    elif "://" not in where and where.count("/") == 1:
        where = f"hf://datasets/{where}"
    if Path(where).name.endswith(IMAGES_SUFFIX):
        return where
    return f"{where}/{_images_config(config, where)}"


def _images_config(config: str, where: str) -> str:
    """``vqa_minus_images`` for ``vqa_minus_iou_qou``: the longest of the images configs there that fits.

    A source's own name is that of an open-ended config: ``tdiuc_images`` for ``tdiuc``.
    """
    import fsspec

    file_system, root = fsspec.url_to_fs(where)
    there = [Path(path).name for path in (file_system.ls(root, detail=False) if file_system.isdir(root) else [])]
    offered = sorted((name for name in there if name.endswith(IMAGES_SUFFIX)), key=len)
    fitting = [name for name in offered if f"{config}_".startswith(name.removesuffix("images"))]
    if not fitting and not config and len(offered) == 1:
        fitting = offered
    if not fitting:
        raise InputError(
            f"with_images: {where} has no images for {config or 'these rows'}"
            + (f" (it has {', '.join(offered)})" if offered else "")
            + "; build them with vqa-mc build SOURCE --images DIR"
        )
    return fitting[-1]


def origin(ds: Any) -> str | None:  # noqa: ANN401  any of Rows
    """The Hub repository that the rows were loaded from, else the built folder of that name here."""
    name = ds.info.dataset_name or "vqa_mc"
    for repository in getattr(ds, "_token_per_repo_id", None) or ():  # how datasets remembers it of streamed rows
        return str(repository)
    for file in getattr(ds, "cache_files", ()):  # .../<namespace>___<name>/<config>/<version>/<hash>/<file>
        for part in Path(file["filename"]).parts:
            if part.endswith(f"___{name}"):
                return part.replace("___", "/")
    return str(Path(name).absolute()) if read_inventory(Path(name)) else None
