"""A small scene graph in GQA's format and the words that it uses."""

from typing import Any

from tests.engines.gqa.independent_checker.raw_graph import RawGraph, gqa_graph
from tests.engines.gqa.independent_checker.vocabulary import Vocabulary, vocabulary

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
    listed = [{"name": key.replace("_", " "), "object": other} for key, to in relations.items() for other in to]
    return {"name": name, "x": x, "y": y, "w": w, "h": h, "attributes": list(attributes), "relations": listed}


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


def world() -> tuple[RawGraph, Vocabulary]:
    """The scene graph as the checker reads it, and the vocabulary."""
    return gqa_graph(GRAPH), vocabulary(OBJECTS, ATTRIBUTES)


def step(operation: str, argument: str = "", *inputs: int) -> dict[str, Any]:
    """A published step."""
    return {"operation": operation, "argument": argument, "dependencies": list(inputs)}
