"""How fast GQA's scores are on a million made-up questions: `python .ci/benchmarks/scoring_gqa.py`.

Each has about as many entailed questions, operations and pointers as GQA's own; a process of its own scores them.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from hf_vqa_mc.scoring.gqa import gqa_score

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

ROOT = Path(__file__).resolve().parents[2]
N_QUESTIONS = 1_000_000
N_GROUNDED = 132_062  # as many as GQA's balanced val
QUESTIONS_AN_IMAGE = 13  # as GQA's balanced val
N_ENTAILED, N_OPERATIONS, N_POINTERS = 5, 3, 3
MAP_SIZE = 7  # the official program's default
ANSWERS = [f"answer {number}" for number in range(1_800)]
GROUPS = [f"group {number}" for number in range(80)]
DETAILED = [f"detailed {number}" for number in range(100)]
N_VALID, N_PLAUSIBLE = 20, 10


def rows() -> list[Row]:
    """The figures."""
    done = subprocess.run(
        [sys.executable, __file__, "measure"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"scoring_gqa: the made-up questions failed\n{done.stderr}")
    return [tuple(row) for row in json.loads(done.stdout)]


def measured() -> list[Row]:
    """The figures of this process."""
    draw = Random(0)
    references = {str(number): question(draw, number) for number in range(N_QUESTIONS)}
    predictions = [
        {"questionId": question_id, "prediction": record["answer"] if draw.random() < 0.6 else draw.choice(ANSWERS)}
        for question_id, record in references.items()
    ]
    choices = {
        question_id: {"valid": draw.choices(ANSWERS, k=N_VALID), "plausible": draw.choices(ANSWERS, k=N_PLAUSIBLE)}
        for question_id in references
    }
    before = peak()
    start = time.perf_counter()
    gqa_score(predictions, references, choices=choices, consistency=True)
    seconds = time.perf_counter() - start
    after = peak()
    del choices
    return [
        (f"GQA's scores of {N_QUESTIONS:,} questions", seconds, "s", "< 10"),
        ("peak RSS before, the questions in memory", before, "GB", ""),
        ("peak RSS after", after, "GB", ""),
        *grounding_rows(draw, dict(list(references.items())[:N_GROUNDED]), predictions[:N_GROUNDED]),
    ]


def grounding_rows(draw: Random, references: dict[str, Any], predictions: list[dict[str, str]]) -> list[Row]:
    """What grounding adds, for as many questions as it can be computed for."""
    images = {record["imageId"] for record in references.values()}
    scene_graphs = {image: scene_graph(draw) for image in images}
    maps = {
        question_id: [[draw.random() for _ in range(MAP_SIZE)] for _ in range(MAP_SIZE)] for question_id in references
    }
    start = time.perf_counter()
    gqa_score(predictions, references, consistency=False)
    without = time.perf_counter() - start
    start = time.perf_counter()
    gqa_score(predictions, references, consistency=False, attentions=maps, scene_graphs=scene_graphs)
    seconds = time.perf_counter() - start - without
    what = f"grounding of {N_GROUNDED:,} questions, maps of {MAP_SIZE} x {MAP_SIZE}"
    return [(what, seconds, "s", "< 10"), ("peak RSS with these maps", peak(), "GB", "")]


def question(draw: Random, number: int) -> dict[str, Any]:
    """A balanced question, every part of it new in memory, as out of a file; it entails others on its image."""
    first = min(number // QUESTIONS_AN_IMAGE * QUESTIONS_AN_IMAGE, N_QUESTIONS - QUESTIONS_AN_IMAGE)
    return {
        "isBalanced": True,
        "imageId": str(number // QUESTIONS_AN_IMAGE),
        "question": f"Is the object {number} that is standing on the left side made of wood?",
        "answer": draw.choice(ANSWERS),
        "entailed": [str(first + draw.randrange(QUESTIONS_AN_IMAGE)) for _ in range(N_ENTAILED)],
        "types": {
            "structural": draw.choice(("query", "verify", "logical", "choose", "compare")),
            "semantic": draw.choice(("rel", "attr", "obj", "cat", "global")),
            "detailed": draw.choice(DETAILED),
        },
        "groups": {"global": draw.choice(GROUPS), "local": f"local {number}"},
        "semantic": [
            {"operation": draw.choice(("select", "filter color", "query")), "argument": f"thing ({number})"}
            for _ in range(N_OPERATIONS)
        ],
        "annotations": {
            "question": {str(place): str(draw.randrange(16)) for place in range(N_POINTERS - 1)},
            "fullAnswer": {"1": str(draw.randrange(16))},
            "answer": {},
        },
    }


def scene_graph(draw: Random) -> dict[str, Any]:
    """A scene graph of 16 objects."""
    objects = {
        str(number): {"x": draw.randrange(400), "y": draw.randrange(300), "w": draw.randrange(99), "h": 50}
        for number in range(16)
    }
    return {"width": 500, "height": 375, "objects": objects}


def peak() -> float:
    """The most memory that this process ever held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measured()))
    else:
        for what, value, unit, required in rows():
            print(f"{what:60} {value:16,.3f} {unit:8} {required}")
