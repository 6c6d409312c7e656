"""How long a step of training waits for its input: `python .ci/benchmarks/training.py`.

MLP-IQA in the paper's size, from a dataset on the disk, features of images in a memory-mapped store and word vectors
of 300 numbers, all made up; the trainer's own figures, the medians of several validations.
"""

import logging
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.extraction import extract_features
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.settings import TrainingSettings

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

IMAGES, QUESTIONS, WORDS = 2_000, 4_000, 3_000
VALIDATIONS, STEPS = 4, 15


class MadeUp(Backbone):
    """2,048 numbers of an image, as ResNet has them, that mean nothing."""

    def __init__(self) -> None:
        super().__init__(FeatureKind("made-up", "1", None, 2048, "float32"))

    def prepare(self, image: Image.Image) -> np.ndarray:
        """The first pixels."""
        return np.resize(np.asarray(image, np.float32), 2048)

    def forward(self, prepared: np.ndarray) -> np.ndarray:
        """As they are."""
        return prepared


class Validations(logging.Handler):
    """Keeps the figures of each validation."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[dict[str, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Of a validation."""
        if hasattr(record, "validation"):
            self.figures.append(record.validation)


def rows() -> list[Row]:
    """The figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset, vectors, images = _made(folder)
        features = extract_features(
            str(dataset), "made", images=images, backbone=MadeUp(), output=folder / "features", batch_size=256
        ).folder
        validations = Validations()
        logging.getLogger("hf_vqa_mc.training").addHandler(validations)
        logging.getLogger("hf_vqa_mc.training").setLevel(logging.INFO)
        settings = TrainingSettings(
            str(dataset),
            "made",
            output=folder / "run",
            features=features,
            word_vectors=str(vectors),
            held_out=0.1,
            epochs=(VALIDATIONS + 1) * STEPS * 100 / (0.9 * QUESTIONS),
            evaluate_every=STEPS * 100 / (0.9 * QUESTIONS),
        )
        train(settings)
    steady = validations.figures[1:]  # the first compiles
    return [
        ("a step of vqa-mc train, MLP-IQA", 1000 * median(one["seconds_per_step"] for one in steady), "ms", ""),
        ("of which it waits for input", 100 * median(one["waited"] for one in steady), "%", "< 5"),
    ]


def _made(folder: Path) -> tuple[Path, Path, Path]:
    """A dataset, a file of word vectors and a folder of images."""
    chance = np.random.default_rng(0)
    words = [f"word{number}" for number in range(WORDS)]
    vectors, dataset, images = folder / "vectors.txt", folder / "made", folder / "images"
    numbers = chance.standard_normal((WORDS, 300)).round(3).tolist()
    vectors.write_text(
        "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, numbers, strict=True))
    )
    images.mkdir()
    for number in range(IMAGES):
        Image.fromarray(chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(images / f"{number}.png")
    picked = chance.integers(WORDS, size=(QUESTIONS, 15))
    table = {
        "question_id": [str(number) for number in range(QUESTIONS)],
        "image_id": [str(number) for number in chance.integers(IMAGES, size=QUESTIONS)],
        "question": [" ".join(words[place] for place in row[:8]) for row in picked],
        "choices": [[words[place] for place in row[8:]] for row in picked],
        "label": [0] * QUESTIONS,
    }
    (dataset / "made").mkdir(parents=True)
    pq.write_table(pa.table(table), dataset / "made" / "train-0.parquet")
    head = "---\nconfigs:\n- config_name: made\n  data_files:\n  - split: train\n    path: made/train-*.parquet\n---\n"
    (dataset / "README.md").write_text(head)
    return dataset, vectors, images


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.3f} {unit:8} {required}")
