"""Tasks that a model's mechanism is needed for: `python .ci/benchmarks/mechanisms.py FOLDER [--tasks find compose]`.

Made images of ten shapes on a grid of 4x4 cells, as PNG files, and questions about their colors. `find`: "what color
is the small ring?", which needs attention to one shape of ten. `compose`: "what color is the shape above the shape
right of the small ring?", with up to two relations; `compose_large` has five times as many images, in FOLDER/large.
`vqa-mc features` encodes the images, `vqa-mc train` trains every model, `vqa-mc predict --attentions` writes where it
looked. Prints Markdown tables and draws learning curves. An interrupted call resumes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parents[2]
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

SIDE, CELL = 4, 32
"""Cells per side, and pixels per side of a cell."""
KINDS = ("circle", "square", "triangle", "cross", "ring")
SIZES = {"small": 18, "large": 28}
"""Size of a shape to its pixels per side."""
COLORS = {
    "red": (220, 40, 40),
    "green": (40, 190, 60),
    "blue": (50, 70, 230),
    "yellow": (235, 220, 50),
    "cyan": (60, 215, 220),
    "pink": (240, 100, 200),
    "orange": (245, 140, 30),
    "white": (245, 245, 245),
}
BACKGROUND = (20, 80)
"""Range of the background's gray level."""
SHIFT = 1
"""Maximum distance in pixels of a shape from the middle of its cell."""
TINT = 15
"""Maximum difference of each channel from the color's."""
NEW = {kind: {list(COLORS)[number], list(COLORS)[number + 3]} for number, kind in enumerate(KINDS)}
"""Colors that a kind has in images of the configs of new combinations only."""
RELATIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
"""Relation to the step in columns and rows, from the shape that is known to the one that is sought."""
MOST_RELATIONS = 2
IMAGES = {"train": 6_000, "validation": 300, "test": 600}
LARGE = {**IMAGES, "train": 30_000}
"""Images of `compose_large`."""
FIND_QUESTIONS = 5
"""Questions of `find` per image."""
PER_LENGTH = 2
"""Questions of `compose` per image and number of relations."""

Shape = dict[str, Any]
"""name, size, color, column, row"""
FEATURES = {"grid": "pixels-1-grid4", "vector": "pixels-1"}
"""What a model sees to its folder of features."""


