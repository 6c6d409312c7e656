"""Scene graphs as published in GQA's sceneGraphs files."""

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LEFT, RIGHT = "to the left of", "to the right of"
TWIN = 0.7
"""boxes of the same name that overlap by so much of what they cover together are one thing annotated twice"""
OVERLAP = 0.5
"""of the narrower box that may lie in the other: 4,234 of the 4,235 published sides keep to it"""
OPPOSITE = {LEFT: RIGHT, RIGHT: LEFT}


@dataclass
class RawObject:
    """An object as annotated."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    box: tuple[float, float, float, float]
    """x, y, width, height in pixels"""


@dataclass
class RawGraph:
    """An image's annotation."""

    objects: dict[str, RawObject]
    relations: set[tuple[str, str, str]]
    """subject, relation, object"""
    width: float = 0
    height: float = 0
    scene: dict[str, str] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    """each object to the first of those that are the same thing"""
    _between: dict[tuple[str, str], list[tuple[str, str, str]]] = field(init=False, repr=False)

    def __post_init__(self):
        self._between = {}
        for subject, relation, target in sorted(self.relations):
            self._between.setdefault((subject, target), []).append((subject, relation, target))

    def between(self, subject: str, target: str) -> list[tuple[str, str, str]]:
        """The relations annotated of a subject to an object."""
        return self._between.get((subject, target), [])

    def one(self, key: str) -> str:
        """The object that stands for it and its twins."""
        return self.twins.get(key, key)

    def side(self, one: str, other: str) -> str:
        """Where the box of one lies clearly beside that of the other: LEFT, RIGHT or ""."""
        a, b = self.objects[one].box, self.objects[other].box
        shared = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
        if shared > OVERLAP * min(a[2], b[2]):
            return ""
        return LEFT if a[0] + a[2] / 2 < b[0] + b[2] / 2 else RIGHT

    def related(self, subject: str, relation: str, target: str) -> bool | None:
        """Whether the annotation, or for left and right else the boxes, say so; None where they say nothing."""
        if self.one(subject) == self.one(target):
            return False
        if (subject, relation, target) in self.relations:
            return True
        if relation not in OPPOSITE:
            return None
        opposite = OPPOSITE[relation]
        if (target, opposite, subject) in self.relations:
            return True
        if (subject, opposite, target) in self.relations or (target, relation, subject) in self.relations:
            return False
        side = self.side(subject, target)
        return side == relation if side else None


def read_json(path: Path) -> Any:
    """The content of a file, packed or not."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        return json.load(file)


def gqa_graph(graph: Mapping[str, Any]) -> RawGraph:
    """A graph of GQA's files."""
    objects = {
        key: RawObject((_clean(item["name"]),), tuple(map(_clean, item.get("attributes", ()))), _box(item))
        for key, item in graph["objects"].items()
    }
    relations = {
        (key, _clean(relation["name"]), str(relation["object"]))
        for key, item in graph["objects"].items()
        for relation in item.get("relations", ())
    }
    scene = {key: _clean(graph[key]) for key in ("location", "weather") if graph.get(key)}
    return _whole(objects, relations, graph.get("width") or 0, graph.get("height") or 0, scene)


def _whole(objects: dict[str, RawObject], relations: set[tuple[str, str, str]], *rest: Any) -> RawGraph:
    """The graph with what was annotated twice taken for one thing: its values and relations are those of both."""
    twins: dict[str, list[str]] = {}
    for key in objects:
        twins[key] = [other for other in objects if other == key or _is_twin(objects[key], objects[other])]
    merged = {
        key: RawObject(
            item.names, tuple(dict.fromkeys(v for one in twins[key] for v in objects[one].values)), item.box
        )
        for key, item in objects.items()
    }
    known = {
        (one, name, other)
        for subject, name, target in relations
        if {subject, target} <= objects.keys()
        for one in twins[subject]
        for other in twins[target]
    }
    graph = RawGraph(merged, known, *rest)
    graph.twins = {key: min(others) for key, others in twins.items()}
    return graph


def _is_twin(one: RawObject, other: RawObject) -> bool:
    if one.names != other.names:
        return False
    (x, y, w, h), (x2, y2, w2, h2) = one.box, other.box
    wide = min(x + w, x2 + w2) - max(x, x2)
    high = min(y + h, y2 + h2) - max(y, y2)
    both = max(wide, 0) * max(high, 0)
    return both >= TWIN * (w * h + w2 * h2 - both)


def _clean(text: str) -> str:
    return " ".join(str(text).lower().split())


def _box(item: Mapping[str, Any]) -> tuple[float, float, float, float]:
    return item["x"], item["y"], item["w"], item["h"]
