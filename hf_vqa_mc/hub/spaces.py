"""Gradio Spaces: a metric's folder, for ``evaluate.load("NAMESPACE/NAME")``, and the page of ``cli/audit_app.py``."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.scoring.metric_folders import metric_folder
from hf_vqa_mc.version import __version__

CARD = "README.md"
GENERATED = {
    "app.py": '"""The page of this Space."""\n\nfrom hf_vqa_mc.scoring.metric_folders import launch\n\n'
    'launch("{name}")\n',
    "requirements.txt": "hf_vqa_mc\n",
}
"""Files of a Space that a metric's folder may leave out."""
AUDIT_CARD = """\
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


def metric_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """All files of a metric's folder, and app and requirements unless it has its own.

    The Space has the metric's name, since ``evaluate`` imports the module of that name.
    """
    from huggingface_hub import metadata_load

    name = check_name(request.name).split("/")[1]
    folder = metric_folder(name)
    contents: dict[str, Path | bytes] = {file: text.format(name=name).encode() for file, text in GENERATED.items()}
    contents |= {path.name: path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    for needed in (f"{name}.py", CARD):  # of a metric of another package
        if needed not in contents:
            raise InputError(f"{folder} is not a metric folder: {needed} is missing")
    sdk = (metadata_load(folder / CARD) or {}).get("sdk")
    if not isinstance(sdk, str):
        raise InputError(f"{folder / CARD}: the metadata has no sdk; expected, for example, sdk: gradio")
    files = tuple(ShippedFile(file, content) for file, content in sorted(contents.items()))
    return Shipment("space", request.name, files, f"{name} of hf_vqa_mc {__version__}", request.private, space_sdk=sdk)


METRIC = Pushable("metric", metric_shipment, lambda shipment: f'evaluate.load("{shipment.name}")', ())


def space_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """Card, app and requirements."""
    files = (
        ShippedFile("README.md", AUDIT_CARD.encode()),
        ShippedFile("app.py", Path(__file__).parents[1] / "cli" / "audit_app.py"),
        ShippedFile("requirements.txt", f"hf_vqa_mc=={__version__}\n".encode()),
    )
    message = f"audit of hf_vqa_mc {__version__}"
    return Shipment("space", check_name(request.name), files, message, request.private, space_sdk="gradio")


SPACE = Pushable("space", space_shipment, lambda sent: f"open the Space {sent.name}", ())