@dataclass(frozen=True)
class Trained:
    """A model with its settings and recipe."""

    model: str
    sees: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    epochs: float = 10
    reads: str = "text"
    """text or programs"""
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of its folder, and in tables and the picture."""
        parts = [
            self.model,
            *(["programs"] if self.reads != "text" else []),
            *([f"seed {self.seed}"] if self.seed else []),
        ]
        return ", ".join(parts)


WORDS = {"word_size": 64}
MCB = {**WORDS, "fixed_word_size": 0, "lstm_size": 128, "sketch_size": 512, "attention_size": 128}
MAC = {**WORDS, "size": 64, "dropout": 0.0}
NMN = {**WORDS, "size": 128, "reads_question": False, "dropout": 0.0}
RAU = {**WORDS, "size": 128, "lstm_size": 128, "attention_size": 128, "dropout": 0.0}
POPULAR = Trained("popular-answer", "none")
TASKS = {
    "find": [
        POPULAR,
        Trained("lstm-q", "none", {"lstm_size": 128}),
        Trained("cnn-lstm", "vector"),
        Trained("bottom-up", "grid", {**WORDS, "size": 256}),
        Trained("mcb-a", "grid", MCB),
        Trained("hiecoatt-answers", "grid", {"level_size": 128, "joint_size": 256, "encoder_dropout": 0.1}),
        Trained("mac", "grid", MAC),
        Trained("rau", "grid", RAU),
    ],
    "compose": [
        POPULAR,
        Trained("lstm-q", "none", {"lstm_size": 128}, 6),
        Trained("cnn-lstm", "vector", {"lstm_size": 128}, 6),
        Trained("mcb-a", "grid", MCB, 6),
        Trained("mac", "grid", MAC | {"size": 128}, 16),
        *(Trained("nmn", "grid", NMN, 8, seed=seed) for seed in range(3)),
        *(Trained("nmn", "grid", NMN, 8, "programs", seed=seed) for seed in range(3)),
    ],
    "compose_large": [
        POPULAR,
        Trained("cnn-lstm", "vector", {"lstm_size": 128}, 3.5),
        Trained("mcb-a", "grid", MCB, 3.5),
        Trained("rau", "grid", RAU | {"answers_by": "last"}, 3.5),
        *(Trained("mac", "grid", MAC | {"size": 128}, 6, seed=seed) for seed in range(3)),
    ],
}
"""Small models, and one recipe for all: the sizes of the papers take hours on two cores."""
BATCH_SIZE, LEARNING_RATE = 128, 1e-3
SMALL = [replace(one, epochs=12) for one in TASKS["find"] if one.model in ("cnn-lstm", "mac")]
LABEL_DISTANCE = 4.5
"""Least distance of two labels of the picture in percent."""
ALSO = {"find": ("find_new", "find_shuffled"), "compose": ("compose_shuffled",)}
"""Configs that the models of a config are also tested on."""


def config_of(task: str) -> str:
    """The config of a task."""
    return task.removesuffix("_large")


def made_shapes(rng: Random, new: bool) -> list[Shape]:
    """All ten pairs of size and kind, each in a cell of its own, in random colors."""
    cells = rng.sample([(column, row) for row in range(SIDE) for column in range(SIDE)], len(SIZES) * len(KINDS))
    shapes = []
    for (column, row), (size, name) in zip(cells, [(size, name) for size in SIZES for name in KINDS], strict=True):
        colors = [color for color in COLORS if new == (color in NEW[name])]
        shapes.append({"name": name, "size": size, "color": rng.choice(colors), "column": column, "row": row})
    return shapes


def drawn(shapes: Sequence[Shape], rng: Random) -> Image.Image:
    """A picture of the shapes."""
    image = Image.new("RGB", (SIDE * CELL, SIDE * CELL), (rng.randint(*BACKGROUND),) * 3)
    pen = ImageDraw.Draw(image)
    for shape in shapes:
        color = tuple(min(255, max(0, one + rng.randint(-TINT, TINT))) for one in COLORS[shape["color"]])
        side = SIZES[shape["size"]]
        left, top = (
            shape[axis] * CELL + (CELL - side) // 2 + rng.randint(-SHIFT, SHIFT) for axis in ("column", "row")
        )
        right, bottom, third = left + side - 1, top + side - 1, side // 3
        if shape["name"] == "circle":
            pen.ellipse((left, top, right, bottom), fill=color)
        elif shape["name"] == "ring":
            pen.ellipse((left, top, right, bottom), outline=color, width=side // 5)
        elif shape["name"] == "square":
            pen.rectangle((left, top, right, bottom), fill=color)
        elif shape["name"] == "triangle":
            pen.polygon([(left, bottom), (right, bottom), ((left + right) / 2, top)], fill=color)
        else:
            pen.rectangle((left + third, top, right - third, bottom), fill=color)
            pen.rectangle((left, top + third, right, bottom - third), fill=color)
    return image


def find_questions(shapes: list[Shape], rng: Random) -> Iterator[dict[str, Any]]:
    """About the color of some of the shapes."""
    for shape in rng.sample(shapes, FIND_QUESTIONS):
        yield _question([], [shapes.index(shape)], shapes)


def compose_questions(shapes: list[Shape], rng: Random) -> Iterator[dict[str, Any]]:
    """About the color of shapes that one or two relations lead to, or none."""
    at = {(shape["column"], shape["row"]): number for number, shape in enumerate(shapes)}
    for length in range(MOST_RELATIONS + 1):
        chains = list(_chains(length, at, shapes))
        for relations, numbers in rng.sample(chains, min(PER_LENGTH, len(chains))):
            yield _question(relations, numbers, shapes)


def _chains(
    length: int, at: Mapping[tuple[int, int], int], shapes: Sequence[Shape]
) -> Iterator[tuple[list[str], list[int]]]:
    """The relations and the shapes of each chain that visits no shape twice."""
    if length == 0:
        yield from (([], [number]) for number in range(len(shapes)))
        return
    for relations, numbers in _chains(length - 1, at, shapes):
        last = shapes[numbers[-1]]
        for relation, (across, down) in RELATIONS.items():
            found = at.get((last["column"] + across, last["row"] + down))
            if found is not None and found not in numbers:
                yield [*relations, relation], [*numbers, found]


def _question(relations: Sequence[str], numbers: Sequence[int], shapes: Sequence[Shape]) -> dict[str, Any]:
    """The question with its program as GQA writes it in a line."""
    first, last = shapes[numbers[0]], shapes[numbers[-1]]
    text = "".join(f"shape {relation} the " for relation in reversed(relations)) + f"{first['size']} {first['name']}"
    program = [("select", f"{first['name']} ({numbers[0]})"), ("filter size", first["size"])]
    program += [
        ("relate", f"shape,{relation},s ({number})") for relation, number in zip(relations, numbers[1:], strict=True)
    ]
    program.append(("query", "color"))
    return {
        "question": f"what color is the {text}?",
        "answer": last["color"],
        "answer_type": f"{len(relations)} relations",
        "cell": last["row"] * SIDE + last["column"],
        "semantic_str": "->".join(
            f"{operation}: {argument}{f' [{step - 1}]' if step else ''}"
            for step, (operation, argument) in enumerate(program)
        ),
    }


QUESTIONS = {"find": find_questions, "compose": compose_questions}


def write_worlds(folder: Path, images: Mapping[str, int] = IMAGES, tasks: Sequence[str] = tuple(QUESTIONS)) -> Path:
    """Write images, scene graphs in GQA's layout and the dataset; returns the dataset's folder."""
    (folder / "images").mkdir(parents=True)
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    graphs = {}
    for split, count in {**images, "new": images["test"]}.items():
        for number in range(count):
            name = f"{split}{number}"
            rng = Random(name)
            shapes = made_shapes(rng, split == "new")
            drawn(shapes, rng).save(folder / "images" / f"{name}.png")
            graphs[name] = _scene_graph(shapes)
            for task in tasks:
                config = f"{task}_new" if split == "new" else task
                made = rows.setdefault(config, {}).setdefault("test" if split == "new" else split, [])
                for question in QUESTIONS[task](shapes, rng):
                    made.append({"question_id": f"{config}-{split}{len(made)}", "image_id": name, **question})
    for task in tasks:  # the next image's questions
        test = rows[task]["test"]
        names = list(dict.fromkeys(row["image_id"] for row in test))
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        rows[f"{task}_shuffled"] = {"test": [{**row, "image_id": following[row["image_id"]]} for row in test]}
    every = [{"question_id": name, "image_id": name, "question": "?", "answer": ""} for name in graphs]
    rows["images"] = {"train": every}  # for the features of all images
    (folder / "sceneGraphs.json").write_text(json.dumps(graphs))
    head = ["---", "configs:"]
    for config, of_config in rows.items():
        head += [f"- config_name: {config}", "  data_files:"]
        for split, made in of_config.items():
            path = folder / "worlds" / config / f"{split}-0.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(made), path)
            head += [f"  - split: {split}", f"    path: {config}/{split}-*.parquet"]
    (folder / "worlds" / "README.md").write_text("\n".join([*head, "---", ""]))
    return folder / "worlds"


def _scene_graph(shapes: Sequence[Shape]) -> dict[str, Any]:
    at = {(shape["column"], shape["row"]): str(number) for number, shape in enumerate(shapes)}
    objects = {}
    for number, shape in enumerate(shapes):
        near = [
            {"name": relation, "object": at[cell]}
            for relation, (across, down) in RELATIONS.items()
            if (cell := (shape["column"] - across, shape["row"] - down)) in at
        ]
        objects[str(number)] = {
            "name": shape["name"],
            "attributes": [shape["size"], shape["color"]],
            "relations": near,
            **{"x": shape["column"] * CELL, "y": shape["row"] * CELL, "w": CELL, "h": CELL},
        }
    return {"width": SIDE * CELL, "height": SIDE * CELL, "objects": objects}


def vqa_mc(*words: object) -> None:
    """Run a command in one thread; its output is printed if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "hf_vqa_mc", *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])}\n{done.stdout}\n{done.stderr}")


