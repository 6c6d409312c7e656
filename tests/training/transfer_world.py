"""Datasets named as the paper's, tiny: Visual Genome's images 1 to 180, COCO's from 5001 on, some of them the same."""

from pathlib import Path

import numpy as np
from PIL import Image

from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.decoys import kind_number
from hf_vqa_mc.extraction.extraction import extract_features
from tests.configs import write_configs
from tests.training.toy_dataset import COLOURS, colour_of

IMAGES = {
    "qavg": {"train": range(1, 121), "validation": range(121, 141), "test": range(141, 181)},
    "visual7w": {"train": range(1, 61), "validation": range(121, 131), "test": range(141, 161)},
    "vqa": {"train": range(5001, 5061), "validation": range(5061, 5101)},
}
CONFIGS = ("qavg_iou_qou", "visual7w_orig", "visual7w_all", "vqa_orig")
WITH_FEATURES = ("qavg_iou_qou", "visual7w_orig", "vqa_orig")
"""Configs of which features are made; visual7w_all has the images of visual7w_orig."""
_KINDS = {"orig": kind_number("orig"), "iou": kind_number("iou"), "qou": kind_number("qou")}


def make(folder: Path) -> Path:
    """The dataset, two questions an image but for every seventh, which has one; VQA's have ten human answers."""
    rng, configs = np.random.default_rng(0), {}
    for config in CONFIGS:
        source, _, variant = config.partition("_")
        kinds = [_KINDS[name] for name in (_KINDS if variant == "all" else variant.split("_"))]
        configs[config] = {
            split: [row for image in images for row in _rows(config, image, kinds, rng)]
            for split, images in IMAGES[source].items()
        }
    return write_configs(folder, configs)


def _rows(config, image, kinds, rng):
    colour = str(rng.choice(list(COLOURS))) if rng.random() < 0.4 else colour_of(str(image))  # some are hard
    decoys = {
        kind_number("orig"): ["shape", "kind"],
        kind_number("iou"): ["square", "drawing"],
        kind_number("qou"): list(rng.permutation([name for name in COLOURS if name != colour])[:2]),
    }
    candidates = [(colour, kind_number("target")), *((text, kind) for kind in kinds for text in decoys[kind])]
    for number, question in enumerate(
        ["What colour is it?", "What colour is this one?"][: 1 if image % 7 == 0 else 2]
    ):
        order = rng.permutation(len(candidates))
        yield {
            "question_id": f"{config}-{image}-{number}",
            "image_id": str(image),
            "question": question,
            "choices": [candidates[index][0] for index in order],
            "label": int(np.flatnonzero(order == 0)[0]),
            "choice_kinds": [int(candidates[index][1]) for index in order],
            "answers": [colour] * 8 + [candidates[1][0]] * 2 if config.startswith("vqa_") else [colour],
        }


def features(dataset: Path, output: Path) -> Path:
    """The folder of all configs' features, which are of one kind."""
    pictures = output.parent / "pictures"
    pictures.mkdir(parents=True)
    for image in {image for splits in IMAGES.values() for images in splits.values() for image in images}:
        Image.new("RGB", (8, 8), COLOURS[colour_of(str(image))]).save(pictures / f"{image}.png")
    for config in WITH_FEATURES:
        folder = extract_features(
            dataset_images(str(dataset), config, pictures), backbone="pixels", output=output
        ).folder
    return folder.parent
