"""Where a build writes: a folder known by its inventory, which is replaced when the new one is whole."""

from contextlib import AbstractContextManager
from pathlib import Path

from hf_vqa_mc.dataset.inventory import INVENTORY, read_inventory
from hf_vqa_mc.io import atomic_folder
from hf_vqa_mc.io.atomic_folder import FolderKind, Place

BUILT = FolderKind("vqa-mc build", INVENTORY, lambda folder: read_inventory(folder) is not None)
"""What ``vqa-mc build`` and ``vqa-mc remedy`` write, and only that they replace."""


def check_output(output: Path) -> None:
    """Nothing, if a dataset folder can be put there: nothing is there yet, an empty folder, or one of ours.

    Raises:
        InputError: the folder around it is missing, or something else is there (which is then left alone).
    """
    atomic_folder.check_output(output, BUILT)


def written_beside(output: Path) -> AbstractContextManager[Place]:
    """A place to write a new tree for ``output``; what is not published by the end of the block is removed.

    Raises:
        InputError: as ``check_output``.
        OSError: the disk is full or closed to us; one sentence, and the output is as it was.
    """
    return atomic_folder.written_beside(output, BUILT)
