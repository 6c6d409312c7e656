"""How fast GQA's engine makes questions, and in how much memory: `python .ci/benchmarks/generate_gqa.py [IMAGES]`.

The scene graphs are made by chance from our own ontology: frequent names, attributes and relations are frequent here
too, by Zipf's law. Each size runs in a process of its own, so that its memory is its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

N_IMAGES = 6_000  # a million questions
NAMES = (
    "man shirt tree wall window building table sky woman grass sign chair hat car dog plate cup bag horse bottle cat "
    "bus boy girl fence lamp bowl apple train jacket clock pizza laptop phone elephant zebra bench umbrella banana "
    "sheep truck couch bicycle bird cow desk pillow boat vase knife"
).split()
VALUES = {
    "color": "white black blue green red brown gray yellow orange pink purple".split(),
    "material": "wood metal plastic glass brick leather".split(),
    "size": "large small".split(),
}
RELATIONS = ("on", "near", "wearing", "holding", "behind", "in front of", "under", "above", "sitting on")
SCENES = ("sunny", "cloudy", "indoors", "outdoors")
WIDTH, HEIGHT = 640, 480


def rows(n_images: int = N_IMAGES) -> list[Row]:
    """The figures of a run over so many images, and of one over half of them."""
    half, whole = measured(n_images // 2), measured(n_images)
    per_question = [run["total"] / run["questions"] for run in (half, whole)]
    memory = (whole["peak"] - half["peak"]) / (whole["questions"] - half["questions"])
    return [
        ("GQA questions generated", whole["questions"], "", ""),
        ("GQA questions a second, all in all", 1 / per_question[1], "/s", ""),
        *((f"GQA, {step}", seconds, "s", "") for step, seconds in whole["seconds"].items()),
        ("GQA, entailment alone", entailed_a_second(), "questions/s", ">= 5,000"),
        ("GQA, time for twice as many questions", 2 * per_question[1] / per_question[0], "times", "< 2.2"),
        ("GQA, peak memory", whole["peak"] / 2**20, "MiB", "< 1,000"),
        ("GQA, memory for a question more", memory, "bytes", "< 400"),
    ]


def measured(n_images: int) -> dict[str, Any]:
    """What one run took, in a process of its own."""
    run = subprocess.run([sys.executable, __file__, "--one", str(n_images)], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def one(n_images: int) -> dict[str, Any]:
    """Generates a dataset about made graphs and times the steps, as far as they are told of."""
    from hf_vqa_mc.engines.gqa.generate import generate

    seconds: Counter[str] = Counter()
    last = ("starting", time.perf_counter())

    def progress(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[last[0]] += now - last[1]
        last = (step, now)

    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "train_sceneGraphs.json"
        write_graphs(path, n_images)
        started = time.perf_counter()
        statistics = generate([path], Path(temporary) / "made", progress=progress)
        total = time.perf_counter() - started
    told = {name: statistics[name] for name in ("selection", "entropy")}
    counts = {part: statistics[part]["per_structural_type"] for part in ("all", "balanced")}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    questions = statistics["all"]["questions"]
    return {"questions": questions, "seconds": seconds, "total": total, "peak": peak, **told, **counts}


def entailed_a_second(n_images: int = 100) -> float:
    """Questions whose entailments are found in a second."""
    from hf_vqa_mc.engines.gqa.distractors import Distractors
    from hf_vqa_mc.engines.gqa.entailment import entailments
    from hf_vqa_mc.engines.gqa.normalising import normalise
    from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
    from hf_vqa_mc.engines.gqa.question_types import questions_about
    from hf_vqa_mc.engines.gqa.scene_graph_files import read_gqa_graphs
    from hf_vqa_mc.sources.files import PublishedFile

    ontology, problems = read_ontology(None, None), Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "train_sceneGraphs.json"
        write_graphs(path, n_images)
        read = [normalise(raw, ontology, problems) for raw in read_gqa_graphs(PublishedFile(path.name, path))]
    graphs = [graph for graph in read if graph is not None]
    distractors = Distractors(graphs, ontology)
    asked = [list(questions_about(graph, ontology, distractors)) for graph in graphs]
    started = time.perf_counter()
    for graph, questions in zip(graphs, asked, strict=True):
        entailments(questions, graph, ontology)
    return sum(map(len, asked)) / (time.perf_counter() - started)


def write_graphs(path: Path, n_images: int) -> None:
    """A file of made scene graphs in GQA's layout."""
    with path.open("w", encoding="utf-8") as file:
        file.write("{")
        for number, graph in enumerate(made_graphs(n_images)):
            file.write(f'{"," if number else ""}"{1_000_000 + number}": {json.dumps(graph)}')
        file.write("}")


def made_graphs(n_images: int) -> Iterator[dict[str, Any]]:
    """Scene graphs by chance, each from its own number."""
    for number in range(n_images):
        random = Random(number)
        n_objects = random.randint(6, 20)
        objects = {str(number * 100 + place): made_object(random) for place in range(n_objects)}
        for key in random.choices(list(objects), k=n_objects):
            other = random.choice(list(objects))
            if other != key:
                objects[key]["relations"].append({"name": zipf(random, RELATIONS), "object": other})
        graph = {"width": WIDTH, "height": HEIGHT, "objects": objects}
        if random.random() < 0.3:
            scene = random.choice(SCENES)
            graph["weather" if scene.endswith("y") else "location"] = scene
        yield graph


def made_object(random: Random) -> dict[str, Any]:
    """An object with its box and, as a rule, a value or two."""
    w, h = random.randint(20, 200), random.randint(20, 200)
    name = zipf(random, NAMES)
    turned = Random(name)
    values = [
        zipf(random, turned.sample(some, len(some)))
        for some in VALUES.values()
        if random.random() < (0.6 if len(some) > 6 else 0.25)
    ]
    return {
        "name": name,
        "x": random.randint(0, WIDTH - w),
        "y": random.randint(0, HEIGHT - h),
        "w": w,
        "h": h,
        "attributes": values,
        "relations": [],
    }


def zipf(random: Random, names: Sequence[str]) -> str:
    """One of the names, the first most often."""
    return random.choices(names, [1 / (place + 1) for place in range(len(names))])[0]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(int(sys.argv[2]))))
    else:
        for row in rows(*map(int, sys.argv[1:2])):
            print(row)
