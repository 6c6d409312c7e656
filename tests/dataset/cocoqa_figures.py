"""The figures of COCO-QA's variants, and the script that rewrites them after a change that is meant to move them:

``python -m tests.dataset.cocoqa_figures COCOQA_FOLDER GLOVE_FILE``
"""

import json
import sys
from pathlib import Path
from typing import Any

from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.text.word_vectors import load_word_vectors

GOLDEN = Path(__file__).with_name("golden") / "cocoqa.json"
NAMES = ("iou", "qou", "iou_qou")


def figures(cocoqa: Path, glove: Path) -> dict[str, Any]:
    """All statistics of three variants, by pool and variant, rounded where they are shares."""
    triplets, vectors = read_triplets("cocoqa", cocoqa), load_word_vectors(str(glove))
    return {
        pool: {
            variant.name: rounded(variant.statistics)
            for variant in build_variants(triplets, NAMES, vectors, Settings(decoys_from=pool))
        }
        for pool in ("dataset", "split")
    }


def rounded(figure: Any) -> Any:
    if isinstance(figure, dict):
        return {key: rounded(value) for key, value in figure.items()}
    return round(figure, 9) if isinstance(figure, float) else figure


if __name__ == "__main__":
    found = figures(*map(Path, sys.argv[1:]))
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
