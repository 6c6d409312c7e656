"""A dataset folder in an object store, which cannot rename folders: its card is written last."""

from collections.abc import Callable
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from hf_vqa_mc.dataset.card import CARD
from hf_vqa_mc.dataset.inventory import Inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.manifest import MANIFEST, files_in
from hf_vqa_mc.io.storage import Storage


def check_remote(output: Storage, overwrite: bool) -> None:
    """Raise InputError unless the output can be written and is new, or may be replaced."""
    if not overwrite and output.exists() and output.names():
        raise InputError(
            f"{output.path()}: holds files already; choose another location, or --overwrite to replace it"
        )
    output.check_writable()


def write_remote(
    output: Storage, write: Callable[[Path], Inventory], place: Callable[[Storage], None], overwrite: bool
) -> Inventory:
    """Write a dataset folder on this machine and upload it; without its card it is not complete.

    Args:
        output: the folder in the object store.
        write: writes the folder except files that are placed.
        place: puts other files into the output.
        overwrite: remove what the output holds first.
    """
    with TemporaryDirectory(prefix="vqa-mc-") as temporary:
        folder = Path(temporary, PurePath(output.location).name)
        inventory = write(folder)
        if overwrite:
            output.remove()
        place(output)
        for name in sorted(set(files_in(folder)) - {MANIFEST}, key=lambda name: name == CARD):
            output.put(name, folder / name)
    return inventory
