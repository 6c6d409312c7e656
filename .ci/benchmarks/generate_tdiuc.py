"""A million questions of TDIUC's engine from made-up annotations: time, memory and growth, `.ci/bench generate_tdiuc`.

The images are those of the tests (tests/engines/tdiuc/made_annotations.py): scenes of related objects with random
boxes, by a seed. Each size runs in a process of its own, for its memory is counted.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.engines.tdiuc.made_annotations import instances  # noqa: E402

IMAGES = 98_000
"""give a million questions"""
PART = 5_000
"""Images made at a time."""
MEASURED = """
import json, resource, sys, time
from pathlib import Path
from hf_vqa_mc.engines.tdiuc.generate import generate
from hf_vqa_mc.engines.tdiuc.settings import TdiucInputs

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

before, start = peak(), time.perf_counter()
told = generate(TdiucInputs(coco=sorted(Path(sys.argv[1]).iterdir())), Path(sys.argv[2]))
print(json.dumps([told["questions"], time.perf_counter() - start, peak() - before, peak()]))
"""


def rows() -> list[tuple[str, float, str, str]]:
    """What was measured: (what, value, unit, required)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        half, whole = (_measured(folder, images) for images in (IMAGES // 2, IMAGES))
    questions, seconds, grown, peak = whole
    return [
        ("generate tdiuc, questions", questions, "questions", ">= 1,000,000"),
        ("generate tdiuc, throughput", questions / seconds, "questions/s", ">= 10,000"),
        ("generate tdiuc, peak memory of a million", peak, "GiB", "< 2"),
        ("generate tdiuc, memory a question", grown * 2**30 / questions, "bytes", ""),
        ("generate tdiuc, time of 2n / n", seconds / half[1], "times", "< 2.4"),
        ("generate tdiuc, memory of 2n / n", grown / half[2], "times", "< 2.4"),
    ]


def _measured(folder: Path, images: int) -> tuple[float, float, float, float]:
    made = folder / f"coco_{images}"
    made.mkdir()
    for first in range(1, images, PART):
        content = instances(min(PART, images - first + 1), seed=first, first=first)
        (made / f"instances_{first}.json").write_text(json.dumps(content))
    command = [sys.executable, "-c", MEASURED, str(made), str(folder / f"out_{images}")]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    questions, seconds, grown, peak = json.loads(found.stdout)
    return questions, seconds, grown, peak


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
