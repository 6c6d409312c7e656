"""Small made-up benchmarks in every layout, form of labels, kind of file and kind of object that the reader takes.

Columns are those of a table in a parquet file; ``SOURCES`` write other files or make objects. The golden file holds
what the reader makes of each: rows, or that it raises InputError.
"""

import base64
import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value

Columns = dict[str, list[Any]]

QUESTIONS = ["What is red?", "What is “blue”? <b>", "How many 🐈?", "Which way?"]
CHOICES = [
    ["the bus", "a car", "nothing", "it's me"],
    ["sky", "sea", "glass", "ink"],
    ["2", "two cats", "none of these", "4"],
    ["up", "down", "left, then right", "don't"],
]
LABELS = [1, 3, 0, 2]
NAMES = "ABCD"
TARGETS = [texts[label] for texts, label in zip(CHOICES, LABELS, strict=True)]
DECOYS = [texts[:label] + texts[label + 1 :] for texts, label in zip(CHOICES, LABELS, strict=True)]
LETTERS = [NAMES[label] for label in LABELS]
FROM_1 = [label + 1 for label in LABELS]
BY_LETTER = {name: [texts[index] for texts in CHOICES] for index, name in enumerate(NAMES)}
LIST: Columns = {"question": QUESTIONS, "choices": CHOICES}
LABELLED: Columns = {**LIST, "label": LABELS}


def in_lines(form: str, names: str = NAMES, choices: list[list[str]] = CHOICES) -> list[str]:
    """The choices of each row in lettered lines."""
    return ["\n".join(form.format(name, text) for name, text in zip(names, texts, strict=True)) for texts in choices]


def columns_named(form: str, names: Any = NAMES) -> Columns:
    """One column for each choice."""
    return {form.format(name): [texts[index] for texts in CHOICES] for index, name in enumerate(names)}


def conversation(question: str, answer: str, *, roles: tuple[str, str] = ("human", "gpt")) -> list[dict[str, str]]:
    """Two turns as in LLaVA's files."""
    return [{"from": roles[0], "value": question}, {"from": roles[1], "value": answer}]


def llava(answers: list[str], form: str = "<image>\n{}\n{}\nAnswer with the option's letter.") -> list[Any]:
    """Four conversations."""
    texts = [form.format(question, lines) for question, lines in zip(QUESTIONS, in_lines("{}. {}"), strict=True)]
    return [conversation(text, answer) for text, answer in zip(texts, answers, strict=True)]


def picture(colour: int) -> bytes:
    """A PNG file of one pixel, the same with every version of Pillow."""
    import struct
    import zlib

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head, stored = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0), bytes([0, colour, colour, colour])
    packed = b"\x78\x01\x01" + struct.pack("<HH", len(stored), len(stored) ^ 0xFFFF) + stored
    packed += struct.pack(">I", zlib.adler32(stored))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


PICTURES = [picture(10), picture(10), picture(20), picture(30)]
BASE64 = [base64.b64encode(content).decode() for content in PICTURES]

