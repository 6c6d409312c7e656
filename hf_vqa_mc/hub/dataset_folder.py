"""A folder that ``vqa-mc build`` or ``vqa-mc remedy`` wrote, as a dataset repository."""

import re
import warnings
import weakref
from collections.abc import Collection
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.comparison import read_audit
from hf_vqa_mc.data.cells import text_lists
from hf_vqa_mc.data.inventory import INVENTORY, Inventory, configs_of, read_inventory
from hf_vqa_mc.dataset.card import CARD
from hf_vqa_mc.dataset.card_text import title
from hf_vqa_mc.dataset.croissant import CROISSANT, croissant
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name, other_files
from hf_vqa_mc.io.outputs import AUDITS, MANIFEST, sha256_of
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.version import __version__

FOLDER = Path("vqa_mc")  # default folder of a build


def dataset_shipment(request: Request, progress: Progress) -> Shipment:
    """The files of a dataset: card, Croissant metadata, statistics and the Parquet files listed there, unchanged.

    ``croissant.json`` is made anew, with the address of the repository, the creators, the version and date of a
    release, and what audits in ./vqa_mc_audit found in these rows. A benchmark that no ``vqa-mc build`` or ``remedy``
    wrote is written as a folder first, with its rows as they are. Raises InputError if images would be missing.
    """
    given: Any = FOLDER if request.folder is None else request.folder
    is_result, is_written = hasattr(given, "remedied"), isinstance(given, Path) and read_inventory(given) is not None
    if (is_result or is_written) and (request.images is not None or request.image is not None):
        raise InputError(f"{_name(given)} has its images in its rows or none; remove --images and --image")
    if is_written:
        return _shipment(request, given, progress)
    check_name(request.name)
    with ExitStack() as stack:
        written = Path(stack.enter_context(TemporaryDirectory(prefix="vqa-mc-push-")), "dataset")
        if is_result:  # of a remedy
            given.save(written)
        else:
            _write(request, given, written, progress)
        shipment = _shipment(request, written, progress)
        weakref.finalize(shipment, stack.pop_all().close)
    return shipment


def _shipment(request: Request, folder: Path, progress: Progress) -> Shipment:
    from huggingface_hub import constants

    name, inventory = check_name(request.name), read_inventory(folder) or {}
    checksums = files_of(inventory, str(folder))
    if not checksums:
        raise InputError(f"{folder}: {INVENTORY} lists no files; build it again")
    for missing in (one for config in configs_of(inventory).values() for one in config.get("missing_images", ())):
        again = "; write the folder again" if isinstance(request.folder, Path) and folder == request.folder else ""
        alone = "or with their names alone: --image ''"
        raise InputError(f"{_name(request.folder)}: not all images can be pushed: {missing}{again}; {alone}")
    _add_audits(inventory)
    tag = re.sub(r"^v(?=\d)", "", request.tag or "")  # MLCommons expects MAJOR.MINOR.PATCH
    release = (tag, datetime.now(UTC).date().isoformat()) if tag else None
    metadata = croissant(inventory, f"{constants.ENDPOINT}/datasets/{name}", release, request.creators)
    files = [_file(folder, one) for one in (CARD, INVENTORY)]
    files.append(ShippedFile(CROISSANT, metadata.encode()))
    for done, (path, sha256) in enumerate(checksums.items(), start=1):
        files.append(_file(folder, path, sha256))
        progress("checking files", done, len(checksums))
    sources = ", ".join(sorted(inventory["sources"]))
    made_from = f"{sources}, made by" if sources else f"{title(inventory)}, written by"
    return Shipment(
        "dataset",
        name,
        tuple(files),
        f"{made_from} hf_vqa_mc {__version__}",
        request.private,
        left_out=other_files(folder, {file.path for file in files}),
        inventory=inventory,
    )


def _add_audits(inventory: Inventory) -> None:
    """Add the verdicts of ./vqa_mc_audit to the configs with the audited rows."""
    for path in sorted(AUDITS.glob("*/audit.json")):
        try:
            audit = read_audit(path)
        except InputError:  # of another version, or damaged: the config is reported to have no audit
            continue
        audited = audit["certificate"]["splits"].items()
        for config in configs_of(inventory).values():
            if audited and audited <= config.get("row_hashes", {}).items():
                found = f"Measured by vqa-mc audit on the split {audit['split']}. {audit['verdict']}"
                config["measured"] = " ".join(filter(None, [config.get("measured"), found]))


