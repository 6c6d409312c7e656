"""A folder that ``vqa-mc build`` wrote, as a dataset repository."""

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath

from hf_vqa_mc.dataset.inventory import INVENTORY, PREVIEW, Inventory, configs_of, pictured, read_inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Shipment, ShippedFile, check_name, other_files
from hf_vqa_mc.version import __version__

CARD = "README.md"
CHUNK = 1 << 20
Progress = Callable[[str, int, int], None]


def dataset_shipment(
    folder: Path,
    name: str,
    *,
    private: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Shipment:
    """What a push of a built dataset sends: its card, its statistics and the parquet files that these name.

    Every file is read and compared with the checksum that the build noted.

    Args:
        folder: the output of a build.
        name: NAMESPACE/NAME.
        private: a new repository is to be private.
        progress: told (step, done, total) as files are checked.

    Raises:
        InputError: the folder is none of a build, or not as the build left it; or the name is none.
    """
    check_name(name)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; make it with vqa-mc build, or name another")
    inventory = read_inventory(folder)
    if inventory is None:
        raise InputError(f"{folder}: vqa-mc build did not write this folder (it has no {INVENTORY} of ours)")
    if not inventory["sources"]:
        raise InputError(
            f"{folder} is a remedied benchmark, not a build; share it with: "
            f"hf upload {name} {folder} --repo-type dataset"
        )
    checksums = files_of(inventory, str(folder))
    if not checksums:
        raise InputError(f"{folder}: {INVENTORY} names no files; build it again")
    files = [_plain(folder, one) for one in (CARD, INVENTORY, *_picture(inventory))]
    for done, (path, sha256) in enumerate(checksums.items(), start=1):
        files.append(_checked(folder, path, sha256))
        progress("checking files", done, len(checksums))
    sources = ", ".join(sorted(inventory["sources"]))
    return Shipment(
        "dataset",
        name,
        tuple(files),
        f"{sources}, made by hf_vqa_mc {__version__}",
        private,
        left_out=other_files(folder, {file.path for file in files}),
        inventory=inventory,
    )


def files_of(inventory: Inventory, place: str) -> dict[str, str]:
    """Each data file's path, ``<config>/<file>``, and its sha256, sorted.

    Raises:
        InputError: a path leads elsewhere.
    """
    found: dict[str, str] = {}
    for name, config in configs_of(inventory).items():
        files = config.get("files")
        if not isinstance(files, dict):
            raise InputError(f"{place}: {INVENTORY} does not tell the files of {name}; build it again")
        for path, sha256 in files.items():
            parts = PurePosixPath(path).parts
            if len(parts) != 2 or parts[0] != name or ".." in parts:
                raise InputError(f"{place}: {INVENTORY} has {path!r} as a file of {name}; expected {name}/FILE")
            found[path] = str(sha256)
    return dict(sorted(found.items()))


def files_gone(
    name: str, shipment: Shipment, before: Inventory, there: Collection[str], *, replace: bool
) -> list[str]:
    """The data files, and the card's picture, of an earlier push that a new one does without.

    Args:
        name: of the repository, for messages.
        shipment: the new push.
        before: what the repository says that it holds.
        there: the paths of its files.
        replace: whether whole configs may go.

    Raises:
        InputError: the repository holds configs that the shipment lacks.
    """
    lost = sorted(configs_of(before).keys() - configs_of(shipment.inventory or before).keys())
    if lost and not replace:
        raise InputError(
            f"{name} also holds {', '.join(lost)}, which this folder lacks and a push would remove: "
            f"pull (hf download {name} --repo-type dataset --local-dir FOLDER) and build into that, or add --replace"
        )
    sent = {file.path for file in shipment.files}
    known = (*files_of(before, name), *_picture(before))
    return sorted(path for path in known if path not in sent and path in there)


def _picture(inventory: Inventory) -> tuple[str, ...]:
    return (PREVIEW,) if pictured(inventory) else ()


def _plain(folder: Path, name: str) -> ShippedFile:
    place = folder / name
    if not place.is_file():
        raise InputError(f"{folder}: {name} is missing; build it again")
    return ShippedFile(name, place, place.stat().st_size)


def _checked(folder: Path, path: str, sha256: str) -> ShippedFile:
    size, place = _plain(folder, path).size, folder / path
    digest = hashlib.sha256()
    with place.open("rb") as content:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise InputError(f"{place} is not as the build left it (another checksum in {INVENTORY}); build it again")
    return ShippedFile(path, place, size, sha256)
