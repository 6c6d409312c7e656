"""Balanced pairs with real pixels: four cells, each empty or of one colour; questions about the colour of one cell."""

from pathlib import Path

import numpy as np
from PIL import Image

from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.engines.complementary.complementary import nearest_images
from hf_vqa_mc.extraction.backbones import Pixels
from hf_vqa_mc.extraction.extraction import extract_features
from hf_vqa_mc.extraction.store import ImageFeatures
from tests.configs import write_configs

COLOURS = {"red": (220, 40, 40), "green": (40, 200, 60), "blue": (50, 70, 220), "yellow": (230, 220, 50)}
PLACES = ("top left", "top right", "bottom left", "bottom right")
CONFIG = "pairs"
EMPTY = 0.3
"""Fraction of empty cells, about which nothing can be asked."""
CANDIDATES = 24


def make(folder: Path, images: dict[str, int], seed: int = 0) -> Path:
    """A dataset folder of pairs, and the folder of its features; returns the latter.

    As in Goyal et al. 2017, the picked image is one of the 24 most similar to which the question applies, with another
    answer: here a random one of those in the same split.
    """
    rng = np.random.default_rng(seed)
    split_of = np.repeat(list(images), list(images.values()))
    cells = np.where(rng.random((len(split_of), 4)) < EMPTY, 0, rng.integers(1, 1 + len(COLOURS), (len(split_of), 4)))
    ids = [f"{number:05d}" for number in range(len(cells))]
    _draw(folder / "pictures", ids, cells, rng)
    write_configs(
        folder / "data",
        {CONFIG: {split: [_row(name, "") for name in np.array(ids)[split_of == split]] for split in images}},
    )
    pictures, output = folder / "pictures", folder / "features"
    done = extract_features(
        dataset_images(str(folder / "data"), CONFIG, pictures), backbone=Pixels(None), output=output
    )
    near = nearest_images(ImageFeatures(done.folder).take(ids), CANDIDATES, lambda done: None).images
    rows = {split: [] for split in images}
    for image, place in [(image, place) for image in range(len(ids)) for place in range(len(PLACES))]:
        answers = cells[near[image], place]
        fits = (answers > 0) & (answers != cells[image, place]) & (split_of[near[image]] == split_of[image])
        if cells[image, place] and fits.any():
            other = near[image][rng.choice(np.flatnonzero(fits))]
            first, second = (_row(ids[one], list(COLOURS)[cells[one, place] - 1]) for one in (image, other))
            names = {
                "question_id": f"{ids[image]}-{place}",
                "complementary_question_id": f"{ids[image]}-{place}-other",
            }
            question = f"What color is the {PLACES[place]} square?"
            both = first | {f"complementary_{name}": value for name, value in second.items()}
            rows[split_of[image]].append(both | names | {"question": question})
    write_configs(folder / "data", {CONFIG: rows})
    return done.folder


def _row(image_id, answer):
    return {"question_id": image_id, "image_id": image_id, "question": "?", "answer": answer}


def _draw(folder, ids, cells, rng):
    folder.mkdir(parents=True)
    colours = np.array([(0, 0, 0), *COLOURS.values()])
    for name, of_image in zip(ids, cells, strict=True):
        large = colours[of_image].reshape(2, 2, 3).repeat(16, 0).repeat(16, 1) + rng.integers(-12, 13, (32, 32, 3))
        Image.fromarray(large.clip(0, 255).astype(np.uint8)).save(folder / f"{name}.png")
