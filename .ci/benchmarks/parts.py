"""Builds in parts of made-up triplets, time and memory: `python .ci/benchmarks/parts.py [MILLIONS ...]`.

Three fifths of the questions are unique, as in VQA v1; the others repeat one of 20,000.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.text.wordnet import load_wordnet

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

MILLION = 1_000_000
SIZES = (1, 3, 10)
LARGEST_PART = 250_000
QUESTIONS_AN_IMAGE = 10
DIM = 300
_FILE_ROWS = 250_000
_BEGINNINGS = ("what color is the", "where is the", "how many", "what is next to the", "which animal is near the")


def rows(sizes: tuple[float, ...] = SIZES) -> list[Row]:
    """Time and memory of each size, and growth of CPU time from the first to the last."""
    found: list[Row] = []
    cpu: dict[float, float] = {}
    for millions in sizes:
        with tempfile.TemporaryDirectory() as folder:
            seconds, cpu[millions], gigabytes = measured(Path(folder), int(millions * MILLION))
        found += [(f"build of {millions:g} million triplets in parts, 2 threads", seconds, "s", "")]
        found += [("CPU time of that", cpu[millions], "s", ""), ("peak memory of that", gigabytes, "GB", "< 8.6")]
    first, last = sizes[0], sizes[-1]
    growth = cpu[last] / cpu[first] / (last / first)
    return [*found, (f"CPU time per triplet, {last:g} million / {first:g} million", growth, "", "< 1.3")]


def measured(folder: Path, n: int) -> tuple[float, float, float]:
    """The figures of `timed` for a build of ``n`` triplets."""
    write_triplets(folder / "triplets", n)
    options = ["--data-dir", "triplets", "--variants", "iou_qou", "--word-vectors", "vectors.txt", "--workers", "2"]
    figures = timed(folder, "build", "triplets", "--largest-part", str(LARGEST_PART), *options)
    built = json.loads((folder / "vqa_mc" / "statistics.json").read_text())
    splits = built["sources"]["triplets"]["configs"]["triplets_iou_qou"]["splits"]
    if sum(split["rows"] for split in splits.values()) != n:
        raise SystemExit(f"parts: {n} triplets, {splits}")
    return figures


def timed(folder: Path, *command: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak resident memory in GB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "hf_vqa_mc", *command], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"parts: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def write_triplets(folder: Path, n: int) -> None:
    """``n`` triplets in files, and the vectors of their words next to the folder."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    nouns = sorted({lemma for lemma in load_wordnet().nouns.lemmas if lemma.isalpha() and lemma.isascii()})
    words = pa.array(rng.choice(nouns, 8_000, replace=False).tolist())
    beginnings = pa.array(_BEGINNINGS)
    vocabulary = sorted({*words.to_pylist(), *" ".join(_BEGINNINGS).split(), "with", "and"})
    with (folder.parent / "vectors.txt").open("w") as file:
        for word in vocabulary:
            file.write(f"{word} {' '.join(f'{value:.4f}' for value in rng.normal(size=DIM))}\n")

    def questions(picks: np.ndarray) -> pa.Array:
        parts = [words.take(pa.array(column)) for column in picks.T[1:]]
        return pc.binary_join_element_wise(
            beginnings.take(pa.array(picks[:, 0])), parts[0], "with", parts[1], "and", parts[2], " "
        )

    def picked(size: int) -> np.ndarray:
        return np.column_stack([rng.integers(0, len(_BEGINNINGS), size), *rng.integers(0, len(words), (3, size))])

    common = picked(20_000)
    for first in range(0, n, _FILE_ROWS):
        size = min(_FILE_ROWS, n - first)
        picks = picked(size)
        repeated = rng.random(size) < 0.4
        picks[repeated] = common[rng.integers(0, len(common), int(repeated.sum()))]
        number = np.arange(first, first + size)
        answers = np.minimum(rng.zipf(1.3, size), 2_000) - 1 + 400 * picks[:, 0]
        table = {
            "question_id": pa.array(number).cast(pa.string()),
            "image_id": pa.array(number // QUESTIONS_AN_IMAGE).cast(pa.string()),
            "split": pa.array(np.where(number // QUESTIONS_AN_IMAGE % 5 > 0, "train", "test").tolist()),
            "question": questions(picks),
            "target": words.take(pa.array(answers)),
        }
        pq.write_table(pa.table(table), folder / f"triplets-{first // _FILE_ROWS:05d}.parquet")


if __name__ == "__main__":
    for what, value, unit, required in rows(tuple(map(float, sys.argv[1:])) or SIZES):
        print(f"{what:90} {value:12,.2f} {unit:6} {required}")