def prepare(folder: Path, images: Mapping[str, int] = IMAGES, tasks: Sequence[str] = tuple(QUESTIONS)) -> None:
    """Write the dataset and the features of its images, unless they are there."""
    if not (folder / "worlds" / "README.md").exists():
        write_worlds(folder, images, tasks)
    given = ("--backbone", "pixels", "--images", folder / "images", "--output", folder / "features")
    for grid in ((), ("--grid", SIDE)):
        vqa_mc("features", folder / "worlds", "images", *given, *grid)


def run(folder: Path, task: str, one: Trained) -> Path:
    """Train a model, unless it is there, and write its attention on the test images; returns the run's folder."""
    output = folder / "runs" / task / one.name.replace(", ", "-").replace(" ", "")
    words: list[object] = [folder / "worlds", config_of(task), "--model", one.model, "--output", output]
    features: list[object] = []
    if one.sees in FEATURES:
        features = ["--features", folder / "features" / FEATURES[one.sees] / "worlds-images"]
    if one.model != "popular-answer":
        words += ["--epochs", one.epochs, "--batch-size", BATCH_SIZE]
        words += ["--optimizer", "adam", "--learning-rate", LEARNING_RATE]
        words += ["--questions", one.reads, "--seed", one.seed]
        words += [word for name, value in one.settings.items() for word in ("--model-settings", f"{name}={value}")]
    vqa_mc("train", *words, *features)
    if one.sees == "grid" and not (output / "attentions.json").exists():
        written = ("--attentions", output / "attentions.json", "--output", output / "answers.json")
        vqa_mc("predict", output / "best", folder / "worlds", config_of(task), *features, *written)
    return output


