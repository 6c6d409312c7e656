"""Publishers' files and word vectors, tiny, for whole builds."""

from pathlib import Path
from random import Random

from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.text.normalisation import words
from tests.sources import fixtures


def cocoqa(folder: Path) -> Path:
    """COCO-QA's files."""
    fixtures.write_cocoqa(folder)
    return folder


def glove(path: Path, raw_files: Path, seed: int = 0) -> Path:
    """A GloVe file with a random vector for each word of COCO-QA's questions."""
    questions = read_triplets("cocoqa", raw_files)["question"].to_pylist()
    rng = Random(seed)
    lines = [
        f"{word} {' '.join(f'{rng.gauss(0, 1):.4f}' for _ in range(8))}"
        for word in sorted({word for question in questions for word in words(question)})
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
