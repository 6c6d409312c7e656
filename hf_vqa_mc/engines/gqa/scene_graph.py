"""GQA's files of scene graphs, and normalised graphs in the words of the ontology.

What annotators leave imperfect is passed on; ``normalising`` leaves it out and counts it. Vertical relations are not
derived from boxes: what is higher up may be behind (footnote 8 of Hudson and Manning 2019). Location and place are
derived if the objects are unambiguous (Sect. 3.2).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.visual_genome import Box, RawGraph, RawObject, boxes, read_visual_genome, size_of
from hf_vqa_mc.engines.vocabulary import Vocabulary
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.sources.files import Folder, PublishedFile

SCENE = "scene"  # Programs select it to ask about the image as a whole.
HORIZONTAL, VERTICAL = "hposition", "vposition"
"""Attribute types of positions in the image: left, middle, right; top, middle, bottom."""
LEFT, RIGHT = "to the left of", "to the right of"

# Objects are left or right of one another within these bounds, which all pairs of GQA's published graphs satisfy:
MAX_GAP = 0.25  # maximum gap between the boxes, fraction of the image's width
MIN_LEVEL = 0.55  # minimum common height, fraction of the lower box
MAX_COMMON = 0.5  # maximum common width, fraction of the narrower box

SIDE_CENTRE = 1 / 3  # On the left: the centre in the image's left third and the whole object in the left half.
MIDDLE = (0.4, 0.6)  # In the middle: the centre in this part of the image, the whole object within ``WIDE``.
WIDE = (0.2, 0.8)

_ROUNDING = 1e-9  # So that a box and its mirror image are on mirrored sides.


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of an image."""

    object_id: str
    name: str  # a name of the ontology
    box: Box
    values: Mapping[str, tuple[str, ...]]  # by type, "" for none, with unambiguous positions in the image
    relations: frozenset[tuple[str, str]]
    """(relation, object_id of the object) of which this is the subject, with inverses and sides by boxes"""


@dataclass(frozen=True, eq=False)
class SceneGraph:
    """An image's objects, in the order of the file."""

    image_id: str
    width: int
    height: int
    objects: Mapping[str, SceneObject]
    scene: Mapping[str, str] = field(default_factory=dict)
    """what is known of the whole image: ``weather``, ``location`` (indoors, outdoors), ``place``"""
    unclear: frozenset[str] = frozenset()  # kinds mentioned by names of left-out objects: they may be present
    nameless: bool = False  # an object with an unknown name was left out: it may be of any category

    def related(self, subject: str, relation: str, target: str) -> bool:
        """Whether the graph has this relation."""
        return (relation, target) in self.objects[subject].relations


def is_left_of(one: Box, other: Box, image_width: int) -> bool:
    """Whether a box is to the left of another one that is near and at the same height."""
    (x, y, width, height), (other_x, other_y, other_width, other_height) = one, other
    gap = other_x - (x + width)
    level = min(y + height, other_y + other_height) - max(y, other_y)
    return (
        x < other_x  # it begins and ends before the other
        and -gap < other_width
        and gap <= MAX_GAP * image_width
        and level >= MIN_LEVEL * min(height, other_height)
        and -gap <= MAX_COMMON * min(width, other_width)
    )


def position(start: int, length: int, whole: int) -> int | None:
    """The third in which a stretch lies: 0 the first, 1 the middle, 2 the last; None if ambiguous."""
    begin, end = start / whole, (start + length) / whole
    middle = (begin + end) / 2
    if middle <= SIDE_CENTRE + _ROUNDING and end <= 0.5:
        return 0
    if middle >= 1 - SIDE_CENTRE - _ROUNDING and begin >= 0.5:
        return 2
    centred = MIDDLE[0] - _ROUNDING <= middle <= MIDDLE[1] + _ROUNDING
    return 1 if centred and begin >= WIDE[0] - _ROUNDING and end <= WIDE[1] + _ROUNDING else None


