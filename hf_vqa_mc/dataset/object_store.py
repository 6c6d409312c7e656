"""Outputs of a build in an object store, where folders cannot be renamed: the card is uploaded last."""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from hf_vqa_mc.data.inventory import INVENTORY, Inventory
from hf_vqa_mc.dataset.card import CARD
from hf_vqa_mc.dataset.croissant import CROISSANT
from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.cluster import Storage
from hf_vqa_mc.io.outputs import MANIFEST, files_in
from hf_vqa_mc.sources.source import source_of

PROBE = ".vqa-mc"  # A file that is written and removed to see whether a location is writable
_OUTPUT = re.compile(
    rf"{'|'.join(map(re.escape, (CARD, INVENTORY, CROISSANT, PROBE)))}|\w+/\w+-\d{{5,}}-of-\d{{5,}}\.parquet"
)
"""Names of the files of a dataset folder."""


def check_remote(output: Storage, source: str, overwrite: bool) -> None:
    """Raise InputError unless the output is new, an incomplete upload, or holds this source alone and may be replaced.

    Without the card, a dataset is not complete.
    """
    names = output.names() if output.exists() else []
    if others := [name for name in names if not _OUTPUT.fullmatch(name)]:
        raise InputError(
            f"{output.path()}: holds files that vqa-mc build did not write: {listed(others, 1)}; move them"
        )
    configs = {name.partition("/")[0] for name in names if "/" in name}
    if sources := {source_of(config) or config for config in configs} - {source}:
        raise InputError(
            f"{output.path()}: holds {listed(sorted(sources), 3)}, which {source} would replace; in an object store "
            "give each source a location of its own"
        )
    if CARD in names and not overwrite:
        raise InputError(f"{output.path()}: holds a dataset already; choose another location, or --overwrite")
    try:  # before hours of work
        for storage in (output, Storage(f"{output.path()}.partial")):
            storage.write(PROBE, b"")
            storage.remove(PROBE)
    except OSError as error:
        raise InputError(f"{output.path()}: cannot be written ({error}); give a location that can be") from error


def write_remote(
    output: Storage, source: str, write: Callable[[Path], Inventory], copy: Callable[[Storage], None], overwrite: bool
) -> Inventory:
    """Write a dataset folder here, upload it next to the output, and let the store copy it there, the card last."""
    staging = Storage(f"{output.path()}.partial")
    with TemporaryDirectory(prefix="vqa-mc-") as temporary:
        folder = Path(temporary, PurePath(output.location).name)
        inventory = write(folder)
        staging.remove()
        copy(staging)
        for name in sorted(set(files_in(folder)) - {MANIFEST}):
            staging.write(name, (folder / name).read_bytes())
    check_remote(output, source, overwrite)
    output.remove(CARD)
    output.remove()
    for name in sorted(staging.names(), key=lambda name: name == CARD):
        staging.copy(name, output, name)
    staging.remove()
    return inventory