CHOICE_FORMS: dict[str, Columns] = {
    "list": LABELLED,
    "list of whole numbers": {"question": QUESTIONS, "choices": [[1, 2, 3, 4]] * 4, "answer": LETTERS},
    "list of fractions": {"question": QUESTIONS, "choices": [[1.5, 2.0, 3.25]] * 4, "answer": ["A", "B", "C", "A"]},
    "list of unequal lengths": {
        "question": QUESTIONS, "choices": [texts[: 2 + index % 3] for index, texts in enumerate(CHOICES)],
        "label": [1, 2, 3, 0]},
    "list with empty cells": {
        "question": QUESTIONS, "choices": [["a", None, "b"], ["a", "b", ""], ["a", "b", "c"], [None, "a", "b"]],
        "label": [2, 1, 0, 1]},
    "list in Python syntax": {"question": QUESTIONS, "options": list(map(repr, CHOICES)), "answer": LETTERS},
    "tuple in Python syntax": {"question": QUESTIONS, "options": [repr(tuple(texts)) for texts in CHOICES],
                               "answer": LETTERS},
    "list in JSON syntax": {"question": QUESTIONS, "options": list(map(json.dumps, CHOICES)), "answer": LETTERS},
    "list in JSON syntax with null and numbers": {
        "question": QUESTIONS, "options": ['["a", null, 2]', "[1, 2.5]", "['it', None, 3]", '["a", "b"]'],
        "answer": ["C", "B", "A", "A"]},
    "records of texts and labels (ARC)": {
        "question": QUESTIONS, "choices": [{"text": texts, "label": list(NAMES)} for texts in CHOICES],
        "answerKey": LETTERS},
    "records of texts and numbers (ARC)": {
        "question": QUESTIONS, "choices": [{"text": texts, "label": ["1", "2", "3", "4"]} for texts in CHOICES],
        "answerKey": list(map(str, FROM_1))},
    "record with a field for each choice (MedQA)": {
        "question": QUESTIONS, "options": [dict(zip(NAMES, texts, strict=True)) for texts in CHOICES],
        "answer_idx": LETTERS, "answer": TARGETS},
    "columns A to D (MMBench)": {
        "index": [241, 252, 9, 1], "question": QUESTIONS, "hint": ["", None, "", ""], **BY_LETTER, "answer": LETTERS,
        "category": ["colour", "colour", "number", "place"], "l2-category": ["x"] * 4},
    "columns A to D with empty cells": {
        "question": QUESTIONS, "A": ["a", "a", None, "a"], "B": ["b", None, "b", ""], "C": ["c", "c", "c", "c"],
        "D": [None, "d", "", None], "answer": ["C", "D", "B", "A"]},
    "columns A to D of numbers": {
        "question": QUESTIONS, "A": [1.5, 2.0, 1.0, 7.0], "B": [2.5, 3.0, 2.0, 8.0],
        "C": [float("nan"), 4.0, 3.0, 9.0], "answer": ["B", "C", "A", "C"]},
    "columns of booleans": {"question": QUESTIONS, "A": [True] * 4, "B": [False] * 4, "answer": ["A", "B", "A", "B"]},
    "columns option_a to option_d": {"question": QUESTIONS, **columns_named("option_{}", "abcd"), "answer": LETTERS},
    "columns Choice A to Choice D": {"question": QUESTIONS, **columns_named("Choice {}"), "answer": LETTERS},
    "columns choice1 to choice4": {"query": QUESTIONS, **columns_named("choice{}", "1234"), "label": FROM_1},
    "columns option0 to option3": {"question": QUESTIONS, **columns_named("option{}", "0123"), "label": LABELS},
    "columns answer_1 to answer_4": {"question": QUESTIONS, **columns_named("answer_{}", "1234"), "label": FROM_1},
    "columns ending0 to ending3 (SWAG)": {"question": QUESTIONS, **columns_named("ending{}", "0123"), "label": LABELS},
    "columns option01 to option04": {"question": QUESTIONS, **columns_named("option{}", ["01", "02", "03", "04"]),
                                     "answer": LETTERS},
    "columns in another order": {
        "question": QUESTIONS, **dict(reversed(BY_LETTER.items())), "answer": LETTERS},
    "options in lettered lines": {"question": QUESTIONS, "options": in_lines("{}. {}"), "answer": LETTERS},
    "options in lines (a) to (d)": {"question": QUESTIONS, "options": in_lines("({}) {}", "abcd"), "answer": LETTERS},
    "options in numbered lines": {"question": QUESTIONS, "options": in_lines("{}) {}", "1234"), "answer": FROM_1},
    "options in plain lines": {
        "question": QUESTIONS, "options": ["\n".join(texts) for texts in CHOICES], "answer": TARGETS},
    "options in the question, one line (MMStar)": {
        "question": [
            f"{question}\nOptions: {', '.join(f'{name}: {text}' for name, text in zip(NAMES, texts, strict=True))}"
            for question, texts in zip(QUESTIONS, CHOICES, strict=True)],
        "answer": LETTERS},
    "options in the question, semicolons": {
        "question": [
            f"{question} Choices: {'; '.join(f'({name}) {text}' for name, text in zip('abcd', texts, strict=True))}"
            for question, texts in zip(QUESTIONS, CHOICES, strict=True)],
        "answer": LETTERS},
    "options in the question, lines and an instruction": {
        "prompt": [f"{question}\nOptions:\n{lines}\nAnswer with one letter."
                   for question, lines in zip(QUESTIONS, in_lines("{}. {}"), strict=True)],
        "answer": LETTERS},
    "options in the question after a numbered list": {
        "question": [f"1. Look.\n2. Think.\n{question}\n{lines}"
                     for question, lines in zip(QUESTIONS, in_lines("({}) {}"), strict=True)],
        "answer": LETTERS},
    "options in the question, an open question among them": {
        "question": [*(f"{question}\n{lines}" for question, lines in zip(QUESTIONS, in_lines("{}. {}"), strict=True)),
                     "Why?"],
        "answer": [*LETTERS, "because"]},
    "lists, open questions among them (MMMU)": {
        "id": ["a", "b", "c", "d", "e"], "question": [*QUESTIONS, "Why?"], "options": [*map(repr, CHOICES), "[]"],
        "answer": [*LETTERS, "17"], "question_type": [*["multiple-choice"] * 4, "open"]},
    "conversations (LLaVA)": {"id": list("abcd"), "conversations": llava(LETTERS)},
    "conversations with texts as answers": {"id": list("abcd"), "conversations": llava(TARGETS)},
    "conversations with letters and texts": {
        "conversations": llava([f"{name}. {text}" for name, text in zip(LETTERS, TARGETS, strict=True)])},
    "conversations with images and ids": {
        "id": list("abcd"), "image": [f"coco/{name}.jpg" for name in "xxyz"],
        "conversations": llava(LETTERS, "<image>\n{}\nChoices:\n{}")},
    "conversations with an open question among them": {
        "conversations": [*llava(LETTERS), conversation("Why?", "Because.")]},
    "target and distractor1 to distractor3 (SciQ)": {
        "question": QUESTIONS, **{f"distractor{1 + index}": [texts[index] for texts in DECOYS] for index in range(3)},
        "correct_answer": TARGETS, "support": [""] * 4},
    "target and Incorrect Answer 1 to 3": {
        "Question": QUESTIONS, "Correct Answer": TARGETS,
        **{f"Incorrect Answer {1 + index}": [texts[index] for texts in DECOYS] for index in range(3)}},
    "target and one distractor column": {
        "question": QUESTIONS, "answer": TARGETS, "distractor1": [texts[0] for texts in DECOYS]},
    "target and multiple_choices (Visual7W)": {
        "qa_id": [1, 2, 3, 4], "question": QUESTIONS, "answer": TARGETS, "multiple_choices": DECOYS,
        "type": ["what", "what", "how", "which"]},
    "target and a list of distractors": {"question": QUESTIONS, "target": TARGETS, "distractors": DECOYS},
    "target and a packed list of distractors": {
        "question": QUESTIONS, "target": TARGETS, "wrong_answers": list(map(json.dumps, DECOYS))},
    "target and distractors in lines": {
        "question": QUESTIONS, "best_answer": TARGETS, "incorrect_answers": ["\n".join(texts) for texts in DECOYS]},
    "numbers as target and distractors": {
        "question": QUESTIONS, "answer": ["1", "2", "3", "4"], "distractors": [["5", "6"]] * 4},
}  # fmt: skip