def accuracy(folder: Path, config: str, one: Trained, output: Path) -> float:
    """The accuracy of a trained model on the test questions of another config."""
    import hf_vqa_mc as vm

    features = folder / "features" / FEATURES[one.sees] / "worlds-images" if one.sees in FEATURES else None
    found = vm.predict(str(output / "best"), str(folder / "worlds"), config, split="test", features=features)
    return float(found.to_dict()["results"]["accuracy"])


def attention_share(folder: Path, task: str, output: Path) -> float | None:
    """The mean share of attention on the cell of the shape whose color is asked for; None without attention."""
    path = output / "attentions.json"
    if not path.exists():
        return None
    test = pq.read_table(
        folder / "worlds" / config_of(task) / "test-0.parquet", columns=["question_id", "cell"]
    ).to_pylist()
    cells = {row["question_id"]: row["cell"] for row in test}
    maps = {row["questionId"]: np.array(row["attention"]) for row in json.loads(path.read_text())}
    return float(np.mean([maps[name].T.flatten()[cell] for name, cell in cells.items()]))


def colors_alone(folder: Path, task: str) -> float:
    """The accuracy of the most frequent color of each image: what a count of the colors, without shapes, can reach."""
    graphs = json.loads((folder / "sceneGraphs.json").read_text())
    colors = {
        name: Counter(of_one["attributes"][1] for of_one in graph["objects"].values())
        for name, graph in graphs.items()
    }
    test = pq.read_table(folder / "worlds" / config_of(task) / "test-0.parquet").to_pylist()
    correct = []
    for row in test:
        counts = colors[row["image_id"]]
        best = [color for color, count in counts.items() if count == max(counts.values())]
        correct.append((row["answer"] in best) / len(best))
    return float(np.mean(correct))


