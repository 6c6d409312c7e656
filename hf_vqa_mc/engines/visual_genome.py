"""Annotated scene graphs, and the reader of Visual Genome's files, which the engines of GQA and TDIUC share.

What cannot be read is an error that names its location: no JSON, a missing field or one of another type. What
annotators leave imperfect (no name, an empty box, a relation to a missing object) is passed on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeAlias

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Files, PublishedFile

SCENE_GRAPHS, RELATIONSHIPS, IMAGES = "scene_graphs.json", "relationships.json", "image_data.json"
OBJECT_LISTS = {SCENE_GRAPHS: "objects", "objects.json": "objects", "attributes.json": "attributes"}
"""Files of objects, each with its field that lists them."""
PARTS = ("objects.json", "attributes.json", RELATIONSHIPS)
_LISTS = ("names", "attributes", "synsets", "merged_object_ids")  # fields of an object
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
    name: str  # "" for none
    box: Box  # not yet checked against the image
    attributes: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)  # (name, id of the object)
    other_names: list[str] = field(default_factory=list)  # in other files
    synset: str = ""  # WordNet's, such as dog.n.01


@dataclass
class RawGraph:
    """A scene graph as annotated."""

    image_id: str
    width: int
    height: int
    objects: dict[str, RawObject]
    scene: dict[str, str] = field(default_factory=dict)  # ``weather`` and ``location``, as the file has them
    lost: int = 0  # relations whose subject is missing


def _pixels(records: Records, name: str) -> list[int]:
    records.checked(name, lambda value: type(value) in (int, float), "a number of pixels")
    return [int(value + 0.5) if value >= 0 else -int(0.5 - value) for value in records.column(name)]


def size_of(image: Records) -> tuple[int, int]:
    """The width and height of an image."""
    return _pixels(image, "width")[0], _pixels(image, "height")[0]


def boxes(records: Records) -> list[Box]:
    """The boxes of objects."""
    return list(zip(*(_pixels(records, name) for name in "xywh"), strict=True))


def genome_records(files: Files, names: Iterable[str]) -> Iterator[tuple[int, dict[str, Records]]]:
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
    for batch in read_records(file):
        rows = [{"image_id": row["id"], **row} if isinstance(row, dict) and "id" in row else row for row in batch.rows]
        for image_id, row in zip(Records(rows, batch.location).whole_numbers("image_id"), rows, strict=True):
            location = f"{file.location}, image '{image_id}'"
            yield image_id, Records([row], [location].__getitem__)


def read_visual_genome(files: Files, problems: Counter[str]) -> Iterator[RawGraph]:
    """Read Visual Genome's scene_graphs.json, or objects, attributes and relationships.json; and image_data.json."""
    names = (*((SCENE_GRAPHS,) if files.has(SCENE_GRAPHS) else PARTS), IMAGES)
    for image_id, records in genome_records(files, names):
        if (record := records.get(names[0])) is None:
            continue
        if lacking := [name for name in names if name not in records]:
            raise InputError(f"{record.location(0)}: {lacking[0]} lacks this image; use files from the same release")
        yield genome_graph(image_id, records, problems)


def genome_graph(
    image_id: int, records: Mapping[str, Records], problems: Counter[str], all_attributes: bool = True
) -> RawGraph:
    """The graph of an image from its records by file; ``problems`` counts nulls in lists.

    Merged objects are one, with the relations and, if ``all_attributes``, the attributes of all.
    """
    graph, same = RawGraph(str(image_id), 0, 0, {}), dict[str, str]()
    if IMAGES in records:
        graph.width, graph.height = size_of(records[IMAGES])
    for name, listed in OBJECT_LISTS.items():
        if name in records:
            _put_objects(graph, same, records[name].nested(listed), problems)
    for subject, name, target in _links(graph, same, records, problems):
        # a subject that has not come yet is one of the objects that another one was merged with
        known = graph.objects.setdefault(subject, RawObject(subject, "", NO_BOX))
        known.relations.append((name, same.get(target, target)))
    for other, key in same.items():
        if other in graph.objects and key in graph.objects:
            duplicate, kept = graph.objects.pop(other), graph.objects[key]
            if all_attributes:
                kept.attributes += [value for value in duplicate.attributes if value not in kept.attributes]
            kept.relations += duplicate.relations
    for key in [key for key, thing in graph.objects.items() if not thing.name and thing.box == NO_BOX]:
        graph.lost += len(graph.objects.pop(key).relations)
    return graph


def _links(
    graph: RawGraph, same: dict[str, str], records: Mapping[str, Records], problems: Counter[str]
) -> Iterable[tuple[str, str, str]]:
    """Subject, predicate and object of all relations; adds the objects of relationships.json to the graph."""
    if SCENE_GRAPHS in records:
        relations = records[SCENE_GRAPHS].nested("relationships")
        return zip(relations.ids("subject_id"), relations.texts("predicate"), relations.ids("object_id"), strict=True)
    if RELATIONSHIPS not in records:
        return ()
    relations = records[RELATIONSHIPS].nested("relationships")
    sides = [relations.inner(side) for side in ("subject", "object")]
    rows = list(chain.from_iterable(zip(*(side.rows for side in sides), strict=True)))
    location = partial("{}.{}".format, records[RELATIONSHIPS].location(0))
    ends = _put_objects(graph, same, Records(rows, location), problems)
    return zip(ends[::2], relations.texts("predicate"), ends[1::2], strict=True)


def _put_objects(graph: RawGraph, same: dict[str, str], given: Records, problems: Counter[str]) -> list[str]:
    """Add objects to a graph, or what is new of them, and to ``same`` those merged with them; returns their ids."""
    keys = given.ids("object_id")
    rows = [{**({"names": [row["name"]]} if "name" in row else {}), **row} for row in given.rows]
    for row in rows:
        for name in _LISTS:
            if isinstance(items := row.get(name, None if name == "names" else []), list):
                row[name] = [item for item in items if item is not None]
                problems[f"nulls in {name}"] += len(items) - len(row[name])
    full = Records(rows, given.location)
    texts, merged = [full.text_lists(name) for name in _LISTS[:3]], full.lists("merged_object_ids")
    for key, names, attributes, synsets, box, also in zip(keys, *texts, boxes(full), merged, strict=True):
        known = graph.objects.setdefault(key, RawObject(key, "", box, synset=next(iter(synsets), "")))
        name = next(iter(names), "").strip()
        known.name = known.name or name
        if name and plain_name(name) not in map(plain_name, (known.name, *known.other_names)):
            known.other_names.append(name)
        known.attributes += [value for value in dict.fromkeys(attributes) if value not in known.attributes]
        same |= {other: key for other in map(str, also) if other != key}
    return keys


def plain_name(text: str) -> str:
    """In lower case with single spaces."""
    return " ".join(text.lower().split())