LABEL_FORMS: dict[str, Columns] = {
    "from 0": LABELLED,
    "from 1": {**LIST, "answer": FROM_1},
    "from 1 with unequal numbers of choices": {
        "question": QUESTIONS, "choices": [["a", "b"], ["a", "b", "c"], ["a", "b"], ["a", "b", "c", "d"]],
        "label": [1, 2, 2, 3]},
    "neither first nor last, few rows": {**LIST, "label": [1, 2, 2, 1]},
    "neither first nor last, answer_idx": {**LIST, "answer_idx": [1, 2, 2, 1]},
    "neither first nor last, 20 rows": {
        "question": [f"{n}?" for n in range(20)], "choices": [["a", "b", "c", "d"]] * 20, "label": [1, 2] * 10},
    "neither first nor last, decided by the text": {
        **LIST, "label": [1, 2, 2, 1], "answer": [texts[n] for n, texts in zip([1, 2, 2, 1], CHOICES, strict=True)]},
    "neither first nor last, decided by the text, from 1": {
        **LIST, "label": [1, 2, 2, 1], "answer": [texts[n] for n, texts in zip([0, 1, 1, 0], CHOICES, strict=True)]},
    "neither first nor last, decided by kinds": {
        **LIST, "label": [1, 2, 2, 1],
        "choice_kinds": [["target", "iou", "iou", "qou"], ["iou", "target", "qou", "qou"],
                         ["iou", "target", "qou", "iou"], ["target", "orig", "iou", "qou"]]},
    "as fractions": {**LIST, "label": list(map(float, LABELS))},
    "as text": {**LIST, "gold": list(map(str, LABELS))},
    "as text with a decimal point": {**LIST, "gold": [f"{label}.0" for label in LABELS]},
    "upper case letters": {**LIST, "answer": LETTERS},
    "lower case letters": {**LIST, "answer": [name.lower() for name in LETTERS]},
    "letters in brackets": {**LIST, "answer": [f"({name})" for name in LETTERS]},
    "letters with points and spaces": {**LIST, "answer": [f" {name}. " for name in LETTERS]},
    "texts": {**LIST, "answer": TARGETS},
    "letters and texts": {**LIST, "answer": [f"{a}. {b}" for a, b in zip(LETTERS, TARGETS, strict=True)]},
    "letters in brackets and texts": {
        **LIST, "answer": [f"({a.lower()}) {b}" for a, b in zip(LETTERS, TARGETS, strict=True)]},
    "names of columns": {
        "question": QUESTIONS, **columns_named("choice{}", "1234"), "label": [f"choice{n}" for n in FROM_1]},
    "a letter and a text that agree": {**LIST, "correct_option": LETTERS, "answer": TARGETS},
    "a letter and a text that differ": {**LIST, "correct_option": LETTERS, "answer": [texts[2] for texts in CHOICES]},
    "equal texts, the first counts": {
        "question": QUESTIONS, "choices": [["a", "b", "a"]] * 4, "answer": ["a", "b", "a", "a"]},
    "texts that are letters": {"question": QUESTIONS, "choices": [["B", "A"]] * 4, "answer": ["A", "B", "A", "B"]},
    "texts that are other numbers": {
        "question": ["a", "b"], "choices": [["1", "2", "0"], ["0", "1", "2"]], "label": ["0", "1"]},
    "numbers of choices that are numbers": {
        "question": QUESTIONS, "choices": [["10", "20", "30"]] * 4, "answer": ["10", "30", "20", "10"]},
    "booleans as text": {
        "question": QUESTIONS, "choices": [["yes", "no"]] * 4, "answer": ["yes", "no", "no", "yes"]},
    "one is hidden": {**LIST, "label": [1, -1, 0, 2]},
    "all are hidden": {**LIST, "label": [-1] * 4},
    "all are hidden, question marks": {**LIST, "answer": ["?"] * 4},
    "out of range": {**LIST, "label": [0, 1, 9, 2]},
    "no column of labels": LIST,
    **{f"column {name}": {**LIST, name: LABELS} for name in (
        "correct_choice_idx", "correct_answer_index", "answer_id", "answerKey", "gold_index", "ground_truth", "gt",
        "correct", "mc_answer", "Multiple_Choice_Answer")},
    "column of unknown name": {**LIST, "key": LABELS},
}  # fmt: skip

