"""Scene graphs: GQA's and Visual Genome's files, and normalised graphs in the words of the ontology.

What cannot be read is an error that names its location: no JSON, a missing field or one of another type. What
annotators leave imperfect (no name, an empty box, a relation to a missing object) is passed on; ``normalising`` leaves
it out and counts it. Vertical relations are not derived from boxes: what is higher up may be behind (footnote 8 of
Hudson and Manning 2019). Location and place are derived if the objects are unambiguous (Sect. 3.2).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TypeAlias

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.vocabulary import Vocabulary
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Files, PublishedFile

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
NO_BOX = (0, 0, 0, 0)
Box: TypeAlias = tuple[int, int, int, int]  # x, y, width, height in pixels, x and y of the upper left corner


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (one[2] * one[3] + other[2] * other[3] - common)


@dataclass
class RawObject:
    """An object as annotated."""

    object_id: str
    name: str
    box: Box  # not yet checked against the image
    attributes: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)  # (name, id of the object)

    def box_within(self, width: int, height: int) -> Box | None:
        """The part of its box in an image of that size, None if there is none."""
        x, y = max(0, self.box[0]), max(0, self.box[1])
        right, bottom = min(width, self.box[0] + self.box[2]), min(height, self.box[1] + self.box[3])
        return (x, y, right - x, bottom - y) if right > x and bottom > y else None


@dataclass
class RawGraph:
    """A scene graph as annotated."""

    image_id: str
    width: int
    height: int
    objects: dict[str, RawObject]
    scene: dict[str, str] = field(default_factory=dict)  # ``weather`` and ``location``, as the file has them
    lost: int = 0  # relations whose subject is missing


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of an image."""

    object_id: str
    name: str  # a name of the ontology
    box: Box
    values: Mapping[str, tuple[str, ...]]  # by type, "" for none, with unambiguous positions in the image
    relations: frozenset[tuple[str, str]]
    """(relation, object_id of the object) of which this is the subject, with inverses and sides by boxes"""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Room:
    """The objects that identify a room."""

    least: int
    kinds: frozenset[str]


SIGNS = Vocabulary("gqa/scenes")
_WIDE_PLACES = SIGNS.read("wide places", dict[str, float])
_ROOMS = SIGNS.read("rooms", dict[str, Room])


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
    place = _place(objects, kinds, scene.get("location"), size)
    if place and "place" in ontology.attributes[place].types:
        scene.setdefault("place", place)
    return scene


def _place(objects: Sequence[SceneObject], kinds: set[str], location: str | None, size: tuple[int, int]) -> str | None:
    places: set[str] = set()
    if location == "outdoors":
        wide = {name: part * size[0] * size[1] for name, part in _WIDE_PLACES.items()}
        places = {one.name for one in objects if one.name in wide and one.box[2] * one.box[3] >= wide[one.name]}
    elif location == "indoors" and kinds.isdisjoint(SIGNS["not of homes"]):
        places = {name for name, room in _ROOMS.items() if kinds & room.kinds}
    place = places.pop() if len(places) == 1 else None
    room = _ROOMS.get(place or "")
    return place if location != "indoors" or (room and len(kinds & room.kinds) >= room.least) else None


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
        rows = zip(objects, things.texts("name"), _boxes(things), attributes, counts, strict=True)
        yield RawGraph(
            image_id,
            *_size(graph),
            {key: RawObject(key, name, box, values, list(islice(relations, n))) for key, name, box, values, n in rows},
            {name: graph.texts(name)[0] for name in ("weather", "location") if name in value},
        )


def _pixels(records: Records, name: str) -> list[int]:
    """A column of numbers of pixels, rounded."""
    records.checked(name, lambda value: type(value) in (int, float), "a number of pixels")
    return [int(value + 0.5) if value >= 0 else -int(0.5 - value) for value in records.column(name)]


def _size(image: Records) -> tuple[int, int]:
    return _pixels(image, "width")[0], _pixels(image, "height")[0]


def _boxes(records: Records) -> list[Box]:
    return list(zip(*(_pixels(records, name) for name in "xywh"), strict=True))


