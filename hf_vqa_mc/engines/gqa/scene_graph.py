"""A normalised scene graph: what an image shows, in the words of the ontology; what its boxes say of sides; its scene.

Vertical relations are not taken from boxes: what is higher up may be behind (the paper's footnote 8). Weather,
location and place are kept where the objects leave no doubt (Sect. 3.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.vocabulary import vocabulary

SCENE = "scene"  # What programs select to ask about the image as a whole.
HORIZONTAL, VERTICAL = "hposition", "vposition"
"""The attribute types of where in the image an object is: left, middle, right; top, middle, bottom."""
LEFT, RIGHT = "to the left of", "to the right of"

Box: TypeAlias = tuple[int, int, int, int]  # x, y, width, height in pixels, x and y of the upper left corner

MAX_GAP = 0.25
"""Of the image's width: things farther apart are not to the left or right of one another. With the two
below read off GQA's published graphs: all their pairs keep it."""
MIN_LEVEL = 0.55  # How much of the lower one's height two boxes share.
MAX_COMMON = 0.5  # How much of the narrower one's width two boxes may share.

SIDE_CENTRE = 1 / 3  # On the left: its middle is in the image's left third and the whole of it in the left half.
MIDDLE = (0.4, 0.6)  # In the middle: its middle is in this part of the image, and it reaches no farther than ``WIDE``.
WIDE = (0.2, 0.8)

_ROUNDING = 1e-9  # So that a box and its mirrored one are on mirrored sides.


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of an image."""

    object_id: str
    name: str  # a name of the ontology
    box: Box
    values: Mapping[str, tuple[str, ...]]
    """attribute type to values, with positions in the image where they are clear; values without a type under "" """
    relations: frozenset[tuple[str, str]]
    """(relation, object_id of the object) of which this is the subject, with inverses and clear sides put in"""


@dataclass(frozen=True)
class SceneGraph:
    """An image's objects, in the order of the file."""

    image_id: str
    width: int
    height: int
    objects: Mapping[str, SceneObject]
    scene: Mapping[str, str] = field(default_factory=dict)
    """what is known of the image as a whole: ``weather``, ``location`` (indoors, outdoors), ``place``"""
    unclear: frozenset[str] = frozenset()  # kinds that names of left-out objects mention: there may be some
    nameless: bool = False  # an object was left out whose name nobody knows, so that it may be of any category

    def related(self, subject: str, relation: str, target: str) -> bool:
        """Whether the graph says so."""
        return (relation, target) in self.objects[subject].relations


def is_left_of(one: Box, other: Box, image_width: int) -> bool:
    """Whether one box clearly is to the left of another that is near and at the same height.

    >>> is_left_of((10, 10, 50, 50), (80, 20, 50, 50), 400), is_left_of((80, 20, 50, 50), (10, 10, 50, 50), 400)
    (True, False)
    """
    x, y, width, height = one
    other_x, other_y, other_width, other_height = other
    begins, ends = x < other_x, x + width < other_x + other_width
    gap = other_x - (x + width)
    level = min(y + height, other_y + other_height) - max(y, other_y)
    return (
        begins
        and ends
        and gap <= MAX_GAP * image_width
        and level >= MIN_LEVEL * min(height, other_height)
        and -gap <= MAX_COMMON * min(width, other_width)
    )


def position(start: int, length: int, whole: int) -> int | None:
    """Which third a stretch clearly lies in: 0 the first, 1 the middle, 2 the last; None if it is not clear.

    >>> [position(*stretch, 100) for stretch in ((5, 20), (40, 20), (70, 30), (0, 100))]
    [0, 1, 2, None]
    """
    begin, end = start / whole, (start + length) / whole
    middle = (begin + end) / 2
    if middle <= SIDE_CENTRE + _ROUNDING and end <= 0.5:
        return 0
    if middle >= 1 - SIDE_CENTRE - _ROUNDING and begin >= 0.5:
        return 2
    centred = MIDDLE[0] - _ROUNDING <= middle <= MIDDLE[1] + _ROUNDING
    if centred and begin >= WIDE[0] - _ROUNDING and end <= WIDE[1] + _ROUNDING:
        return 1
    return None


def overlap(one: Box, other: Box) -> float:
    """The area that two boxes share by that which they cover, in [0, 1]."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (one[2] * one[3] + other[2] * other[3] - common)


def within(box: Box, width: int, height: int) -> Box | None:
    """The part of a box that is in the image, None if nothing of it is."""
    x, y = max(0, box[0]), max(0, box[1])
    right, bottom = min(width, box[0] + box[2]), min(height, box[1] + box[3])
    return (x, y, right - x, bottom - y) if right > x and bottom > y else None


@dataclass(frozen=True)
class Room:
    """What proves a room."""

    least: int
    kinds: frozenset[str]


@dataclass(frozen=True)
class SceneSigns:
    """The schema of ``scenes.yaml``, which describes its keys."""

    outdoors: frozenset[str]
    indoors: frozenset[str]
    rooms: dict[str, Room]
    not_of_homes: frozenset[str]
    wide_places: dict[str, float]
    pictures: frozenset[str]


SIGNS = vocabulary("gqa/scenes", SceneSigns)


def scene_of(
    objects: Sequence[SceneObject],
    told: Mapping[str, str],
    image_values: Sequence[str],
    size: tuple[int, int],
    ontology: Ontology,
) -> dict[str, str]:
    """Weather, location and place, as far as they are told or follow.

    ``told`` by the file, in the ontology's words, goes before what follows from objects; ``image_values`` are those
    that annotators gave to the image itself ("scene: sunny").
    """
    scene = dict(told)
    kinds = {ontology.nouns[thing.name].kind for thing in objects}
    for value in image_values:
        for kind in ("weather", "location"):
            if kind in ontology.attributes[value].types:
                scene.setdefault(kind, value)
    weather = {value for thing in objects if thing.name == "sky" for value in thing.values.get("weather", ())}
    if len(weather) == 1:
        scene.setdefault("weather", *weather)
    outdoors, indoors = len(kinds & SIGNS.outdoors), len(kinds & SIGNS.indoors)
    if outdoors and not indoors and kinds & {"sky", "ocean", "mountain", "beach", "road", "street", "wave"}:
        scene.setdefault("location", "outdoors")
    if indoors >= 2 and not outdoors:
        scene.setdefault("location", "indoors")
    place = _place(objects, kinds, scene.get("location"), size)
    if place and "place" in ontology.attributes[place].types:
        scene.setdefault("place", place)
    return scene


def _place(objects: Sequence[SceneObject], kinds: set[str], location: str | None, size: tuple[int, int]) -> str | None:
    if location != "outdoors":
        found = {name: len(kinds & room.kinds) for name, room in SIGNS.rooms.items() if kinds & room.kinds}
        sure = location == "indoors" and len(found) == 1 and kinds.isdisjoint(SIGNS.not_of_homes)
        return next((name for name, count in found.items() if sure and count >= SIGNS.rooms[name].least), None)
    area = size[0] * size[1]
    wide = {
        thing.name for thing in objects if thing.box[2] * thing.box[3] >= SIGNS.wide_places.get(thing.name, 2.0) * area
    }
    return next(iter(wide)) if len(wide) == 1 else None