COLUMN_NAMES: dict[str, Columns] = {
    **{f"question in {name}": {name: QUESTIONS, "choices": CHOICES, "label": LABELS} for name in (
        "Question", "question_text", "question_stem", "problem", "stem")},
    "two columns of questions": {"query": QUESTIONS[::-1], "question": QUESTIONS, "choices": CHOICES, "label": LABELS},
    "an empty question": {**LABELLED, "question": ["a", "", "c", "d"]},
    "a missing question": {**LABELLED, "question": ["a", None, "c", "d"]},
    **{f"choices in {name}": {"question": QUESTIONS, name: CHOICES, "label": LABELS} for name in (
        "options", "multiple_choices", "answer_choices", "Answer Options", "candidates", "mc_choices", "endings")},
    **{f"ids in {name}": {**LABELLED, name: [7, 5, 6, 8]} for name in (
        "question_id", "qid", "id", "index", "pid", "uid", "sample_id", "questionIdx")},
    "ids of text": {**LABELLED, "question_id": list("dcba")},
    "repeated ids": {**LABELLED, "id": ["x", "x", "y", "z"]},
    "missing ids": {**LABELLED, "id": ["x", None, "y", "z"]},
    "repeated ids next to unique ones": {**LABELLED, "question_id": ["x", "x", "y", "z"], "index": [3, 2, 1, 0]},
    **{f"type in {name}": {**LABELLED, name: ["p", "q", None, "p"]} for name in (
        "question_type", "qtype", "type", "category", "subject", "topic", "task")},
    "answers as lists (A-OKVQA)": {
        "question_id": list("abcd"), **LIST, "correct_choice_idx": LABELS,
        "direct_answers": [["red", "bus"], ["red"], [], ["up", "up"]]},
    "answers as packed lists": {**LABELLED, "direct_answers": ["['red', 'bus']", "[]", '["a"]', ""]},
    "answers as records": {**LABELLED, "answers": [[{"answer": "red", "answer_id": 1}], [], [{"answer": "b",
                           "answer_id": 2}, {"answer": "c", "answer_id": 3}], None]},
    "kinds by name": {**LABELLED, "choice_kinds": [["iou", "target", "orig", "qou"], ["iou"] * 3 + ["target"],
                                                    ["target", "random", "set", "orig"], ["iou"] * 4]},
    "kinds by number": {**LABELLED, "choice_kinds": [[2, 0, 1, 3], [2, 2, 2, 0], [0, 4, 5, 1], [0, 0, 0, 99]]},
    "ScienceQA": {**LIST, "answer": LABELS, "hint": [""] * 4, "topic": ["x"] * 4},
    "two lists of choices": {"question": QUESTIONS, "choices": CHOICES, "options": CHOICES, "label": LABELS},
    "choices and options in the question": {
        "question": [f"{one}\nA. x\nB. y" for one in QUESTIONS], "options": [["x", "y"]] * 4,
        "answer": ["A", "B", "A", "B"]},
    "one choice": {**LABELLED, "choices": [["a"], *CHOICES[1:]]},
    "lists of lists": {"question": ["a"], "choices": [[["x"]]], "label": [0]},
    "a text that is no list": {"question": QUESTIONS, "choices": ["['x', 'y']"] * 3 + ["['x', open('/')]"],
                               "label": [0, 1, 0, 1]},
    "open-ended questions": {"question_id": list("ab"), "image_id": list("ab"), "question": ["a", "b"],
                             "answer": ["c", "d"]},
}  # fmt: skip

