"""A metric's folder as a gradio Space, from which ``evaluate.load("NAMESPACE/NAME")`` takes it."""

import re
from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Shipment, ShippedFile, check_name
from hf_vqa_mc.version import __version__

CARD = "README.md"


def metric_shipment(folder: Path, name: str, *, private: bool = False) -> Shipment:
    """What a push of a metric sends: all files of its folder.

    ``evaluate`` asks a Space for a module of the Space's own name, so the metric's module is called that there.

    Args:
        folder: a metric's: ``<metric>/<metric>.py`` with card, page and requirements.
        name: NAMESPACE/NAME of the Space.
        private: a new Space is to be private.

    Raises:
        InputError: the folder is none of a metric, or the name is none of a Space.
    """
    space = check_name(name).split("/")[1]
    module, card = folder / f"{folder.name}.py", folder / CARD
    for needed in (module, card):
        if not needed.is_file():
            raise InputError(f"{folder} is no metric's folder: {needed.name} is missing")
    if not re.fullmatch(r"[\w-]+", space, re.ASCII):
        raise InputError(f"{name!r}: a metric's Space is loaded as a module; expected a name without '.'")
    places = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    files = [
        ShippedFile(f"{space}.py" if place == module else place.name, place, place.stat().st_size) for place in places
    ]
    message = f"{folder.name} of hf_vqa_mc {__version__}"
    return Shipment("space", name, tuple(files), message, private, space_sdk=_sdk(card))


def _sdk(card: Path) -> str:
    from huggingface_hub import metadata_load

    sdk = (metadata_load(card) or {}).get("sdk")
    if not isinstance(sdk, str):
        raise InputError(f"{card}: the metadata names no sdk; expected such as sdk: gradio")
    return sdk
