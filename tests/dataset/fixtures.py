"""Made-up variants in the shape that ``variants.build_variants`` yields, and image files for them."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from PIL import Image

from hf_vqa_mc.data.stored_images import find_images
from hf_vqa_mc.dataset.folder import write_folder
from hf_vqa_mc.decoys import kind_number
from hf_vqa_mc.decoys.variants import BuiltVariant
from hf_vqa_mc.io.outputs import MANIFEST
from hf_vqa_mc.schema import MULTIPLE_CHOICE
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.text.normalisation import words

ABOUT = {
    "title": "Made-up QA",
    "description": "Questions about nothing.",
    "homepage": "https://example.org/made-up",
    "licence": "CC-BY-4.0",
    "citation": "@misc{nobody2000madeup,\n  title={Made-up QA},\n  year={2000}\n}",
    "image_hint": "They are drawn by tests/dataset/fixtures.py.",
}
MADE_WITH = {
    "version": "0.1.0",
    "decoys": "generated",
    "triplets": 60,
    "word_vectors": {"name": "glove.txt", "sha256": "ab" * 32, "dim": 100},
    "settings": {"decoys_per_set": 3, "seed": 0},
}
KINDS = {"iou": [kind_number("iou")] * 3, "qou": [kind_number("qou")] * 3,
         "iou_qou": [kind_number("iou")] * 3 + [kind_number("qou")] * 3}  # fmt: skip
ROWS = {"train": 40, "test": 20}
IMAGES_PER_SPLIT = 8


def write_made(folder: Path, *names: str, source: str = "made", images: Any = None, **options: Any) -> Path:
    """A folder of made-up variants, with images, True for drawn ones; options of `write_folder`, `made_variants`."""
    variants = made_variants(*names, **{name: options.pop(name) for name in ("seed", "rows") if name in options})
    if images is True:
        pictures = triplets_of(variants[0])
        images = find_images(pictures, draw_images(folder.parent / "pictures", pictures))
    write_folder(folder, source, variants, images=images, **{"about": ABOUT, "made_with": MADE_WITH, **options})
    return folder


def made_variants(*names: str, seed: int = 0, rows: dict[str, int] | None = None) -> list[BuiltVariant]:
    """Variants with reproducible rows."""
    sizes = rows or ROWS
    return [
        BuiltVariant(name, {one: made_rows(name, one, n, seed) for one, n in sizes.items()}, statistics(name, sizes))
        for name in names
    ]


def made_rows(name: str, split: str, n: int, seed: int = 0) -> pa.Table:
    """Rows of one split; every image is asked about several times, image 0 in each split."""
    rng = Random(f"{name} {split} {seed}")
    kinds = [kind_number("target"), *KINDS[name]]
    rows = []
    for position in range(n):
        order = rng.sample(range(len(kinds)), len(kinds))
        image = 0 if position == 0 else position % IMAGES_PER_SPLIT + (100 if split == "test" else 0)
        rows.append(
            {
                "question_id": f"{split}-{position}",
                "image_id": str(image),
                "question": f"What is number {position}?",
                "choices": [f"answer {rng.randrange(100_000):05d}" for _ in order],
                "label": order.index(0),
                "choice_kinds": [kinds[index] for index in order],
                "choice_fallback": [position % 2 == 0 and kinds[index] == kind_number("iou") for index in order],
                "answers": ["yes", "no"],
                "question_type": "what",
                "answer_type": "",
                "set_id": "",
                "set_kind": "",
            }
        )
    return pa.Table.from_pylist(rows, MULTIPLE_CHOICE)


def statistics(name: str, splits: dict[str, int]) -> dict[str, Any]:
    """Figures in the shape of the contract."""
    total, sets = sum(splits.values()), [part for part in ("iou", "qou") if part in name]
    reasons = {"same_text": 7, "contains": 3, "wup_target": 2, "wup_taken": 1}
    return {
        "rows": splits,
        "choices_per_row": {split: {str(1 + 3 * len(sets)): n} for split, n in splits.items()},
        "rejected": {part: reasons for part in sets},
        "fallbacks": {
            part: {
                "choices": 3 * total,
                "fallback": 3 * total * 8 // 10 if part == "iou" else 0,
                "missing": 0,
                "why": {"no candidates": 3 * total * 8 // 10 - 1, "few candidates": 1} if part == "iou" else {},
            }
            for part in sets
        },
        "repeated_across_sets": {"rows": 5, "texts": 6, "replaced": 6} if len(sets) == 2 else {},
        "neutrality": {"unique_targets": 12, "as_target_mean": 5.0, "as_decoy_mean": 14.5, "as_decoy_chance": 15.0,
                       "never_a_decoy": 1, "distance": 0.25},
        "wordnet_coverage": {"triplets": total, "covered": total - 2, "share": (total - 2) / total},
        "prior_rule": {"test": {"accuracy": 0.266, "chance": 1 / (1 + 3 * len(sets))}} if "test" in splits else {},
    }  # fmt: skip


def triplets_of(variant: BuiltVariant) -> pa.Table:
    """The columns that images are found by."""
    image_ids = [image_id for table in variant.splits.values() for image_id in table["image_id"].to_pylist()]
    names = [f"COCO_val2014_{int(image_id):012d}.png" for image_id in image_ids]
    return pa.table({"image_id": image_ids, "image_file": names})


def draw_images(folder: Path, triplets: pa.Table) -> Path:
    """A file for each image of the triplets: a square of its own colour."""
    for image_id, name in zip(triplets["image_id"].to_pylist(), triplets["image_file"].to_pylist(), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), colour_of(image_id)).save(path)
    return folder


def colour_of(image_id: str) -> tuple[int, int, int]:
    """The colour that an image is filled with."""
    number = int("".join(filter(str.isdigit, image_id)))
    return number % 256, (number * 7) % 256, 200


def tree_bytes(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, except the list of them."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / MANIFEST)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def glove(path: Path, cocoqa: Path, seed: int = 0) -> Path:
    """A GloVe file with a random vector for each word of COCO-QA's questions."""
    questions = read_triplets("cocoqa", cocoqa)["question"].to_pylist()
    rng = Random(seed)
    lines = [
        f"{word} {' '.join(f'{rng.gauss(0, 1):.4f}' for _ in range(8))}"
        for word in sorted({word for question in questions for word in words(question)})
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