IMAGES: dict[str, Columns] = {
    **{f"ids in {name}": {**LABELLED, name: [7, 7, 8, 9]} for name in (
        "image_id", "img_id", "imageId", "image_index")},
    "ids of text, one empty": {**LABELLED, "image_id": ["7", "7", "", "9"]},
    "ids and bytes": {**LABELLED, "image_id": ["7", "7", None, "9"], "image": PICTURES},
    "bytes": {**LABELLED, "image": PICTURES},
    "records of bytes and path": {
        **LABELLED, "image": [{"bytes": content, "path": f"{index}.png"} for index, content in enumerate(PICTURES)]},
    "records of a path": {
        **LABELLED, "image": [{"bytes": None, "path": f"folder/{name}.png"} for name in ("a", "a", "b", "c")]},
    "lists of records": {**LABELLED, "images": [[{"bytes": one, "path": None}, {"bytes": PICTURES[3], "path": None}]
                                                for one in PICTURES]},
    "base64 text": {**LABELLED, "image": BASE64},
    "base64 text as data address": {**LABELLED, "img": [f"data:image/png;base64,{text}" for text in BASE64]},
    "base64 text, other rows by index (MMBench)": {
        "index": [5, 6, 7, 8], "question": QUESTIONS, **BY_LETTER, "answer": LETTERS,
        "image": [BASE64[0], "5", BASE64[2], "6"]},
    "paths": {**LABELLED, "image_path": ["x/a.jpg", "x/a.jpg", "y/b.jpg", "y/c.jpg"]},
    "paths with equal file names": {**LABELLED, "image_path": ["x/a.jpg", "x/a.jpg", "y/a.jpg", "y/c.jpg"]},
    "file names": {**LABELLED, "file_name": ["a.jpg", "a.jpg", "b.jpg", None]},
    "paths in the image column": {**LABELLED, "image": ["x/a.jpg", "x/a.jpg", "y/b.jpg", "y/c.jpg"]},
    "columns image_1 and image_2 (MMMU)": {
        **LABELLED, "image_1": PICTURES, "image_2": [PICTURES[3], None, PICTURES[3], None]},
    "no images, repeated questions": {
        "question": ["a", "a", "b", "a"], "choices": [["x", "y"], ["y", "x"], ["x", "y"], ["x", "z"]],
        "label": [0, 1, 0, 0]},
    "decoded_image": {**LABELLED, "decoded_image": PICTURES, "image": ["images/1.jpg"] * 4},
}  # fmt: skip

NAMED_COLUMNS: dict[str, tuple[Columns, dict[str, Any]]] = {
    "all": (
        {"frage": QUESTIONS, "eins": [t[0] for t in CHOICES], "zwei": [t[1] for t in CHOICES],
         "richtig": ["B", "A", "A", "B"], "bild": PICTURES, "nummer": [5, 6, 7, 8], "art": list("wxyz")},
        {"question": "frage", "choices": ("eins", "zwei"), "label": "richtig", "image": "bild",
         "question_id": "nummer", "question_type": "art"}),
    "choices in a list": ({"question": QUESTIONS, "liste": CHOICES, "label": LABELS}, {"choices": ("liste",)}),
    "choices in the question": (
        {"question": [f"{one}\nA. x\nB. y" for one in QUESTIONS], "options": [["x", "y"]] * 4,
         "answer": ["A", "B", "A", "B"]}, {"choices": ("question",)}),
    "image ids": ({**LABELLED, "photo": [3, 3, 4, 4]}, {"image_id": "photo"}),
    "label of several": ({**LIST, "label": LABELS, "answer": LABELS[::-1]}, {"label": "answer"}),
    "labels from 0": ({**LIST, "label": [1, 2, 2, 1]}, {"label_from": 0}),
    "labels from 1": ({**LIST, "label": [1, 2, 2, 1]}, {"label_from": 1}),
    "label of unknown name": ({**LIST, "key": LABELS}, {"label": "key"}),
    "target and decoys": (
        {"question": QUESTIONS, "gut": TARGETS, "schlecht": DECOYS}, {"label": "gut", "choices": ("schlecht",)}),
    "an unknown column": (LABELLED, {"question": "frag"}),
}  # fmt: skip

