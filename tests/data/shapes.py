"""The same questions in the shapes of well-known benchmarks."""

import base64
import io
import json

import pyarrow as pa
from PIL import Image

QUESTIONS = ["What is red?", "What is “blue”? <b>", "How many 🐈?", "Which way?"]
CHOICES = [
    ["the bus", "a car", "nothing", "it's me"],
    ["sky", "sea", "glass", "ink"],
    ["2", "two cats", "none of these", "4"],
    ["up", "down", "left, then right", "don't"],
]
LABELS = [1, 3, 0, 2]
TARGETS = [texts[label] for texts, label in zip(CHOICES, LABELS, strict=True)]
DECOYS = [
    [text for index, text in enumerate(texts) if index != label] for texts, label in zip(CHOICES, LABELS, strict=True)
]
LETTERS = [chr(ord("A") + label) for label in LABELS]
COLUMNS = {letter: [texts[index] for texts in CHOICES] for index, letter in enumerate("ABCD")}


def _lines(option, marks):
    return ["\n".join(map(option.format, marks, texts)) for texts in CHOICES]


_LINES = _lines("{}. {}", "ABCD")

SHAPES = {
    "ours": {
        "question_id": ["a", "b", "c", "d"],
        "image_id": ["7", "7", "8", "9"],
        "question": QUESTIONS,
        "choices": CHOICES,
        "label": LABELS,
    },
    "A-OKVQA": {
        "question_id": ["a", "b", "c", "d"],
        "question": QUESTIONS,
        "choices": CHOICES,
        "correct_choice_idx": LABELS,
        "direct_answers": [["red", "bus"]] * 4,
        "difficult_direct_answer": [False] * 4,
    },
    "ScienceQA": {"question": QUESTIONS, "choices": CHOICES, "answer": LABELS, "hint": [""] * 4, "topic": ["x"] * 4},
    "MMMU": {
        "id": ["a", "b", "c", "d"],
        "question": QUESTIONS,
        "options": [repr(texts) for texts in CHOICES],
        "answer": LETTERS,
        "question_type": ["multiple-choice"] * 4,
    },
    "options in json": {
        "question": QUESTIONS,
        "options": [json.dumps(texts, ensure_ascii=False) for texts in CHOICES],
        "answer": LETTERS,
    },
    "MMBench": {
        "index": [241, 252, 9, 1],
        "question": QUESTIONS,
        "hint": ["", None, "", ""],
        **COLUMNS,
        "answer": LETTERS,
        "category": ["colour", "colour", "number", "place"],
        "l2-category": ["x"] * 4,
    },
    "lower case letters in brackets": {
        "question": QUESTIONS,
        **{f"option_{letter.lower()}": texts for letter, texts in COLUMNS.items()},
        "answer": [f"({letter.lower()})" for letter in LETTERS],
    },
    "numbered columns from 1": {
        "query": QUESTIONS,
        **{f"choice{index + 1}": texts for index, texts in enumerate(COLUMNS.values())},
        "label": [label + 1 for label in LABELS],
    },
    "columns named by the label": {
        "question": QUESTIONS,
        **{f"choice{index + 1}": texts for index, texts in enumerate(COLUMNS.values())},
        "label": [f"choice{label + 1}" for label in LABELS],
    },
    "the text of the right choice": {"question": QUESTIONS, "options": CHOICES, "answer": TARGETS},
    "labels from 1": {"question": QUESTIONS, "options": CHOICES, "answer": [label + 1 for label in LABELS]},
    "labels as text": {"question": QUESTIONS, "options": CHOICES, "gold": [str(label) for label in LABELS]},
    "labels as a table without integers keeps them": {
        "question": QUESTIONS, "options": CHOICES, "label": [float(label) for label in LABELS]},
    "MedQA": {
        "question": QUESTIONS,
        "options": [dict(zip("ABCD", texts, strict=True)) for texts in CHOICES],
        "answer_idx": LETTERS,
        "answer": TARGETS,
    },
    "ARC": {
        "question": QUESTIONS,
        "choices": [{"text": texts, "label": ["1", "2", "3", "4"]} for texts in CHOICES],
        "answerKey": [str(label + 1) for label in LABELS],
    },
    "options in lettered lines": {
        "question": QUESTIONS,
        "options": _LINES,
        "answer": LETTERS,
    },
    "options in lines with brackets, answers with texts": {
        "question": QUESTIONS,
        "options": _lines("({}) {}", "abcd"),
        "answer": [f"({mark.lower()}) {text}" for mark, text in zip(LETTERS, TARGETS, strict=True)],
    },
    "options in plain lines": {
        "question": QUESTIONS, "options": ["\n".join(texts) for texts in CHOICES], "answer": TARGETS},
    "MMStar": {
        "question": [
            f"{question}\nOptions: {', '.join(f'{mark}: {text}' for mark, text in zip('ABCD', texts, strict=True))}"
            for question, texts in zip(QUESTIONS, CHOICES, strict=True)
        ],
        "answer": LETTERS,
    },
    "conversations with images": {
        "conversations": [
            [{"from": "human", "value": f"<image>\n{question}\nChoices:\n{lines}"}, {"from": "gpt", "value": answer}]
            for question, lines, answer in zip(QUESTIONS, _LINES, TARGETS, strict=True)
        ],
    },
}  # fmt: skip
"""Name to columns; all hold QUESTIONS, CHOICES and LABELS."""

WITHOUT_ORDER = {
    "SciQ": {
        "question": QUESTIONS,
        "distractor1": [decoys[0] for decoys in DECOYS],
        "distractor2": [decoys[1] for decoys in DECOYS],
        "distractor3": [decoys[2] for decoys in DECOYS],
        "correct_answer": TARGETS,
        "support": [""] * 4,
    },
    "Visual7W": {"qa_id": [1, 2, 3, 4], "question": QUESTIONS, "answer": TARGETS, "multiple_choices": DECOYS},
    "a list of distractors": {"question": QUESTIONS, "target": TARGETS, "distractors": DECOYS},
}
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