def _name(source: object) -> str:
    return str(source) if isinstance(source, Path) else "the dataset"


def _write(request: Request, source: Any, folder: Path, progress: Progress) -> None:  # noqa: ANN401  any benchmark
    """Write the rows of any benchmark as they are, with their images, to a folder to push."""
    from hf_vqa_mc.data.options import BenchmarkOptions
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.dataset.writing import write_benchmark

    if isinstance(source, Path) and not source.exists():
        raise InputError(f"there is no folder {source}; name the benchmark, a file or a folder: --folder PATH")
    if isinstance(source, Path) and (source / MANIFEST).is_file():
        raise InputError(f"{source}: not a folder of vqa-mc build or remedy (its {INVENTORY} is missing)")
    try:
        benchmark = load(BenchmarkOptions(source, images=request.images, image=request.image), progress)
    except InputError as error:
        options = "vqa-mc remedy BENCHMARK --output FOLDER has options for these, and writes a folder to push"
        raise InputError(f"{error}. {options}") from error
    for name, why in benchmark.left_out.items():
        raise InputError(f"{_name(source)}: {name} would not be pushed ({why}); remove or complete these rows first")
    hashes = {name: split.hashes for name, split in benchmark.splits.items()}
    tables = {name: split.original for name, split in benchmark.splits.items()}
    note, replaced = "", sum(map(_replaced_decoys, tables.values()))
    if replaced:
        note = (
            f"{counted(replaced, 'decoy')} replaced by vqa-mc remedy; the column choice_origins names their sources."
        )
    with warnings.catch_warnings(action="ignore"):  # of images, for which `_shipment` has an error
        write_benchmark(benchmark, tables, folder, note, changed="", hashes=hashes)


def _replaced_decoys(table: pa.Table) -> int:
    """The number of new decoys by ``choice_origins``, a column of vqa-mc remedy."""
    found = text_lists(table["choice_origins"]) if "choice_origins" in table.column_names else None
    old = () if found is None else pc.is_in(found[0], pa.array(["target", "published"])).to_pylist()
    return len(old) - sum(old)


def files_of(inventory: Inventory, location: str) -> dict[str, str]:
    """Each data file's path and sha256, sorted; raises InputError unless all paths are ``<config>/<file>``."""
    found = {path: sha256 for config in configs_of(inventory).values() for path, sha256 in config["files"].items()}
    for path in found:
        if path.count("/") != 1 or ".." in path:
            raise InputError(f"{location}: {INVENTORY} has the file {path!r}; expected CONFIG/FILE")
    return dict(sorted(found.items()))


def outdated_files(shipment: Shipment, before: Inventory, existing: Collection[str], *, replace: bool) -> list[str]:
    """The data files of an earlier push that a new push removes.

    ``before`` is the repository's inventory, ``existing`` are its files. Raises InputError if whole configs would be
    removed without ``replace``.
    """
    name = shipment.name
    lost = sorted(configs_of(before).keys() - configs_of(shipment.inventory or before).keys())
    if lost and not replace:
        raise InputError(
            f"{name} also has {', '.join(lost)}, which a push of this folder would remove: build or "
            f"remedy into a downloaded copy (hf download {name} --repo-type dataset --local-dir FOLDER; vqa-mc build "
            "... --output FOLDER --overwrite), or add --replace"
        )
    sent = {file.path for file in shipment.files}
    return sorted(path for path in files_of(before, name) if path not in sent and path in existing)


def _file(folder: Path, path: str, sha256: str | None = None) -> ShippedFile:
    """A file of the folder; raise InputError unless it has this checksum."""
    file = folder / path
    if not file.is_file():
        raise InputError(f"{folder}: {path} is missing; build it again")
    if sha256 is not None and sha256_of(file) != sha256:
        raise InputError(f"{file} was changed after the build (its checksum differs from {INVENTORY}); build it again")
    return ShippedFile(path, file, sha256)


DATASET = Pushable(
    "dataset",
    dataset_shipment,
    lambda sent: f'datasets.load_dataset("{sent.name}", "{(sent.inventory or {})["default"]}")',
    ("folder", "images", "image", "replace", "tag", "creators"),
    "not written by vqa-mc build or remedy",
)
