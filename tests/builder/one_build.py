"""One small build in a process of its own, which can be told to die at a certain point."""

import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from hf_vqa_mc.builder import build_dataset, folder, place
from hf_vqa_mc.builder.folder import write_folder
from hf_vqa_mc.builder.image_files import find_images
from hf_vqa_mc.variants import Settings
from tests.builder.fixtures import ABOUT, MADE_WITH, draw_images, made_variants, triplets_of

POINTS = ("first variant", "card", "before exchange", "after exchange", "between renames", "after renames")


def start(output: Path, source: str, seed: int, point: str = "") -> ForkServerProcess:
    """A process that writes a folder; from here on it is at work."""
    return _started(write, output, source, seed, point)


def start_whole(output: Path, raw_files: Path, vectors: Path, seed: int) -> ForkServerProcess:
    """A process that does a whole build of COCO-QA; from here on it is at work."""
    return _started(build, output, raw_files, vectors, seed)


def _started(work: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    context = get_context("forkserver")  # its processes have everything imported already
    context.set_forkserver_preload(["datasets", "gensim", __name__])
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, *arguments))
    process.start()
    assert here.recv() == "ready"
    return process


def finish(process: ForkServerProcess) -> int | None:
    """Wait for it; its exit code, negative for the signal that it died of."""
    process.join(120)
    return process.exitcode


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
    settings = Settings(seed=seed)
    build_dataset("cocoqa", data_dir=raw_files, output=output, word_vectors=str(vectors), settings=settings)


def die_at(point: str) -> None:
    """Kill this process, as kill -9 does, when the build comes to the point."""
    if "renames" in point:
        place.exchange = lambda one, other: False
    if point == "first variant":
        after(folder, "_write_variant")
    elif point == "card":
        after(folder, "write_card")
    elif point == "before exchange":
        place.exchange = die
    elif point == "after exchange":
        after(place, "exchange")
    else:
        after(Path, "rename", {"between renames": 1, "after renames": 2}[point])


def after(owner: Any, name: str, times: int = 1) -> None:
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*args: Any, **options: Any) -> Any:
        nonlocal calls
        result = original(*args, **options)
        calls += 1
        if calls == times:
            die()
        return result

    setattr(owner, name, dying)


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
