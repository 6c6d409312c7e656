"""Small studies, and annotators that answer them."""

import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
from PIL import Image

import hf_vqa_mc as vm
from hf_vqa_mc.studies.kind import Item
from hf_vqa_mc.studies.store import Page, Study
from hf_vqa_mc.studies.web import Pages, Server

CHOICES = ("red", "green", "blue", "black")


def picture(number: int) -> bytes:
    """An image file of one colour."""
    content = io.BytesIO()
    Image.new("RGB", (24, 16), (number * 37 % 256, number * 91 % 256, 120)).save(content, format="PNG")
    return content.getvalue()


def benchmark(rows: int = 12) -> pd.DataFrame:
    """Rows with four choices, of which the label takes each position."""
    return pd.DataFrame(
        {
            "question_id": [f"q{row}" for row in range(rows)],
            "image_id": [f"image {row}" for row in range(rows)],
            "image": [{"bytes": picture(row), "path": None} for row in range(rows)],
            "question": [f"What colour is thing {row}?" for row in range(rows)],
            "choices": [list(CHOICES)] * rows,
            "label": [row % 4 for row in range(rows)],
        }
    )


def new_study(folder: Path, kind: str = "conditions", rows: int = 12, dataset: Any = None, **options: Any) -> Path:
    """The file of a new study."""
    path = folder / f"{kind}.sqlite"
    vm.study_create(benchmark(rows) if dataset is None else dataset, kind=kind, output=path, **options)
    return path


def right(study: Study, item: Item) -> Any:
    """The correct answer to an item or an attention check, in the study's form."""
    if item.control:
        expected, form = item.known["expected"], study.kind.form
        return {"text": expected, "confidence": "yes" if form.confidence else ""} if form.name == "write" else expected
    label = item.known.get("label", 0)
    return {
        "choose": label,
        "image": 0,
        "mark": {"correct": [label], "unsure": []},
        "write": {
            "text": item.known.get("answers", ["red"])[0],
            "confidence": "yes" if study.kind.form.confidence else "",
        },
    }[study.kind.form.name]


def answer_page(study: Study, annotator: int, page: Page, seed: int | None = None) -> None:
    """Answer all questions of a page: correctly, or with a seed at random."""
    rng = random.Random(seed)
    for task in page.tasks:
        value = right(study, task.item)
        if seed is not None and not task.item.control:
            value = rng.randrange(study.size(task.item, page.condition))
        assert study.save(annotator, task.id, value, 2.0)


def answer_all(study: Study, annotators: int, seed: int | None = None) -> None:
    """Let so many annotators answer whatever they are given."""
    for number in range(annotators):
        annotator = study.annotator(study.join())
        while page := study.next_page(annotator):
            answer_page(study, annotator, page, None if seed is None else seed + number)


@contextmanager
def serving(study: Study, joinable: bool = True) -> Iterator[str]:
    """Serve a study on a free port of this computer, in a thread, until the end of the block; the address."""
    with Server(Pages(study, joinable), "127.0.0.1", 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
