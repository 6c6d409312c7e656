"""Scene graphs as published: GQA's, and Visual Genome's from which GQA's were made.

What a file cannot mean is an error that names its place: no json, a field that is missing or of another type, a size
that is no positive number, an image that occurs twice. What annotators may leave imperfect (no name, an empty box, a
relation to an object that is not there) is handed on, for ``normalising`` to leave out and count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import list_items, object_items
from hf_vqa_mc.sources.files import Files, PublishedFile

NO_BOX = (0, 0, 0, 0)
LARGEST = 1_000_000  # The largest width, height or position of a box, in pixels, that is plausible.


@dataclass
class RawObject:
    """An object as annotated."""

    object_id: str
    name: str
    box: tuple[int, int, int, int]  # x, y, width, height; not yet checked against the image
    attributes: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)  # (name, id of the object)
    also: list[str] = field(default_factory=list)  # other ids of the same object


@dataclass
class RawGraph:
    """A scene graph as annotated."""

    image_id: str
    place: str  # where it stands, for messages
    width: int
    height: int
    objects: dict[str, RawObject]
    scene: dict[str, str] = field(default_factory=dict)  # ``weather`` and ``location``, as the file has them
    lost: int = 0  # relations whose subject is not there


@dataclass(frozen=True)
class _Record:
    """A json value that must be an object. Every method raises an InputError that names the location."""

    value: Any
    place: str

    def get(self, name: str, kind: type = object, expected: str = "") -> Any:  # noqa: ANN401 (any json value)
        """A field of a type."""
        if not isinstance(self.value, dict):
            raise InputError(f"{self.place}: expected a json object, found {shown(self.value)}")
        if name not in self.value:
            listed = ", ".join(map(repr, list(self.value)[:20])) or "none"
            raise InputError(f"{self.place}, field {name!r}: it is missing; the record's fields are {listed}")
        if not isinstance(self.value[name], kind):
            raise self._unexpected(name, expected)
        return self.value[name]

    def _unexpected(self, name: str, expected: str) -> InputError:
        return InputError(f"{self.place}, field {name!r}: expected {expected}, found {shown(self.value[name])}")

    def id(self, name: str) -> str:
        """A field that is an id, an integer or text, as text."""
        value = self.get(name)
        if type(value) is int or (isinstance(value, str) and value):
            return str(value)
        raise self._unexpected(name, "an id")

    def text(self, name: str) -> str:
        """A field that is text."""
        text: str = self.get(name, str, "text")
        return text

    def pixels(self, name: str) -> int:
        """A field that is a number of pixels, rounded."""
        value = self.get(name)
        if type(value) in (int, float) and -LARGEST <= value <= LARGEST:
            return int(value + 0.5) if value >= 0 else -int(0.5 - value)
        raise self._unexpected(name, "a number of pixels")

    def size(self) -> tuple[int, int]:
        """The fields width and height, of an image."""
        sizes = {name: self.pixels(name) for name in ("width", "height")}
        for name, value in sizes.items():
            if value < 1:
                raise InputError(f"{self.place}, field {name!r}: expected the image's {name} in pixels, found {value}")
        return sizes["width"], sizes["height"]

    def box(self) -> tuple[int, int, int, int]:
        """The fields x, y, w, h."""
        return self.pixels("x"), self.pixels("y"), self.pixels("w"), self.pixels("h")

    def texts(self, name: str, expected: str = "a list") -> list[str]:
        """A field that is a list of texts."""
        for value in self.get(name, list, expected):
            if not isinstance(value, str):
                raise InputError(f"{self.place}, field {name!r}: expected texts, found {shown(value)}")
        return list(self.value[name])

    def records(self, name: str) -> Iterator["_Record"]:
        """A field that is a list of json objects."""
        for number, value in enumerate(self.get(name, list, "a list")):
            yield _Record(value, f"{self.place}, {name}[{number}]")


def read_gqa_graphs(file: PublishedFile) -> Iterator[RawGraph]:
    """The scene graphs of a file of GQA's, such as ``train_sceneGraphs.json``, one after the other.

    Raises:
        InputError: as ``object_items``; an image or object is not as GQA describes it; an image occurs twice.
    """
    seen: set[str] = set()
    for batch in object_items(file):
        for image_id, graph in batch:
            place = f"{file.location}, image {image_id!r}"
            if image_id in seen:
                raise InputError(f"{place}: occurs twice")
            seen.add(image_id)
            yield _gqa_graph(image_id, _Record(graph, place))
    if not seen:
        raise InputError(f"{file.location}: expected scene graphs (image id: objects), found none")


def _gqa_graph(image_id: str, record: _Record) -> RawGraph:
    objects = record.get("objects", dict, "an object of objects")
    scene = {name: record.text(name) for name in ("weather", "location") if name in record.value}
    parts = {key: _Record(value, f"{record.place}, object {key!r}") for key, value in objects.items()}
    things = {key: _gqa_object(key, part) for key, part in parts.items()}
    return RawGraph(image_id, record.place, *record.size(), things, scene)


def _gqa_object(key: str, record: _Record) -> RawObject:
    relations = [(relation.text("name"), relation.id("object")) for relation in record.records("relations")]
    return RawObject(key, record.text("name"), record.box(), record.texts("attributes"), relations)


def read_visual_genome(files: Files) -> Iterator[RawGraph]:
    """The scene graphs of Visual Genome, image by image.

    Args:
        files: ``scene_graphs.json``, else ``objects.json`` with ``attributes.json`` and ``relationships.json``; and
            ``image_data.json`` with the sizes of the images.

    Raises:
        InputError: a file is missing or not as Visual Genome describes it; an image has no size; the three files are
            not about the same images.
    """
    sizes = {image_id: record.size() for image_id, record in _images(files.find("image_data.json"))}
    whole = files.has("scene_graphs.json")
    others = [] if whole else [_Aux(files.find(f"{name}.json")) for name in ("attributes", "relationships")]
    seen: set[str] = set()
    for image_id, record in _images(files.find("scene_graphs.json" if whole else "objects.json")):
        if image_id in seen:
            raise InputError(f"{record.place}: occurs twice")
        seen.add(image_id)
        if image_id not in sizes:
            raise InputError(
                f"{record.place}: image_data.json has no size of it; take both files from the same release"
            )
        graph = RawGraph(image_id, record.place, *sizes[image_id], {})
        for thing in record.records("objects"):
            _put_object(graph, thing)
        if whole:
            for relation in record.records("relationships"):
                name = relation.text("predicate")
                _relate(graph, relation.id("subject_id"), name, relation.id("object_id"))
        else:
            attributes, relationships = (other.of(image_id) for other in others)
            for thing in attributes.records("attributes"):
                _put_object(graph, thing)
            for relation in relationships.records("relationships"):
                subject, target = (
                    _put_object(graph, _Record(relation.get(end, dict, "an object"), f"{relation.place}, {end}"))
                    for end in ("subject", "object")
                )
                _relate(graph, subject, relation.text("predicate"), target)
        yield _settled(graph)
    for other in others:
        other.check_all_used(seen)


def _images(file: PublishedFile) -> Iterator[tuple[str, _Record]]:
    number = 0
    for batch in list_items(file):
        for value in batch:
            record = _Record(value, f"{file.location}, record[{number}]")
            number += 1
            name = "id" if isinstance(value, dict) and "image_id" not in value and "id" in value else "image_id"
            image_id = record.id(name)
            yield image_id, _Record(value, f"{file.location}, image {image_id!r}")
    if not number:
        raise InputError(f"{file.location}: expected a list of images, found none")


class _Aux:
    """Records of another file about the same images, mostly in the same order."""

    def __init__(self, file: PublishedFile) -> None:
        self._file = file
        self._rest = _images(file)
        self._ahead: dict[str, _Record] = {}

    def of(self, image_id: str) -> _Record:
        while image_id not in self._ahead:
            found = next(self._rest, None)
            if found is None:
                raise InputError(
                    f"{self._file.location}: expected a record of image {image_id!r}, as objects.json has one; take "
                    "both files from the same release"
                )
            self._ahead[found[0]] = found[1]
        return self._ahead.pop(image_id)

    def check_all_used(self, seen: set[str]) -> None:
        """Raise InputError if there are records of images that objects.json does not have."""
        left = next(iter(self._ahead), None) or next((image_id for image_id, _ in self._rest), None)
        if left is not None:
            why = "twice" if left in seen else "objects.json does not"
            raise InputError(
                f"{self._file.location}: it has image {left!r}, {why}; take both files from the same release"
            )


def _put_object(graph: RawGraph, record: _Record) -> str:
    key, value = record.id("object_id"), dict(record.value)
    value.setdefault("names", [value["name"]] if "name" in value else None)
    value.setdefault("merged_object_ids", [])
    value["attributes"] = [] if value.get("attributes") is None else value["attributes"]
    full = _Record(value, record.place)
    names, attributes = full.texts("names", "a list of texts"), full.texts("attributes")
    also = full.get("merged_object_ids", list, "a list")
    new = RawObject(key, next(iter(names), ""), full.box(), attributes, [], [str(other) for other in also])
    known = graph.objects.setdefault(key, new)
    if known is not new:
        known.name = known.name or new.name
        known.attributes += [value for value in new.attributes if value not in known.attributes]
        known.also += [other for other in new.also if other not in known.also]
    return key


def _relate(graph: RawGraph, subject: str, name: str, target: str) -> None:
    if subject in graph.objects:
        graph.objects[subject].relations.append((name, target))
    else:  # described later, by the object that it was merged into
        graph.objects[subject] = RawObject(subject, "", NO_BOX, [], [(name, target)])


def _settled(graph: RawGraph) -> RawGraph:
    merged = {other: key for key, thing in graph.objects.items() for other in thing.also if other != key}
    for other, key in merged.items():
        duplicate = graph.objects.get(other)
        if duplicate is None or key not in graph.objects:
            continue
        kept = graph.objects[key]
        kept.attributes += [value for value in duplicate.attributes if value not in kept.attributes]
        kept.relations += duplicate.relations
        del graph.objects[other]
    for key in [key for key, thing in graph.objects.items() if not thing.name and thing.box == NO_BOX]:
        graph.lost += len(graph.objects.pop(key).relations)
    for thing in graph.objects.values():
        thing.relations = [(name, merged.get(target, target)) for name, target in thing.relations]
    return graph
