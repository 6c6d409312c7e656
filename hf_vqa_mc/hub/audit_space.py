"""The page of ``cli/audit_app.py`` as a Gradio Space."""

from pathlib import Path

from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.version import __version__

CARD = """\
---
title: Audit a benchmark
emoji: 📏
colorFrom: blue
colorTo: green
sdk: gradio
sdk_version: 6.31.0
python_version: "3.11"
app_file: app.py
pinned: false
---

# Audit a benchmark

Upload or name a multiple-choice benchmark on images, and read how much of it is answered without the image, the
question, or both. Made by `vqa-mc push space`.

Uploads are removed after an hour. Only public datasets are read: the Space needs no token and no secret.
"""


def space_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """Card, app and requirements."""
    files = (
        ShippedFile("README.md", CARD.encode()),
        ShippedFile("app.py", Path(__file__).parents[1] / "cli" / "audit_app.py"),
        ShippedFile("requirements.txt", f"hf_vqa_mc=={__version__}\n".encode()),
    )
    message = f"audit of hf_vqa_mc {__version__}"
    return Shipment("space", check_name(request.name), files, message, request.private, space_sdk="gradio")


SPACE = Pushable("space", space_shipment, lambda sent: f"open the Space {sent.name}", ())