def sides_of(box: Box, size: tuple[int, int]) -> dict[str, tuple[str, ...]]:
    """The unambiguous positions of a box in an image of that size, as values by type."""
    sides = {HORIZONTAL: ("left", "middle", "right"), VERTICAL: ("top", "middle", "bottom")}
    thirds = {kind: position(box[axis], box[axis + 2], size[axis]) for axis, kind in enumerate(sides)}
    return {kind: (sides[kind][third],) for kind, third in thirds.items() if third is not None}


SIGNS = Vocabulary("gqa/scenes")
_WIDE_PLACES = SIGNS.read("wide places", dict[str, float])
_ROOMS, _FEWEST = SIGNS.read("rooms", dict[str, frozenset[str]]), SIGNS.read("fewest", dict[str, int])


def scene_of(
    objects: Sequence[SceneObject],
    given: Mapping[str, str],
    image_values: Sequence[str],
    size: tuple[int, int],
    ontology: Ontology,
) -> dict[str, str]:
    """Weather, location and place: given by the file, annotated of the image itself, or derived from objects."""
    scene = dict(given)
    kinds = {ontology.nouns[thing.name].kind for thing in objects}
    for value in image_values:
        for kind in ("weather", "location"):
            if kind in ontology.attributes[value].types:
                scene.setdefault(kind, value)
    weather = {value for thing in objects if thing.name == "sky" for value in thing.values.get("weather", ())}
    if len(weather) == 1:
        scene.setdefault("weather", *weather)
    outdoors, indoors = len(kinds & SIGNS["outdoors"]), len(kinds & SIGNS["indoors"])
    if outdoors and not indoors and kinds & {"sky", "ocean", "mountain", "beach", "road", "street", "wave"}:
        scene.setdefault("location", "outdoors")
    if indoors >= 2 and not outdoors:
        scene.setdefault("location", "indoors")
    places: set[str] = set()
    if scene.get("location") == "outdoors":
        wide = {name: part * size[0] * size[1] for name, part in _WIDE_PLACES.items()}
        places = {one.name for one in objects if one.name in wide and one.box[2] * one.box[3] >= wide[one.name]}
    elif scene.get("location") == "indoors" and kinds.isdisjoint(SIGNS["not of homes"]):
        places = {name for name, of_room in _ROOMS.items() if kinds & of_room}
        places -= {name for name in places if len(places) == 1 and len(kinds & _ROOMS[name]) < _FEWEST[name]}
    if len(places) == 1 and "place" in ontology.attributes[min(places)].types:
        scene.setdefault("place", *places)
    return scene


def read_graphs(path: Path, problems: Counter[str]) -> Iterator[RawGraph]:
    """Read a file of GQA's or a folder of Visual Genome's; ``problems`` counts what is left out, by reason."""
    if not path.exists():
        raise InputError(f"{path}: no such file; expected GQA's scene graphs, or a folder with Visual Genome's")
    if not path.is_dir():
        return read_gqa_graphs(PublishedFile(path.name, path))
    return read_visual_genome(Folder(path), problems)


def read_gqa_graphs(file: PublishedFile) -> Iterator[RawGraph]:
    """Read the scene graphs of a file of GQA's, such as ``train_sceneGraphs.json``, one by one."""
    for image_id, value in chain.from_iterable(object_items(file)):
        location = f"{file.location}, image {image_id!r}"
        graph = Records([value], [location].__getitem__)
        objects = graph.inner("objects").rows[0]
        names = [f"{location}, object {key!r}" for key in objects]
        things = Records(list(objects.values()), names.__getitem__)
        links = things.nested("relations")
        relations = zip(links.texts("name"), links.ids("object"), strict=True)
        attributes, counts = things.text_lists("attributes"), map(len, things.column("relations"))
        rows = zip(objects, things.texts("name"), boxes(things), attributes, counts, strict=True)
        yield RawGraph(
            image_id,
            *size_of(graph),
            {key: RawObject(key, name, box, values, list(islice(relations, n))) for key, name, box, values, n in rows},
            {name: graph.texts(name)[0] for name in ("weather", "location") if name in value},
        )