def any_direction(folder: Path) -> dict[str, float]:
    """The accuracy by number of relations of a random shape that as many relations in any directions lead to."""
    graphs = json.loads((folder / "sceneGraphs.json").read_text())
    scores: dict[str, list[float]] = {}
    for row in pq.read_table(folder / "worlds" / "compose" / "test-0.parquet").to_pylist():
        objects = list(graphs[row["image_id"]]["objects"].values())
        shapes = [{"column": one["x"] // CELL, "row": one["y"] // CELL} for one in objects]
        at = {(shape["column"], shape["row"]): number for number, shape in enumerate(shapes)}
        first = int(row["semantic_str"].partition("(")[2].partition(")")[0])
        chains = _chains(int(row["answer_type"].split()[0]), at, shapes)
        colors = [objects[numbers[-1]]["attributes"][1] for _, numbers in chains if numbers[0] == first]
        scores.setdefault(row["answer_type"], []).append(colors.count(row["answer"]) / len(colors))
    return {length: float(np.mean(of_length)) for length, of_length in sorted(scores.items())}


def measured(folder: Path, task: str) -> Iterator[tuple[Trained, dict[str, Any]]]:
    """Each model of a task with its training.json and ``attention``, the share on the shape asked for."""
    for one in TASKS[task]:
        output = run(folder, task, one)
        record = json.loads((output / "best" / "training.json").read_text())
        also = {name: accuracy(folder, name, one, output) for name in ALSO[config_of(task)]}
        yield one, {**record, "also": also, "attention": attention_share(folder, task, output)}


def table(task: str, found: Sequence[tuple[Trained, Mapping[str, Any]]]) -> Iterator[str]:
    """The lines of the Markdown table."""
    config = config_of(task)
    names = {f"{config}_new": "new combinations", f"{config}_shuffled": "shuffled images"}
    also = [names[name] for name in ALSO[config]]
    lengths = [f"{length} relations" for length in range(MOST_RELATIONS + 1)] if config == "compose" else []
    columns = ["`--model`", "epochs", "accuracy", *lengths, *also, "attention to the shape"]
    yield f"| {' | '.join(columns)} |"
    yield f"|---|{'--:|' * (len(columns) - 1)}"
    for one, record in found:
        test = record["results"]["test"]
        values = [test["accuracy"], *(test["per_answer_type"][length] for length in lengths)]
        values += [record["also"][name] for name in ALSO[config]]
        cells = [f"{100 * value:.1f}" for value in values]
        cells[0] += f" ± {100 * test['stderr']:.1f}"
        cells.append("" if record["attention"] is None else f"{100 * record['attention']:.1f}")
        epochs = "" if one == POPULAR else str(one.epochs)
        yield f"| {' | '.join([one.name, epochs, *cells])} |"


def draw(curves: Mapping[str, Sequence[tuple[Trained, Mapping[str, Any]]]], path: Path) -> None:
    """Learning curves of each task: accuracy on the validation questions after each epoch."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.6 * len(curves), 3.6), sharey=True, squeeze=False)
    models = dict.fromkeys(one.model for of_task in TASKS.values() for one in of_task if one != POPULAR)
    color_of = {model: f"C{number}" for number, model in enumerate(models)}
    for axis, (task, found) in zip(axes[0], curves.items(), strict=True):
        trained = [(one, record["curve"]) for one, record in found if one != POPULAR and not one.seed]
        ends = spread([100 * curve[-1]["accuracy"] for _, curve in trained], LABEL_DISTANCE)
        for (one, curve), end in zip(trained, ends, strict=True):
            epochs, scores = zip(*((point["epoch"], 100 * point["accuracy"]) for point in curve), strict=True)
            dashes = "-" if one.sees == "grid" else "--"
            style = {"color": color_of[one.model], "linestyle": dashes if one.reads == "text" else "-."}
            axis.plot(epochs, scores, linewidth=1.5, **style)
            behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axis.text(
                epochs[-1] + 0.2, end, one.name, color=color_of[one.model], fontsize=7.5, va="center", bbox=behind
            )
        axis.axhline(100 / len(COLORS), color="gray", linewidth=0.8, linestyle=":")
        axis.set(title=task, xlabel="epoch", ylim=(0, 101), xlim=(1, None))
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("accuracy, percent")
    figure.tight_layout(w_pad=5)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def spread(values: Sequence[float], distance: float) -> list[float]:
    """Positions of labels near the values, so far apart, in the same order."""
    order = np.argsort(values)
    found = np.array(values, float)
    for _ in range(200):
        for low, high in pairwise(order):
            overlap = distance - (found[high] - found[low])
            if overlap > 0:
                found[low], found[high] = found[low] - overlap / 2, found[high] + overlap / 2
    return found.tolist()


def rows() -> Iterator[Row]:
    """Figures of a small version of `find`, a few minutes on two cores."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, {"train": 3_000, "validation": 100, "test": 300}, ["find"])
        scores = {}
        for one in SMALL:
            output = run(folder, "find", one)
            scores[one.model] = json.loads((output / "best" / "training.json").read_text())["results"]["test"]
            share = attention_share(folder, "find", output)
            yield f"finding one shape of ten, {one.model}: accuracy", 100 * scores[one.model]["accuracy"], "%", ""
        yield "attention to the shape of 16 cells, mac", 100 * (share or 0), "%", ">= 20"
        gain = 100 * (scores["mac"]["accuracy"] - scores["cnn-lstm"]["accuracy"])
        yield "mac better than cnn-lstm by", gain, "points", ">= 30"


def main() -> None:
    """Train, print the tables and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Where images, features and runs are kept.")
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS), help="By default all.")
    parser.add_argument("--picture", type=Path, help="File of the learning curves, .svg or .png.")
    given = parser.parse_args()
    curves = {}
    for task in given.tasks:
        is_large = task != config_of(task)
        folder = given.folder / "large" if is_large else given.folder
        prepare(folder, LARGE if is_large else IMAGES, [config_of(task)] if is_large else tuple(QUESTIONS))
        curves[task] = list(measured(folder, task))
        print(f"\n{task}; the most frequent color of the image: {100 * colors_alone(folder, task):.1f}\n")
        if config_of(task) == "compose":
            print(f"a random shape, in any direction: {any_direction(folder)}\n")
        print("\n".join(table(task, curves[task])), flush=True)
    if given.picture:
        draw(curves, given.picture)


if __name__ == "__main__":
    main()
