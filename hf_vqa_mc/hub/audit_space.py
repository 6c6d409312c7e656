"""The audit as a Docker Space: the page of ``report.audit_server``."""

from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.version import __version__

FILES = {
    "Dockerfile": """\
FROM python:3.11-slim
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
RUN useradd --create-home --uid 1000 auditor
USER auditor
WORKDIR /home/auditor
EXPOSE 7860
CMD ["python", "-m", "hf_vqa_mc.report.audit_server", "--host", "0.0.0.0"]
""",
    "README.md": """\
---
title: Audit a benchmark
emoji: 📏
colorFrom: blue
colorTo: green
sdk: docker
app_port: 7860
pinned: false
---

# Audit a benchmark

Upload or name a multiple-choice benchmark on images, and read how much of it is answered without the image, the
question, or both. Made by `vqa-mc push space`.

Uploads are removed when their audit ends, reports after an hour. Only public datasets are read: the Space needs no
token and no secret.
""",
    "requirements.txt": f"hf_vqa_mc[study]=={__version__}\n",
}


def space_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """Card, Dockerfile and requirements."""
    files = tuple(ShippedFile(path, content.encode()) for path, content in FILES.items())
    message = f"audit of hf_vqa_mc {__version__}"
    return Shipment("space", check_name(request.name), files, message, request.private, space_sdk="docker")


SPACE = Pushable("space", space_shipment, lambda sent: f"open the Space {sent.name}", ())
