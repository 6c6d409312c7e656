"""A small scene, questions about it written by hand in the published form, and the output folder they make."""

import copy
import json
from pathlib import Path
from typing import Any

from tests.engines.gqa.independent_checker.raw_graph import RawGraph, gqa_graph
from tests.engines.gqa.independent_checker.sentence import Lexicon
from tests.engines.gqa.independent_checker.vocabulary import vocabulary

OBJECTS = """
thing,1,thing,S
person,9,person,S
people,9,person,P
man,9,person,S
woman,9,person,S
fruit,9,fruit,S
apple,9,fruit,S
apples,9,fruit,P
banana,9,fruit,S
pear,9,fruit,S
furniture,9,furniture,S
table,9,furniture,S
desk,9,furniture,S,K:table
chair,9,furniture,S
couch,9,furniture,S,E:sofa
dog,9,animal,S
poodle,9,animal,S,K:dog
cat,9,animal,S
pants,9,clothing,P,E:trousers
umbrella,9,accessory,S
clothing,9,clothing,M
animal,9,animal,S
"""
ATTRIBUTES = """
red;9;color;S:orange,pink
orange;9;color;S:red
green;9;color
white;9;color
black;9;color
wood;9;material;C:wood;A:wooden
metal;9;material;C:metal;A:metallic
steel;9;material;C:metal
round;9;shape
square;9;shape
small;9;size;E:little
large;9;size;E:big
sitting;9;pose
standing;9;pose
young;9;age
old;9;age
"""


def _object(name: str, box: tuple[int, int, int, int], *attributes: str, **relations: list[str]) -> dict[str, Any]:
    x, y, w, h = box
    told = [{"name": key.replace("_", " "), "object": other} for key, others in relations.items() for other in others]
    return {"name": name, "x": x, "y": y, "w": w, "h": h, "attributes": list(attributes), "relations": told}


GRAPH = {
    "width": 500,
    "height": 400,
    "objects": {
        "1": _object("apple", (10, 200, 40, 40), "red", "round", to_the_left_of=["3", "6"], on=["3"]),
        "2": _object("apple", (420, 200, 40, 40), "green"),
        "3": _object("table", (60, 220, 300, 150), "wood", "large", to_the_left_of=["2"]),
        "4": _object("woman", (380, 50, 60, 300), "sitting", "young", wearing=["5"]),
        "5": _object("pants", (380, 200, 60, 150), "black"),
        "6": _object("chair", (400, 250, 90, 140), "metal", "black", to_the_right_of=["1"]),
        "7": _object("poodle", (250, 300, 60, 60), "white", "small"),
    },
}
"""image "10": two apples, a table, a woman in pants, a chair, a poodle"""


def world() -> tuple[dict[str, RawGraph], Lexicon]:
    """The scene graph as the checker reads it, with what its words mean."""
    return {"10": gqa_graph(GRAPH)}, Lexicon(vocabulary(OBJECTS, ATTRIBUTES))


def step(operation: str, argument: str = "", *inputs: int) -> dict[str, Any]:
    """A published step."""
    return {"operation": operation, "argument": argument, "dependencies": list(inputs)}


