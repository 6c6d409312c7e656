"""How long a million rows take from file to files, and how much memory: `.ci/bench million`."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.text.wordnet import load_wordnet  # noqa: E402

Row = tuple[str, float, str, str]
MILLION = 1_000_000
KINDS = {"repeat": "answers repeat as in VQA", "differ": "all texts differ"}
COMMANDS = {
    "audit": ("< 300", "--output", "out"),
    "describe": ("< 60", "--output", "out"),
    "lint": ("< 60", "--output", "out.csv"),
    "remedy": ("< 300", "--strategy", "iou_qou", "--word-vectors", "corpus", "--force", "--output", "out.parquet"),
}
"""Verb to the seconds of wall time that are required on 2 cores without other work, and its options."""


def rows() -> Iterator[Row]:
    """The figures, as they come; answers that never repeat have no IoU/QoU decoys."""
    for kind, words in KINDS.items():
        for verb, (required, *_) in COMMANDS.items():
            if (verb, kind) == ("remedy", "differ"):
                continue
            figures = json.loads(subprocess.check_output([sys.executable, __file__, verb, kind]))
            what = f"{verb}, {MILLION:,} rows of 4 choices, {words}"
            yield what, figures["seconds"], "s", required
            yield f"{what}: CPU time", figures["cpu"], "s", ""
            yield f"{what}: peak memory", figures["gib"], "GiB", "< 5.59"  # 6 GB


def run(verb: str, kind: str) -> dict[str, float]:
    """Wall and CPU seconds of a command from file to files, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(million_rows(kind), Path(folder, "rows.parquet"))
        _, *options = COMMANDS[verb]
        command = [sys.executable, "-m", "hf_vqa_mc", verb, "rows.parquet", *options]
        start = time.perf_counter()
        done = subprocess.run(command, stdout=sys.stderr, cwd=folder)
        seconds = time.perf_counter() - start
        if not Path(folder, options[-1]).exists():
            raise SystemExit(f"{verb} failed with {done.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "gib": used.ru_maxrss / 2**20}


def million_rows(kind: str) -> pa.Table:
    """Rows of 4 choices, three questions an image; questions and answers are made of WordNet's nouns.

    Answers repeat as VQA v1's do (3,000 of them, the n-th 1/n as often as the first), or no text comes twice: three
    nouns and a number.
    """
    chance = np.random.default_rng(0)
    nouns = np.array([lemma for lemma in load_wordnet().nouns.lemmas if "_" not in lemma], object)
    if kind == "repeat":
        frequency = 1 / np.arange(1, 3001)
        texts = nouns[chance.choice(3000, (MILLION, 4), p=frequency / frequency.sum()) * 19]
        openers = nouns[chance.integers(200, size=MILLION)] + " is the " + nouns[chance.integers(5000, size=MILLION)]
        questions = openers + " of the " + nouns[chance.integers(20, size=MILLION)] + "?"
    else:
        numbers = np.arange(4 * MILLION).reshape(MILLION, 4).astype(str).astype(object)
        words = [nouns[chance.integers(len(nouns), size=(MILLION, 4))] for _ in range(3)]
        texts = words[0] + " " + words[1] + " " + words[2] + " " + numbers
        questions = words[0][:, 0] + " is the " + words[2][:, 1] + " of the " + numbers[:, 0] + "?"
    columns = {
        "question_id": np.arange(MILLION).astype(str),
        "image_id": (np.arange(MILLION) // 3).astype(str),
        "question": questions,
        "choices": pa.FixedSizeListArray.from_arrays(pa.array(texts.ravel(), pa.string()), 4),
        "label": chance.integers(4, size=MILLION),
    }
    return pa.table(columns)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(run(*sys.argv[1:3])))
    else:
        for row in rows():
            print(*row, sep="\t")
