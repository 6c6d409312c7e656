"""What a raw scene graph says of its objects and of the whole, and what it leaves open."""

from typing import NamedTuple

from tests.engines.gqa.independent_checker.raw_graph import OPPOSITE, RawGraph
from tests.engines.gqa.independent_checker.relations import apart, inverse, same_relation
from tests.engines.gqa.independent_checker.vocabulary import COLOUR_LIKE, MAYBE, NO, SURE, WORDS, Vocabulary

POSITIONS = {"hposition": ("left", "right"), "vposition": ("top", "bottom")}
MARGIN = 0.5
"""an object is on the left if its middle is in the left half of the image and it is not ..."""
ACROSS = 2 / 3
"""... so wide that it reaches beyond two thirds of the image"""
YES, NOT, OPEN = "yes", "no", "?"


class Objects(NamedTuple):
    """What a step found."""

    sure: frozenset[str]
    wide: frozenset[str]
    open: frozenset[str]


class Annotation:
    """A graph and what its words mean."""

    def __init__(self, graph: RawGraph, words: Vocabulary):
        self.graph, self.words = graph, words

    def fit(self, object_id: str, name: str) -> int:
        names = self.graph.objects[object_id].names
        return max((self.words.fits(own, name) for own in names), default=NO)

    def named(self, name: str) -> Objects:
        fits = {key: self.fit(key, name) for key in self.graph.objects}
        sure = frozenset(key for key, fit in fits.items() if fit == SURE)
        wide = frozenset(key for key, fit in fits.items() if fit >= MAYBE)
        return Objects(sure, wide, wide)

    def values(self, key: str, kind: str) -> list[str]:
        """Annotated values of a type."""
        own = self.graph.objects[key].values
        values = [value for value in own if kind in self.words.types(value)]
        values = values or [value for value in own if COLOUR_LIKE.get(kind, set()) & self.words.types(value)]
        return values

    def holds(self, key: str, kind: str, value: str) -> str:
        """Whether an object has a value: yes, no (another value of the type is annotated), or "?"."""
        if kind in POSITIONS:
            return self.placed(key, kind, value)
        annotated = self.graph.objects[key].values
        if any(self.words.includes(own, value) for own in annotated):
            return YES
        return NOT if any(self.words.excludes(own, value) for own in annotated) else OPEN

    def placed(self, key: str, kind: str, value: str) -> str:
        x, y, width, height = self.graph.objects[key].box
        start, length, whole = (x, width, self.graph.width) if kind == "hposition" else (y, height, self.graph.height)
        first, end, middle = start / whole, (start + length) / whole, (start + length / 2) / whole
        if value == "middle":
            return YES if 1 / 3 <= middle <= 2 / 3 else NOT
        low, _ = POSITIONS[kind]
        if value == low:
            return YES if middle < MARGIN and end <= ACROSS else NOT if middle >= MARGIN else OPEN
        return YES if middle > MARGIN and first >= 1 - ACROSS else NOT if middle <= MARGIN else OPEN

    def of_scene(self, kind: str, value: str) -> str:
        """The value if the annotation of the whole image, or what is in it, says so."""
        known = self.graph.scene.get(kind)
        if known:
            return value if self.words.alike(known, value) else known
        if kind in ("place", "room"):
            return self.place(value)
        return OPEN if kind == "weather" else self.location(value)

    def location(self, value: str) -> str:
        rooms = any(
            "room" in self.words.categories(name) for item in self.graph.objects.values() for name in item.names
        )
        inside = rooms or any(self.named(name).sure for name in WORDS["indoors"])
        outside = any(self.named(name).sure for name in WORDS["outdoors"])
        if value in ("indoors", "outdoors") and inside != outside:
            return "indoors" if inside else "outdoors"
        return OPEN

    def place(self, value: str) -> str:
        """The place, if it is annotated, or if there are things of that room and of no other."""
        if self.named(value).wide:
            return value
        rooms = {
            room for room, names in WORDS["rooms"].items() if any(self.named(name).sure for name in names.split())
        }
        return value if rooms == {value} else OPEN

    def scene_holds(self, kind: str, value: str) -> str:
        if self.of_scene(kind, value) == value:
            return YES
        known = self.graph.scene.get(kind)
        if known:
            return NOT
        if kind in ("place", "room"):
            return OPEN if self.place(value) == value else NOT
        return NOT if kind == "location" and self.of_scene(kind, value) not in (OPEN, value) else OPEN

    def related(self, key: str, relation: str, side: str, other: str) -> bool | None:
        """Whether an object is the subject (s) or the object (o) of a relation to another; None: nothing annotated."""
        subject, target = (key, other) if side == "s" else (other, key)
        if relation in OPPOSITE:
            return self.graph.related(subject, relation, target)
        said = [name for _, name, _ in self.graph.between(subject, target)]
        back = [inverse(name) for _, name, _ in self.graph.between(target, subject)]
        if any(same_relation(name, relation) for name in [*said, *back] if name):
            return True
        return False if any(apart(name, relation) for name in [*said, *back] if name) else None

    def share(self, kind: str, one: str, other: str) -> bool:
        return any(self.words.same_value(a, b) for a in self.values(one, kind) for b in self.values(other, kind))

    def show(self, ids: frozenset[str]) -> str:
        return ", ".join(f"{self.graph.objects[key].names[0]} {key}" for key in sorted(ids)[:5])