def read_visual_genome(files: Files) -> Iterator[RawGraph]:
    """Read Visual Genome's scene_graphs.json, or objects, attributes and relationships.json; and image_data.json."""
    whole = files.has("scene_graphs.json")
    listed = ("scene_graphs.json",) if whole else ("objects.json", "attributes.json", "relationships.json")
    names = (*listed, "image_data.json")
    for image_id, records in visual_genome_records(files, names):
        if (record := records.get(names[0])) is None:
            continue
        if lacking := [name for name in names if name not in records]:
            raise InputError(f"{record.location(0)}: {lacking[0]} lacks this image; use files from the same release")
        graph = RawGraph(str(image_id), *_size(records["image_data.json"]), {})
        same: dict[str, str] = {}
        _put_objects(graph, same, record.nested("objects"))
        if whole:
            relations = record.nested("relationships")
            subjects, targets = relations.ids("subject_id"), relations.ids("object_id")
        else:
            _put_objects(graph, same, records["attributes.json"].nested("attributes"))
            relations = records["relationships.json"].nested("relationships")
            sides = [relations.inner(side) for side in ("subject", "object")]
            rows = list(chain.from_iterable(zip(*(side.rows for side in sides), strict=True)))
            ends = _put_objects(graph, same, Records(rows, partial("{}.{}".format, record.location(0))))
            subjects, targets = ends[::2], ends[1::2]
        for subject, name, target in zip(subjects, relations.texts("predicate"), targets, strict=True):
            # a subject that has not come yet is one of the objects that another one was merged with
            known = graph.objects.setdefault(subject, RawObject(subject, "", NO_BOX))
            known.relations.append((name, same.get(target, target)))
        for other, key in same.items():
            if other in graph.objects and key in graph.objects:
                duplicate, kept = graph.objects.pop(other), graph.objects[key]
                kept.attributes += [value for value in duplicate.attributes if value not in kept.attributes]
                kept.relations += duplicate.relations
        for key in [key for key, thing in graph.objects.items() if not thing.name and thing.box == NO_BOX]:
            graph.lost += len(graph.objects.pop(key).relations)
        yield graph


def visual_genome_records(files: Files, names: Iterable[str]) -> Iterator[tuple[int, dict[str, Records]]]:
    """Each image's id and records by file, once all files gave it, at last those that some lack; reads in parallel."""
    streams = {name: _images(files.find(name)) for name in names}
    waiting, size = defaultdict[int, dict[str, Records]](dict), len(streams)
    while streams:
        for name in list(streams):
            if (found := next(streams[name], None)) is None:
                del streams[name]
                continue
            waiting[found[0]][name] = found[1]
            if len(waiting[found[0]]) == size:
                yield found[0], waiting.pop(found[0])
    yield from waiting.items()


def _images(file: PublishedFile) -> Iterator[tuple[int, Records]]:
    """The id and the record of each image."""
    for batch in read_records(file):
        rows = [{"image_id": row["id"], **row} if isinstance(row, dict) and "id" in row else row for row in batch.rows]
        for image_id, row in zip(Records(rows, batch.location).whole_numbers("image_id"), rows, strict=True):
            location = f"{file.location}, image '{image_id}'"
            yield image_id, Records([row], [location].__getitem__)


def _put_objects(graph: RawGraph, same: dict[str, str], given: Records) -> list[str]:
    """Add objects to a graph, or what is new of them, and to ``same`` those merged with them; returns their ids."""
    keys = given.ids("object_id")
    rows = []
    for row in given.rows:
        own = {"names": [row["name"]]} if "name" in row else {}
        attributes = [] if row.get("attributes") is None else row["attributes"]
        rows.append({**own, "also": row.get("merged_object_ids", []), **row, "attributes": attributes})
    full = Records(rows, given.location)
    names, attributes, merged = full.text_lists("names"), full.text_lists("attributes"), full.lists("also")
    for key, name, box, values, also in zip(keys, names, _boxes(full), attributes, merged, strict=True):
        known = graph.objects.setdefault(key, RawObject(key, "", box))
        known.name = known.name or next(iter(name), "")
        known.attributes += [value for value in dict.fromkeys(values) if value not in known.attributes]
        same |= {other: key for other in map(str, also) if other != key}
    return keys
