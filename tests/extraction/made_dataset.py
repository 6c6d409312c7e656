"""A dataset of multiple-choice rows about images of noise, and an extraction from it that can be killed."""

import os
import signal
import sys
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.extraction import store
from hf_vqa_mc.extraction.backbones import Pixels
from hf_vqa_mc.extraction.extraction import extract_features
from hf_vqa_mc.io.atomic import new_file
from tests.configs import write_configs
from tests.extraction.tiny_models import noise


def make(folder: Path, n_images: int, splits: tuple[str, ...] = ("train", "test")) -> Path:
    """A dataset with one config, made, that asks twice about images 0 to n_images."""
    tables = {}
    for number, split in enumerate(splits):
        ids = [str(image) for image in range(n_images) if image % len(splits) == number] * 2
        n = len(ids)
        rows = {"question_id": [f"{split}-{row}" for row in range(n)], "image_id": ids, "question": ["what?"] * n,
                "choices": [["a", "b"]] * n, "label": [0] * n}  # fmt: skip
        tables[split] = pa.table(rows)
    return write_configs(folder, {"made": tables})


def draw(folder: Path, n_images: int) -> Path:
    """Their images."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_images):
        noise(number, (20, 16)).save(folder / f"{number:012d}.png")
    return folder


class CountedPixels(Pixels):
    """Pixels that count the images they encode, and kill the process on request."""

    encoded = 0
    dies_at = sys.maxsize

    def forward(self, prepared):
        self.encoded += len(prepared)
        if self.encoded >= self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(prepared)


class DyingStore:
    """Makes a process die while it writes its n-th file, half of it written."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, path: Path, content: bytes) -> None:
        self.left -= 1
        if self.left == 0:
            with new_file(path, content[: len(content) // 2]):
                os.kill(os.getpid(), signal.SIGKILL)
        _write_bytes(path, content)


_write_bytes = store.write_bytes


def main(dataset: str, images: str, output: str, dies_at: str, dies_writing: str) -> None:
    """An extraction in files of 16 images, in batches of 4."""
    store.SHARD_IMAGES = 16
    store.write_bytes = DyingStore(int(dies_writing))
    backbone = CountedPixels()
    backbone.dies_at, backbone.batch_size = int(dies_at) or sys.maxsize, 4
    extract_features(dataset_images(dataset, "made", Path(images)), backbone=backbone, output=Path(output))