_ROWS: list[
    tuple[str, str, str, list[dict[str, Any]], tuple[str, str, str | None, str], dict[str, dict[str, str]]]
] = [
    (
        "What color is the woman's chair?".replace("woman's ", ""),
        "black",
        "The chair is black.",
        [step("select", "chair (6)"), step("query", "color", 0)],
        ("query", "attr", "color", "chair-color"),
        {"question": {"4": "6"}, "fullAnswer": {"1": "6"}},
    ),
    (
        "Is the chair black?",
        "yes",
        "Yes, the chair is black.",
        [step("select", "chair (6)"), step("verify color", "black", 0)],
        ("verify", "attr", None, "chair-black"),
        {"question": {"2": "6"}, "fullAnswer": {"2": "6"}},
    ),
    (
        "Is the chair white?",
        "no",
        "No, the chair is black.",
        [step("select", "chair (6)"), step("verify color", "white", 0)],
        ("verify", "attr", None, "chair-white"),
        {"question": {"2": "6"}, "fullAnswer": {"2": "6"}},
    ),
    (
        "Is the red apple to the left or to the right of the chair?",
        "left",
        "The apple is to the left of the chair.",
        [step("select", "chair (6)"), step("choose rel", "apple,to the left of|to the right of,s (1)", 0)],
        ("choose", "rel", None, "apple-chair"),
        {"question": {"2:4": "1", "13": "6"}, "fullAnswer": {"1": "1", "8": "6"}},
    ),
    (
        "Is there a banana in the picture?",
        "no",
        "No, there are no bananas.",
        [step("select", "banana (-)"), step("exist", "?", 0)],
        ("verify", "obj", None, "banana"),
        {},
    ),
    (
        "Who is wearing pants?",
        "woman",
        "The woman is wearing pants.",
        [step("select", "pants (5)"), step("relate", "person,wearing,s (4)", 0), step("query", "name", 1)],
        ("query", "rel", "person", "pants-wearing"),
        {"question": {"3": "5"}, "answer": {"0": "4"}, "fullAnswer": {"1": "4", "4": "5"}},
    ),
    (
        "What fruit is on the wooden table?",
        "apple",
        "The fruit is an apple.",
        [
            step("select", "table (3)"),
            step("filter material", "wood", 0),
            step("relate", "fruit,on,s (1)", 1),
            step("query", "name", 2),
        ],
        ("query", "rel", "fruit", "table-on"),
        {"question": {"1": "1", "5:7": "3"}, "answer": {"0": "1"}, "fullAnswer": {"1": "1", "4": "1"}},
    ),
    (
        "Is the table made of wood or metal?",
        "wood",
        "The table is made of wood.",
        [step("select", "table (3)"), step("choose material", "wood|metal", 0)],
        ("choose", "attr", "material", "table-material"),
        {"question": {"2": "3"}, "fullAnswer": {"1": "3"}},
    ),
    (
        "Are there both a chair and a couch?",
        "no",
        "No, there is a chair but no couches.",
        [
            step("select", "chair (6)"),
            step("exist", "?", 0),
            step("select", "couch (-)"),
            step("exist", "?", 2),
            step("and", "", 1, 3),
        ],
        ("logical", "obj", None, "chair-couch"),
        {"question": {"4": "6"}},
    ),
    (
        "Are the pants and the chair the same color?",
        "yes",
        "Yes, both the pants and the chair are black.",
        [step("select", "pants (5)"), step("select", "chair (6)"), step("same color", "", 0, 1)],
        ("compare", "attr", None, "chair-pants"),
        {"question": {"2": "5", "5": "6"}},
    ),
]


def records() -> dict[str, dict[str, Any]]:
    """The questions by id, "1001" on; the first two and the third follow from the first."""
    made: dict[str, dict[str, Any]] = {}
    for number, (question, answer, full, semantic, types, notes) in enumerate(_ROWS, 1001):
        made[str(number)] = {
            "question": question,
            "answer": answer,
            "fullAnswer": full,
            "imageId": "10",
            "isBalanced": number % 2 == 1,
            "types": {"structural": types[0], "semantic": types[1], "detailed": "byHand"},
            "groups": {"global": types[2], "local": types[3]},
            "semantic": semantic,
            "semanticStr": _in_one_line(semantic),
            "annotations": {"question": {}, "answer": {}, "fullAnswer": {}} | notes,
            "entailed": [],
            "equivalent": [str(number)],
        }
    made["1001"]["entailed"] = ["1002", "1003"]
    made["1002"]["entailed"] = ["1001", "1003"]
    return copy.deepcopy(made)


def _in_one_line(semantic: list[dict[str, Any]]) -> str:
    said = []
    for one in semantic:
        inputs = f" {one['dependencies']}" if one["dependencies"] else ""
        said.append(f"{one['operation']}: {one['argument']}{inputs}")
    return "->".join(said)


def write(folder: Path, made: dict[str, dict[str, Any]], split: str = "train") -> Path:
    """The folder that an engine would have written."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = sorted({record["answer"] for record in made.values()})
    files = {
        f"{split}_all_questions": made,
        f"{split}_balanced_questions": {key: record for key, record in made.items() if record["isBalanced"]},
        f"{split}_sceneGraphs": {"10": GRAPH},
        f"{split}_choices": {key: {"valid": answers, "plausible": [record["answer"]]} for key, record in made.items()},
        "statistics": {},
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return folder
