"""A study as a Docker Space: the same pages as ``vqa-mc study serve``, without labels and people's answers."""

from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.studies.store import Study
from hf_vqa_mc.text.markdown import one_line
from hf_vqa_mc.version import __version__

FILE = Path("study.sqlite")
"""Default file of a study."""
NEEDED = ("filelock", "fsspec", "huggingface-hub", "jinja2", "numba", "numpy", "pyarrow", "pyyaml", "regex", "rich",
          "scipy", "starlette", "typer", "uvicorn")  # fmt: skip
"""Packages that serving needs; a Space does without torch and the others."""
DOCKERFILE = """\
FROM python:3.11-slim
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt && pip install --no-cache-dir --no-deps hf_vqa_mc
RUN useradd --create-home --uid 1000 annotator && mkdir -p /data && chown annotator /data
USER annotator
COPY study.sqlite /home/annotator/
EXPOSE 7860
CMD cp -n /home/annotator/study.sqlite /data/ ; \\
    exec vqa-mc study serve /data/study.sqlite --host 0.0.0.0 --open ${STUDY_BACKUP:+--backup "$STUDY_BACKUP"}
"""
CARD = """\
---
title: {title}
emoji: 🔎
colorFrom: blue
colorTo: green
sdk: docker
app_port: 7860
pinned: false
---

# {title}

A study of {dataset}: {summary}. Made by `vqa-mc study`.

Answers are stored in `/data`, which outlives a restart only with persistent storage. Set the variable `STUDY_BACKUP`
to NAMESPACE/NAME of a private dataset repository and the secret `HF_TOKEN` to a token that may write there: answers
are then copied there every five minutes and restored after a restart. This repository has neither labels nor answers.
"""


def study_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """Card, Dockerfile, requirements and the study without annotators, answers and labels."""
    name, path = check_name(request.name), request.folder or FILE
    with closing(Study(path)) as study:
        kind, content = study.kind, study.content(without_people=True)
        card = CARD.format(title=kind.title, dataset=one_line(study.settings.dataset), summary=kind.summary)
    requirements = "".join(f"{package}=={version(package)}\n" for package in NEEDED)
    contents = {
        "Dockerfile": DOCKERFILE.encode(),
        "README.md": card.encode(),
        "requirements.txt": requirements.encode(),
        "study.sqlite": content,
    }
    files = tuple(ShippedFile(file, content) for file, content in contents.items())
    message = f"study of {kind.name}, made by hf_vqa_mc {__version__}"
    return Shipment("space", name, files, message, request.private, space_sdk="docker")


STUDY = Pushable(
    "study",
    study_shipment,
    lambda sent: f"open the Space {sent.name}; results: vqa-mc study results study.sqlite --answers COPY",
    ("folder",),
)
