"""How much memory and time an open-ended config takes: `python .ci/benchmarks/open_ended.py`.

GQA's all-questions files, made up in the published layout (train in parts, gzip), of 100,000 and of a million records
about as long as GQA's own; a process of its own builds ``gqa_all`` from each.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

ROOT = Path(__file__).resolve().parents[2]
SIZES = (100_000, 1_000_000)
PARTS = 10
QUESTIONS_AN_IMAGE = 190  # as GQA's all questions: 14,305,356 on some 74,000 images
ANSWERS = [f"answer {number}" for number in range(1_800)]
GROUPS = [f"group {number}" for number in range(80)]
DETAILED = [f"detailed {number}" for number in range(100)]
N_ENTAILED = 5
MOST_GROWTH = 1.25
"""Ten times the records may not take more memory than this times as much."""


def rows() -> list[Row]:
    """The figures."""
    found: list[Row] = []
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            place = Path(folder, str(size))
            write_questions(place, size)
            done = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, "measure", str(place)],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise SystemExit(f"open_ended: the made-up questions failed\n{done.stderr}")
            seconds, peak = json.loads(done.stdout)
            peaks.append(peak)
            found.append((f"gqa_all of {size:,} questions: records a second", size / seconds, "/s", ""))
            found.append((f"gqa_all of {size:,} questions: peak RSS", peak, "GB", "< 1.0"))
    growth = peaks[-1] / peaks[0]
    return [*found, (f"peak RSS of {SIZES[-1] // SIZES[0]} times the questions", growth, "x", f"< {MOST_GROWTH}")]


def write_questions(folder: Path, size: int) -> None:
    """train_all_questions in ten parts."""
    draw = Random(0)
    parts = folder / "train_all_questions"
    parts.mkdir(parents=True)
    for part in range(PARTS):
        path = parts / f"train_all_questions_{part}.json.gz"
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            for number in range(part, size, PARTS):
                file.write("{" if number == part else ", ")
                file.write(f'"{number:08d}": {json.dumps(question(draw, number))}')
            file.write("}")


def question(draw: Random, number: int) -> dict[str, Any]:
    """A record of some 1,100 characters."""
    first = number // QUESTIONS_AN_IMAGE * QUESTIONS_AN_IMAGE
    group, kind = draw.randrange(len(GROUPS)), draw.randrange(len(DETAILED))  # which tell much of answer and types
    steps = [
        {"operation": "select", "dependencies": [], "argument": f"thing ({number % 20})"},
        {"operation": "filter color", "dependencies": [0], "argument": "red"},
        {"operation": "relate", "dependencies": [1], "argument": f"table,to the left of,s ({number % 19})"},
        {"operation": draw.choice(("query", "exist", "verify size")), "dependencies": [2], "argument": "name"},
    ]
    return {
        "semantic": steps,
        "entailed": [f"{first + draw.randrange(QUESTIONS_AN_IMAGE):08d}" for _ in range(N_ENTAILED)],
        "equivalent": [f"{number:08d}"],
        "question": f"What is the name of the piece of furniture that the red thing {number} is left of?",
        "imageId": str(2_300_000 + number // QUESTIONS_AN_IMAGE),
        "isBalanced": draw.random() < 0.07,
        "groups": {"global": GROUPS[group], "local": f"14-thing_{number % 5000},s"},
        "answer": ANSWERS[(group * 25 + int(draw.random() ** 3 * 40)) % len(ANSWERS)],
        "semanticStr": "->".join(f"{step['operation']}: {step['argument']}" for step in steps),
        "annotations": {
            "answer": {"0": str(number % 19)},
            "question": {"4": "1", "6:8": "2"},
            "fullAnswer": {"1": "1"},
        },
        "types": {
            "detailed": DETAILED[kind],
            "semantic": ("rel", "attr", "obj", "cat", "global")[kind % 5],
            "structural": ("query", "verify", "logical", "choose", "compare")[kind % 3],
        },
        "fullAnswer": "The piece of furniture to the left of the red thing is a table.",
    }


def measured(folder: Path) -> list[float]:
    """Seconds, and the most memory that this process ever held, in GB."""
    from hf_vqa_mc.verbs.build import build

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as output:
        build("gqa", data_dir=folder, output=Path(output) / "vqa_mc", variants=["all"])
        seconds = time.perf_counter() - start
    return [seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9]


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measured(Path(sys.argv[2]))))
    else:
        for what, value, unit, required in rows():
            print(f"{what:60} {value:16,.3f} {unit:8} {required}")
