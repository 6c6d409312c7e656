"""A dataset that is trained on in seconds: images of one colour, questions about it, decoys of two kinds."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.decoys import kind_number
from hf_vqa_mc.extraction.backbones import Pixels
from hf_vqa_mc.extraction.extraction import extract_features
from tests.configs import write_configs, write_vectors

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 200, 40),
    "blue": (40, 60, 220),
    "white": (240, 240, 240),
    "black": (9, 9, 9),
}
CONFIG = "toy_iou_qou"
DIM = 8
WORDS = ("what", "colour", "is", "it", "this", "one", *COLOURS, "square", "picture", "shape", "kind", "drawing")
IMAGES = {"train": 200, "test": 60}


def make(folder: Path, seed: int = 0, splits: tuple[str, ...] = ("train", "test"), **images: int) -> Path:
    """A dataset folder; two questions an image, the second with fewer choices; of a split with so many images."""
    rng = np.random.default_rng(seed)
    first, rows = 0, {}
    for split in splits:
        ids = [f"{number:04d}" for number in range(first, first + {**IMAGES, **images}.get(split, 40))]
        first += len(ids)
        rows[split] = [row for image_id in ids for row in _rows(split, image_id, rng)]
    return write_configs(folder, {CONFIG: rows})


def colour_of(image_id: str) -> str:
    return list(COLOURS)[hash_of(image_id) % len(COLOURS)]


def hash_of(image_id: str) -> int:
    return int(image_id) * 2654435761 % 2**32 >> 7


def _rows(split, image_id, rng):
    colour = colour_of(image_id)
    others = [name for name in COLOURS if name != colour]
    iou, qou = ["square", "picture", "drawing"], list(rng.permutation(others)[:3])
    for number, (question, target, decoys, kinds) in enumerate(
        [
            ("What colour is it?", colour, [*iou, *qou], [kind_number("iou")] * 3 + [kind_number("qou")] * 3),
            ("What kind is this one?", "picture", [colour, "shape"], [kind_number("iou"), kind_number("qou")]),
        ]
    ):
        order = rng.permutation(1 + len(decoys))
        choices = [[target, *decoys][index] for index in order]
        yield {
            "question_id": f"{split}-{image_id}-{number}",
            "image_id": image_id,
            "question": question,
            "choices": choices,
            "label": choices.index(target),
            "choice_kinds": [int([kind_number("target"), *kinds][index]) for index in order],
        }


def vectors_file(folder: Path, seed: int = 0) -> Path:
    """A GloVe file of the toy's words."""
    return write_vectors(folder / f"vectors{seed}.txt", WORDS, DIM, seed)


def draw(folder: Path, count: int) -> Path:
    """The images, a little noisy."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        image_id = f"{number:04d}"
        noise = np.random.default_rng(number).integers(-9, 10, (20, 16, 3))
        pixels = np.clip(np.array(COLOURS[colour_of(image_id)]) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{image_id}.png")
    return folder


def features(dataset: Path, output: Path, grid: int | None = None, count: int = sum(IMAGES.values())) -> Path:
    """The folder of the images' features."""
    pictures = draw(output.parent / "pictures", count)
    done = extract_features(dataset_images(str(dataset), CONFIG, pictures), backbone=Pixels(grid), output=output)
    return done.folder


def annotated(dataset: Path) -> Path:
    """Add ten human answers to each row: eight gave the target, two the first other choice; and answer types."""
    for path in (dataset / CONFIG).glob("*.parquet"):
        rows = pq.read_table(path).to_pylist()
        for row in rows:
            target = row["choices"][row["label"]]
            other = next(text for text in row["choices"] if text != target)
            row["answers"] = [target] * 8 + [other] * 2
            row["answer_type"] = "colour" if target in COLOURS else "other"
        pq.write_table(pa.Table.from_pylist(rows), path)
    return dataset
