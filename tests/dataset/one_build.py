"""One small build in a process of its own, which can be made to die at a certain point."""

import os
import warnings
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import hf_vqa_mc as vm
from hf_vqa_mc.data.stored_images import find_images
from hf_vqa_mc.dataset import folder
from hf_vqa_mc.dataset.folder import write_folder
from tests.dataset.fixtures import ABOUT, MADE_WITH, draw_images, made_variants, triplets_of
from tests.killed import PUBLISHING, die_after, die_publishing, started

POINTS = ("first variant", "card", *PUBLISHING)


def start(output: Path, source: str, seed: int, point: str = "") -> ForkServerProcess:
    """A process that writes a folder; from here on it is at work."""
    return started(write, output, source, seed, point)


def start_whole(output: Path, raw_files: Path, vectors: Path, seed: int) -> ForkServerProcess:
    """A process that does a whole build of COCO-QA; from here on it is at work."""
    return started(build, output, raw_files, vectors, seed)


def write(parent: Connection, output: Path, source: str, seed: int, point: str) -> None:
    if point:
        die_at(point)
    variants = made_variants("iou", "qou", "iou_qou", seed=seed, rows={"train": 400, "test": 200})
    pictures = triplets_of(variants[0])
    images = find_images(pictures, draw_images(output.parents[1] / f"pictures of {os.getpid()}", pictures))
    parent.send("ready")
    write_folder(output, source, variants, about=ABOUT, made_with=MADE_WITH, images=images)


def build(parent: Connection, output: Path, raw_files: Path, vectors: Path, seed: int) -> None:
    warnings.simplefilter("ignore")
    parent.send("ready")

    vm.build("cocoqa", data_dir=raw_files, output=output, word_vectors=str(vectors), seed=seed)


def die_at(point: str) -> None:
    """Kill this process, as kill -9 does, when the build comes to the point."""
    if point in PUBLISHING:
        die_publishing(point)
    else:
        die_after(folder, {"first variant": "write_variant", "card": "card"}[point])
