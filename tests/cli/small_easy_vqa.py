"""A package easy_vqa with a few questions, laid out as the real one: its data next to its __init__.py."""

import json
from pathlib import Path
from random import Random

from PIL import Image

COLOURS = ["red", "green", "blue", "black", "gray", "teal", "brown", "yellow"]
SHAPES = ["circle", "rectangle", "triangle"]


def make(folder: Path) -> Path:
    """Write the package below a folder, which is to be put on sys.path."""
    data = folder / "easy_vqa" / "data"
    for split, n_images in (("train", 60), ("test", 20)):
        (data / split / "images").mkdir(parents=True)
        rows = [row for image in range(n_images) for row in questions(image, Random(f"{split} {image}"))]
        (data / split / "questions.json").write_text(json.dumps(rows))
        for image in range(n_images):
            Image.new("RGB", (8, 8), (image, 0, 0)).save(data / split / "images" / f"{image}.png")
    (folder / "easy_vqa" / "__init__.py").write_text("")
    return folder


def questions(image: int, rng: Random) -> list[list[str | int]]:
    """Six questions about an image of one shape: [question, answer, image_id]."""
    colour, shape, other = rng.choice(COLOURS), rng.choice(SHAPES), rng.choice(SHAPES)
    pairs = [
        ("what color is the shape?", colour),
        (f"what is the color of the {shape}?", colour),
        ("what shape is in the image?", shape),
        (f"is there a {other}?", "yes" if other == shape else "no"),
        (f"is no {other} present?", "no" if other == shape else "yes"),
        (f"does the image contain a {colour} shape?", "yes"),
    ]
    return [[question, answer, image] for question, answer in pairs]
