"""The picture on the card of a built folder: put there once the folder is whole, as it is drawn from its rows."""

import os
from pathlib import Path

from hf_vqa_mc.dataset.card import CARD, card
from hf_vqa_mc.dataset.inventory import INVENTORY, PREVIEW, configs_of, inventory_text, read_inventory
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.atomic_file import write_bytes
from hf_vqa_mc.io.atomic_folder import locked


def put_picture(folder: Path, config: str, picture: bytes) -> Path:
    """Put a picture into a built folder and show it on its card.

    A build of the same source takes it away again, as it shows questions of the old one; builds of others keep it.

    Args:
        folder: the output of a build.
        config: whose questions it shows.
        picture: the png file.

    Returns:
        Where it lies.

    Raises:
        InputError: the folder is none of a build, or has no such config.
        OSError: it cannot be written.
    """
    place = Path(os.path.realpath(folder))
    with locked(place):  # no build exchanges the folder meanwhile
        inventory = read_inventory(place)
        if inventory is None:
            raise InputError(f"{folder}: vqa-mc build did not write this folder (it has no {INVENTORY} of ours)")
        if config not in configs_of(inventory):
            raise unknown_name(f"config of {folder}", config, configs_of(inventory))
        inventory = {**inventory, "preview": {"config": config}}
        write_bytes(place / PREVIEW, picture)  # first: the card must not name a picture that is not there
        write_bytes(place / INVENTORY, inventory_text(inventory).encode())
        write_bytes(place / CARD, card(inventory).encode())
    return place / PREVIEW