PLAIN: Columns = {"id": list("abcd"), "image_id": ["7", "7", "8", ""], "question": QUESTIONS, **BY_LETTER,
                  "answer": LETTERS, "category": ["p", "p", "", "q"]}  # fmt: skip
MIXED: Columns = {**LABELLED, "meta": [1, "a", None, {"b": [1]}], "score": [1, 2.5, None, 3]}


def records(columns: Columns) -> list[dict[str, Any]]:
    """The rows of a table."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def content(columns: Columns, kind: str) -> bytes:
    """A file's content."""
    if kind in ("parquet", "pq"):
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file)
        return file.getvalue()
    if kind in ("csv", "tsv"):
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
        return text.getvalue().encode()
    if kind == "json":
        return json.dumps(records(columns)).encode()
    return "".join(f"{json.dumps(record)}\n" for record in records(columns)).encode()


def file(name: str, columns: Columns, pack: Callable[[bytes], bytes] = bytes) -> Callable[[Path], Path]:
    """Write a file whose kind its name gives."""

    def write(folder: Path) -> Path:
        kind = next(part for part in name.lower().split(".")[1:] if part not in ("gz", "xz"))
        (folder / name).write_bytes(pack(content(columns, kind)))
        return folder / name

    return write


def text_file(name: str, written: bytes) -> Callable[[Path], Path]:
    """Write a file as given."""

    def write(folder: Path) -> Path:
        (folder / name).write_bytes(written)
        return folder / name

    return write


def files(**by_name: Columns) -> Callable[[Path], Path]:
    """Write a folder of jsonl files."""

    def write(folder: Path) -> Path:
        for name, columns in by_name.items():
            path = folder / "data" / (name if "." in name else f"{name}.jsonl")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content(columns, path.suffix[1:]))
        return folder / "data"

    return write


def folder_with_card(folder: Path) -> Path:
    """A folder with two configs of two splits."""
    data = files(**{"one-train.jsonl": PLAIN, "one-test.jsonl": PLAIN, "two.jsonl": PLAIN})(folder)
    (data / "README.md").write_text(
        "---\nconfigs:\n- config_name: one\n  data_files:\n  - split: train\n    path: one-train.jsonl\n"
        "  - split: test\n    path: one-test.jsonl\n- config_name: two\n  data_files: two.jsonl\n---\n"
    )
    return data


def image_folder(folder: Path) -> Path:
    """A folder of images with metadata.jsonl."""
    data = folder / "data"
    data.mkdir()
    for index, name in enumerate("abc"):
        (data / f"{name}.png").write_bytes(PICTURES[index + 1])
    rows = {**{name: cells[:3] for name, cells in LABELLED.items()}, "file_name": ["a.png", "b.png", "c.png"]}
    (data / "metadata.jsonl").write_bytes(content(rows, "jsonl"))
    return data


def packed_folder(folder: Path) -> Path:
    """A folder with a gzip file."""
    data = folder / "data"
    data.mkdir()
    (data / "test.jsonl.gz").write_bytes(gzip.compress(content(PLAIN, "jsonl")))
    return data


def saved_to_disk(folder: Path) -> Path:
    """A folder that `Dataset.save_to_disk` wrote."""
    Dataset.from_dict(PLAIN).save_to_disk(folder / "data")
    return folder / "data"


def next_to_images(columns: Columns) -> Callable[[Path], Path]:
    """A file next to the images that its rows name."""

    def write(folder: Path) -> Path:
        (folder / "x").mkdir()
        for index, name in enumerate("abc"):
            (folder / "x" / f"{name}.png").write_bytes(PICTURES[index + 1])
        (folder / "rows.jsonl").write_bytes(content(columns, "jsonl"))
        return folder / "rows.jsonl"

    return write


