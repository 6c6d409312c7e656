"""A small benchmark: two questions per image, hostile text, columns that must not be exported."""

import io

import pyarrow as pa
from PIL import Image

from hf_vqa_mc.data.benchmark import ROWS, Benchmark, Split
from hf_vqa_mc.data.choices import ListOfChoices
from hf_vqa_mc.data.column_spec import ColumnSpec
from hf_vqa_mc.data.labels import by_index
from hf_vqa_mc.data.questions import presented_questions
from hf_vqa_mc.exports import HARNESSES
from hf_vqa_mc.io.progress import silent

QUESTIONS = [
    # question_id, image_id, question, choices, label, question_type
    ("q0", "i0", "What animal is it?", ["a dog", "a cat", "None", "NA"], 1, "object"),
    ("q1", "i0", "How many are there?", ["1", "2", "3"], 2, "number"),
    ("q2", "i1", 'Is it "{{ 7 * 7 }}"\tor </b>\nboth?', ["yes", "no"], 0, ""),
    ("q3", "i1", "Wo? \N{PILE OF POO} {% raw %}", ["links", "rechts", "{{label}}", "1.0", "null"], 4, "object"),
]
SECRETS = "iou", "qou", "SECRETANSWER"
"""Texts of the columns that must not be exported."""
LEFT_OUT = "columns of the benchmark that are left out: answers, choice_kinds"
"""The note of each of its exports."""


class MemoryImages:
    """Images of a split by row, as the readers of benchmarks give them."""

    def __init__(self, contents):
        self.contents = contents
        self.reads = []

    def read(self, row):
        self.reads.append(row)
        found = self.contents[row]
        return found if isinstance(found, tuple) else () if found is None else (found,)

    def count(self, row):
        return len(found) if isinstance(found := self.contents[row], tuple) else int(found is not None)


def picture(colour, size=(24, 16), format="PNG"):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, format)
    return file.getvalue()


def benchmark(
    questions=QUESTIONS, images=True, placed=True, dataset="./data/small.parquet", config="iou_qou", columns=None
):
    """A benchmark with these questions as its test split.

    ``images``: bytes by image id, or pictures by default; ``columns``: more columns.
    """
    table = pa.table(
        {
            "question_id": [row[0] for row in questions],
            "image_id": [row[1] if images else "" for row in questions],
            "question": [row[2] for row in questions],
            "choices": [row[3] for row in questions],
            "label": [row[4] for row in questions],
            "question_type": [row[5] for row in questions],
            "answers": [["SECRETANSWER"] for _ in questions],
            "choice_kinds": [
                ["iou" if index != row[4] else "qou" for index in range(len(row[3]))] for row in questions
            ],
        },
        schema=ROWS,
    )
    source = None
    if images:
        ids = dict.fromkeys(row[1] for row in questions)
        kept = images if isinstance(images, dict) else {name: picture((40 * at, 9, 9)) for at, name in enumerate(ids)}
        source = MemoryImages([kept[row[1]] for row in questions])
    original = table
    for name, column in (columns or {}).items():
        original = original.append_column(name, pa.array(column))
    split = Split("test", "small.parquet, test", table, original, source, placed)
    spec = ColumnSpec("question", ListOfChoices(("choices",)), (("label", by_index(0)),))
    return Benchmark(dataset, config, "test", {"test": split}, spec, {})


def export(benchmark, harness, output, name=None, hide_answers=False, progress=silent, overwrite=False):
    """Export a benchmark as `vqa-mc export` does."""
    questions = presented_questions(benchmark, name, hide_answers)
    return HARNESSES.find(harness).write(questions, output, progress, overwrite)
