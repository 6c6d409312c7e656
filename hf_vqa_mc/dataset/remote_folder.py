"""A dataset folder in an object store, which cannot rename folders: its card is written last."""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from hf_vqa_mc.dataset.card import CARD
from hf_vqa_mc.dataset.croissant import CROISSANT
from hf_vqa_mc.dataset.inventory import INVENTORY, Inventory
from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.outputs import MANIFEST, files_in
from hf_vqa_mc.io.storage import Storage
from hf_vqa_mc.sources.source import source_of

_OWN = re.compile(rf"{'|'.join(map(re.escape, (CARD, INVENTORY, CROISSANT)))}|\w+/\w+-\d{{5,}}-of-\d{{5,}}\.parquet")
"""Names of the files of a dataset folder."""


def check_remote(output: Storage, source: str, overwrite: bool) -> None:
    """Raise InputError unless the output can be written and is new, or holds this source alone and may be replaced."""
    names = output.names() if output.exists() else []
    if names and not overwrite:
        raise InputError(
            f"{output.path()}: holds files already; choose another location, or --overwrite to replace {source} there"
        )
    if others := [name for name in names if not _OWN.fullmatch(name)]:
        raise InputError(
            f"{output.path()}: holds files that vqa-mc build did not write: {listed(others, 1)}; move them"
        )
    configs = {name.partition("/")[0] for name in names if "/" in name}
    if sources := {source_of(config) or config for config in configs} - {source}:
        raise InputError(
            f"{output.path()}: holds {listed(sorted(sources), 3)}, which {source} would replace; in an object store "
            "give each source a location of its own"
        )
    output.check_writable()


def write_remote(
    output: Storage,
    source: str,
    write: Callable[[Path], Inventory],
    place: Callable[[Storage], None],
    overwrite: bool,
) -> Inventory:
    """Write a dataset folder on this machine and upload it; without its card it is not complete.

    Args:
        output: the folder in the object store.
        source: name of the dataset's source.
        write: writes the folder except files that are placed.
        place: puts other files into the output.
        overwrite: remove what the output holds first.
    """
    with TemporaryDirectory(prefix="vqa-mc-") as temporary:
        folder = Path(temporary, PurePath(output.location).name)
        inventory = write(folder)
        if overwrite:
            check_remote(output, source, overwrite)
            output.remove()
        place(output)
        for name in sorted(set(files_in(folder)) - {MANIFEST}, key=lambda name: name == CARD):
            output.put(name, folder / name)
    return inventory
