"""One small ``vqa-mc generate`` in a process of its own, which can be made to die at a certain point."""

import json
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.engines.gqa import generate
from hf_vqa_mc.engines.tdiuc import generate as generate_tdiuc
from tests.engines.tdiuc import made_annotations
from tests.killed import PUBLISHING, die_after, die_publishing, started

POINTS = ("files", "statistics", *PUBLISHING)
WRITERS = {"gqa": (generate, "write_dataset"), "tdiuc": (generate_tdiuc, "_write_questions")}
"""Engine to the function that writes its files."""
COLORS = ("red", "green", "black", "white")


def write_inputs(engine: str, folder: Path) -> list[str]:
    """Writes annotations of a few images; the options that name them."""
    if engine == "tdiuc":
        return ["--coco", str(made_annotations.write(folder / "coco.json", made_annotations.instances(12, 1)))]
    graphs = {str(number): _graph(number) for number in range(12)}
    return [str(made_annotations.write(folder / "train_sceneGraphs.json", graphs))]


def _graph(number: int) -> dict[str, object]:
    """A dog to the left of a car, of different colors, in GQA's layout."""
    box = {"w": 200, "h": 150, "y": 100}
    dog = {"name": "dog", **box, "x": 10, "attributes": [COLORS[number % 4]], "relations": []}
    right_of = {"name": "to the right of", "object": "1"}
    car = {"name": "car", **box, "x": 400, "attributes": [COLORS[number % 3]], "relations": [right_of]}
    return {"width": 640, "height": 480, "weather": "sunny", "objects": {"1": dog, "2": car}}


def generated(engine: str, inputs: list[str], output: Path, seed: int) -> int:
    """The exit code of a generation here."""
    arguments = ["generate", engine, *inputs, "--output", str(output), "--seed", str(seed), "--json"]
    return CliRunner().invoke(app, arguments).exit_code


def start(engine: str, inputs: list[str], output: Path, seed: int, point: str) -> ForkServerProcess:
    """A process that generates, until it comes to the point."""
    return started(_generate, engine, inputs, output, seed, point)


def _generate(parent: Connection, engine: str, inputs: list[str], output: Path, seed: int, point: str) -> None:
    if point in PUBLISHING:
        die_publishing(point)
    elif point == "files":
        die_after(*WRITERS[engine])
    else:
        die_after(WRITERS[engine][0], "write_json")
    parent.send("ready")
    generated(engine, inputs, output, seed)


def content(folder: Path) -> dict[str, bytes]:
    """File name to bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def seed_in(folder: Path) -> int:
    """That the folder was generated with."""
    written = json.loads((folder / "statistics.json").read_text("utf-8"))
    seed: int = written["seed"] if "seed" in written else written["settings"]["seed"]
    return seed