def zipped(written: bytes) -> bytes:
    """A zip archive of one file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("rows.csv", written)
    return target.getvalue()


def with_class_labels() -> Dataset:
    """A dataset with ClassLabel, as `vqa-mc build` makes it, and images."""
    kinds = ClassLabel(names=["target", "orig", "iou", "qou", "random", "set"])
    features = Features(
        question=Value("string"), choices=List(Value("string")), label=Value("int64"), choice_kinds=List(kinds),
        image=Image())  # fmt: skip
    columns = {**LABELLED, "choice_kinds": [[2, 0, 3, 1], [1, 2, 3, 0], [0, 2, 2, 2], [3, 3, 0, 3]]}
    rows = {**columns, "image": [{"bytes": one, "path": None} for one in PICTURES]}
    return Dataset.from_dict(rows, features=features)


def swapped() -> Dataset:
    """Kinds whose ClassLabel has another order."""
    kinds = ClassLabel(names=["qou", "target"])
    features = Features({**Dataset.from_dict(LABELLED).features, "choice_kinds": List(kinds)})
    columns = {**LABELLED, "choice_kinds": [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]}
    return Dataset.from_dict(columns, features=features)


SPLIT_COLUMN: Columns = {**PLAIN, "split": ["train", "val", "train", "val"]}
TWO = {"train": Dataset.from_dict(PLAIN), "validation": Dataset.from_dict(PLAIN).select([2, 0])}
HIDDEN = {**PLAIN, "answer": [""] * 4}

SOURCES: dict[str, tuple[Callable[[Path], object], dict[str, Any]]] = {
    **{f"file rows.{kind}": (file(f"rows.{kind}", PLAIN), {}) for kind in (
        "csv", "tsv", "json", "jsonl", "ndjson", "jsonlines", "parquet", "pq", "CSV")},
    **{f"file rows.{kind}.gz": (file(f"rows.{kind}.gz", PLAIN, gzip.compress), {}) for kind in (
        "csv", "tsv", "json", "jsonl", "parquet")},
    **{f"file rows.{kind}.xz": (file(f"rows.{kind}.xz", PLAIN, lzma.compress), {}) for kind in ("csv", "jsonl")},
    "file rows.csv that is a zip": (file("rows.csv", PLAIN, zipped), {}),
    "file rows.csv that is bzip2": (file("rows.csv", PLAIN, bz2.compress), {}),
    "file rows.csv.zip": (text_file("rows.csv.zip", zipped(content(PLAIN, "csv"))), {}),
    "file rows.jsonl.bz2": (text_file("rows.jsonl.bz2", bz2.compress(content(PLAIN, "jsonl"))), {}),
    "file rows.xlsx": (text_file("rows.xlsx", b"PK\x03\x04"), {}),
    "file rows.jsonl without a last line break": (
        text_file("rows.jsonl", content(PLAIN, "jsonl").rstrip() + b"\n\n"), {}),
    "JSON, records under a key": (
        text_file("rows.json", json.dumps({"info": {"year": 1}, "data": records(PLAIN)}).encode()), {}),
    "JSON, records under two keys": (
        text_file("rows.json", json.dumps({"a": records(PLAIN), "b": records(PLAIN)}).encode()), {}),
    "JSON, columns": (text_file("rows.json", json.dumps(PLAIN).encode()), {}),
    "JSON, records by id": (
        text_file("rows.json", json.dumps({row["id"]: row for row in records(PLAIN)}).encode()), {}),
    "JSON with values of mixed types": (text_file("rows.json", json.dumps(records(MIXED)).encode()), {}),
    "JSON with nested lists": (file("rows.json", LABELLED), {}),
    "CSV with a byte order mark": (text_file("rows.csv", b"\xef\xbb\xbf" + content(PLAIN, "csv")), {}),
    "CSV with line breaks and quotes": (
        file("rows.csv", {**PLAIN, "question": ['a "b"\nc', "d, e", "f\tg", " h "]}), {}),
    "CSV with Windows line ends": (text_file("rows.csv", content(PLAIN, "csv").replace(b"\n", b"\r\n")), {}),
    "CSV with packed lists and numbers": (
        file("rows.csv", {"question": QUESTIONS, "options": list(map(repr, CHOICES)), "answer": LABELS}), {}),
    "CSV with the words NA and null": (
        file("rows.csv", {**PLAIN, "A": ["NA", "null", "None", "nan"], "answer": list("AAAA")}), {}),
    "CSV in Latin 1": (text_file("rows.csv", "question,A,B,answer\nWo?,schön,ja,A\n".encode("latin-1")), {}),
    "CSV with one column name twice": (text_file("rows.csv", b"question,A,A,answer\nq,x,y,A\n"), {}),
    "split in a file name": (file("aokvqa_v1p0_val.jsonl", PLAIN), {}),
    "two splits in a file name": (file("train_test.rows.jsonl", PLAIN), {}),
    "splits in a column": (file("rows.csv", SPLIT_COLUMN), {}),
    "splits in a column, one chosen": (file("rows.csv", SPLIT_COLUMN), {"split": "train"}),
    "one split in a column": (file("rows.jsonl", {**PLAIN, "split": ["dev"] * 4}), {}),
    "a column split without splits": (file("rows.jsonl", {**PLAIN, "split": ["a", "b", "a", "b"]}), {}),
    "folder, one file": (files(rows=PLAIN), {}),
    "folder, files of splits": (files(train=PLAIN, test=PLAIN), {}),
    "folder, train alone": (files(train=PLAIN, validation=PLAIN), {"split": "train"}),
    "folder, csv": (files(**{"test.csv": {"question": QUESTIONS, "options": list(map(repr, CHOICES)),
                                          "answer": LABELS}}), {}),
    "folder, parquet": (files(**{"test-00000-of-00001.parquet": LABELLED}), {}),
    "folder, packed": (packed_folder, {}),
    "folder with configs": (folder_with_card, {"config": "one"}),
    "folder with configs, none named": (folder_with_card, {}),
    "folder of images with metadata": (image_folder, {}),
    "folder of save_to_disk": (saved_to_disk, {}),
    "folder, hidden labels in test": (files(train=PLAIN, validation=PLAIN, test=HIDDEN), {}),
    "images next to the file": (
        next_to_images({**LABELLED, "image": ["x/a.png", "x/a.png", "x/b.png", "x/c.png"]}), {}),
    "image files in a folder, by id": (
        next_to_images({**LABELLED, "image_id": ["a", "a", "b", "c"]}), {"images": "x"}),
    "image files in a folder, by file name": (
        next_to_images({**LABELLED, "file_name": ["p/a.png", "p/a.png", "p/b.png", "p/c.png"]}), {"images": "x"}),
    "Dataset": (lambda folder: Dataset.from_dict(LABELLED), {}),
    "Dataset of a named split": (lambda folder: Dataset.from_dict(LABELLED, split="train"), {}),
    "Dataset, selected rows": (lambda folder: Dataset.from_dict(LABELLED).select([3, 1]), {}),
    "Dataset with class labels and images": (lambda folder: with_class_labels(), {}),
    "Dataset with class labels in another order": (lambda folder: swapped(), {}),
    "DatasetDict": (lambda folder: DatasetDict(TWO), {}),
    "DatasetDict, one split chosen": (lambda folder: DatasetDict(TWO), {"split": "train"}),
    "dict of Datasets": (lambda folder: TWO, {}),
    "DatasetDict without test or validation": (lambda folder: DatasetDict(a=TWO["train"], b=TWO["train"]), {}),
    "data frame": (lambda folder: pd.DataFrame(PLAIN), {}),
    "data frame with lists": (lambda folder: pd.DataFrame(LABELLED), {}),
    "data frame with missing cells": (
        lambda folder: pd.DataFrame({**PLAIN, "D": ["x", None, float("nan"), "y"], "answer": list("ABCD")}), {}),
    "data frame with an index": (lambda folder: pd.DataFrame(LABELLED, index=[9, 8, 7, 6]), {}),
    "data frame of mixed types": (lambda folder: pd.DataFrame(MIXED), {}),
    "data frame with splits in a column": (lambda folder: pd.DataFrame(SPLIT_COLUMN), {}),
    "dict of data frames": (lambda folder: {"train": pd.DataFrame(PLAIN), "test": pd.DataFrame(LABELLED)}, {}),
    "a list": (lambda folder: records(PLAIN), {}),
    "no such file": (lambda folder: folder / "missing.csv", {}),
}  # fmt: skip


def parquet(columns: Columns) -> Callable[[Path], Path]:
    """Write a parquet file."""
    return file("rows.parquet", columns)


LAYOUTS: dict[str, tuple[Callable[[Path], object], dict[str, Any]]] = {
    **{f"choices: {name}": (parquet(columns), {}) for name, columns in CHOICE_FORMS.items()},
    **{f"labels: {name}": (parquet(columns), {}) for name, columns in LABEL_FORMS.items()},
    **{f"columns: {name}": (parquet(columns), {}) for name, columns in COLUMN_NAMES.items()},
    **{f"images: {name}": (parquet(columns), {}) for name, columns in IMAGES.items()},
    **{f"named: {name}": (parquet(columns), options) for name, (columns, options) in NAMED_COLUMNS.items()},
    **{f"source: {name}": one for name, one in SOURCES.items()},
}
"""What makes the source in an empty folder, and options of the reader, by name."""


def with_images(name: str) -> bool:
    """Whether the golden file holds what the images of the rows are, too."""
    return name.startswith("images: ") or "image" in name
