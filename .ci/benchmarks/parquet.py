"""Rows to parquet: the folder writer against a GeneratorBasedBuilder of the same rows, side by side in one run."""

import tempfile
import time
from pathlib import Path
from random import Random

import datasets
import pyarrow as pa

from hf_vqa_mc.dataset.features import multiple_choice_features
from hf_vqa_mc.dataset.shards import write_split
from hf_vqa_mc.schema import MULTIPLE_CHOICE

ROWS = 40_000
ROUNDS = 3
"""The best of so many is taken, of both."""


class Generated(datasets.GeneratorBasedBuilder):
    """The usual way: one example after the other as Python objects."""

    __module__ = "__main__"  # datasets imports a builder's module again, by name

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=multiple_choice_features())

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("train")]

    def _generate_examples(self):  # noqa: ANN202  an iterator of key and row
        yield from enumerate(EXAMPLES)


def made_up_rows() -> list[dict[str, object]]:
    """Rows as long as COCO-QA's with 7 choices."""
    chance = Random(0)
    words = [f"{chance.choice('bcdfgklmnprst')}{chance.choice('aeiou')}{i}" for i in range(500)]
    return [
        {
            "question_id": f"train-{i}",
            "image_id": str(chance.randrange(10**6)),
            "question": " ".join(chance.choices(words, k=8)),
            "choices": chance.choices(words, k=7),
            "label": chance.randrange(7),
            "choice_kinds": [0, 2, 2, 2, 3, 3, 3],
            "choice_fallback": [chance.random() < 0.4 for _ in range(7)],
            "answers": [chance.choice(words)],
            "question_type": "object",
            "answer_type": "",
        }
        for i in range(ROWS)
    ]


EXAMPLES = made_up_rows()


def rows() -> list[tuple[str, float, str, str]]:
    """What was measured: (what, value, unit, required)."""
    datasets.disable_progress_bars()
    table = pa.Table.from_pylist(EXAMPLES, MULTIPLE_CHOICE)
    with tempfile.TemporaryDirectory() as folder:
        ours = min(seconds(write, table, Path(folder, f"ours-{number}")) for number in range(ROUNDS))
        theirs = min(seconds(generate, Path(folder, f"theirs-{number}")) for number in range(ROUNDS))
    return [
        ("rows to parquet, folder writer", ROWS / ours, "rows/s", ""),
        ("rows to parquet, GeneratorBasedBuilder", ROWS / theirs, "rows/s", ""),
        ("the same, ratio", theirs / ours, "times", ">= 8"),
    ]


def write(table: pa.Table, folder: Path) -> None:
    """Our way."""

    def part(start: int, stop: int) -> pa.Table:
        return table.slice(start, stop - start)

    write_split(folder, "train", multiple_choice_features(), table.num_rows, table.nbytes, part)


def generate(folder: Path) -> None:
    """Their way."""
    Generated(cache_dir=str(folder / "cache")).download_and_prepare(str(folder / "out"), file_format="parquet")


def seconds(work, *arguments: object) -> float:  # noqa: ANN001  any function
    """How long a call takes."""
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start
