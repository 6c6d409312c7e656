"""The same questions in the shapes of well-known benchmarks."""

import base64
import io

import pyarrow as pa
from PIL import Image

from tests.golden.layouts import CHOICE_FORMS, CHOICES, DECOYS, LABEL_FORMS, LABELS, QUESTIONS, TARGETS

__all__ = ["CHOICES", "DECOYS", "LABELS", "QUESTIONS", "TARGETS"]

FROM_1 = ("records of texts and numbers (ARC)", "columns choice1 to choice4", "from 1")
_OTHERS = (
    "list", "list in Python syntax", "list in JSON syntax", "record with a field for each choice (MedQA)",
    "columns A to D (MMBench)", "columns option_a to option_d", "options in lettered lines",
    "options in lines (a) to (d)", "options in plain lines", "options in the question, one line (MMStar)",
    "conversations with texts as answers", "as fractions", "as text", "texts", "letters in brackets",
    "conversations with letters and texts", "names of columns", "a letter and a text that agree",
)  # fmt: skip
_WITHOUT = ("distractor1 to distractor3 (SciQ)", "multiple_choices (Visual7W)", "a list of distractors")
SHAPES = {name: {**CHOICE_FORMS, **LABEL_FORMS}[name] for name in (*FROM_1, *_OTHERS)}
"""Name to columns; all hold QUESTIONS, CHOICES and LABELS."""
WITHOUT_ORDER = {name: CHOICE_FORMS[f"target and {name}"] for name in _WITHOUT}
"""The right answer and its decoys."""


def table(shape: str) -> pa.Table:
    """The columns of a shape."""
    return pa.table({**SHAPES, **WITHOUT_ORDER}[shape])


def picture(colour: str, kind: str = "PNG") -> bytes:
    """A file with a square of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (40, 40), colour).save(file, kind)
    return file.getvalue()


def as_base64(content: bytes) -> str:
    """As text."""
    return base64.b64encode(content).decode()
