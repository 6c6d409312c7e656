"""Scene graphs as published: GQA's, and Visual Genome's from which GQA's were made.

What a file cannot mean is an error that names its place: no json, a field that is missing or of another type, a size
that is no positive number, an image that occurs twice. What annotators may leave imperfect (no name, an empty box, a
relation to an object that is not there) is handed on, for ``normalising`` to leave out and count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hf_vqa_mc.engines.gqa.graph_fields import box_of, field_of, id_of, size_of, texts_of
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import list_items, object_items
from hf_vqa_mc.sources.files import Files, PublishedFile

NO_BOX = (0, 0, 0, 0)


@dataclass
class RawObject:
    """An object as annotated."""

    object_id: str
    name: str
    box: tuple[int, int, int, int]
    """x, y, width, height; not yet checked against the image"""
    attributes: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)
    """(name, id of the object)"""
    also: list[str] = field(default_factory=list)
    """other ids of the same object"""


@dataclass
class RawGraph:
    """A scene graph as annotated."""

    image_id: str
    place: str
    """where it stands, for messages"""
    width: int
    height: int
    objects: dict[str, RawObject]
    scene: dict[str, str] = field(default_factory=dict)
    """``weather`` and ``location``, as the file has them"""
    lost: int = 0
    """relations whose subject is not there"""


def read_gqa_graphs(file: PublishedFile) -> Iterator[RawGraph]:
    """The scene graphs of a file of GQA's, such as ``train_sceneGraphs.json``, one after the other.

    Raises:
        InputError: as ``object_items``; an image or object is not as GQA describes it; an image occurs twice.
    """
    seen: set[str] = set()
    for batch in object_items(file):
        for image_id, graph in batch:
            place = f"{file.place}, image {image_id!r}"
            if image_id in seen:
                raise InputError(f"{place}: occurs twice")
            seen.add(image_id)
            yield _gqa_graph(image_id, graph, place)
    if not seen:
        raise InputError(f"{file.place}: expected scene graphs (image id: objects), found none")


def _gqa_graph(image_id: str, graph: object, place: str) -> RawGraph:
    objects = field_of(graph, "objects", dict, "an object of objects", place)
    scene = {}
    for name in ("weather", "location"):
        if isinstance(graph, dict) and name in graph:
            scene[name] = field_of(graph, name, str, "text", place)
    return RawGraph(
        image_id=image_id,
        place=place,
        width=size_of(graph, "width", place),
        height=size_of(graph, "height", place),
        objects={key: _gqa_object(key, value, f"{place}, object {key!r}") for key, value in objects.items()},
        scene=scene,
    )


def _gqa_object(key: str, value: object, place: str) -> RawObject:
    relations = []
    for number, relation in enumerate(field_of(value, "relations", list, "a list", place)):
        at = f"{place}, relations[{number}]"
        relations.append((field_of(relation, "name", str, "text", at), id_of(relation, "object", at)))
    attributes = field_of(value, "attributes", list, "a list", place)
    return RawObject(
        object_id=key,
        name=field_of(value, "name", str, "text", place),
        box=box_of(value, place),
        attributes=texts_of(attributes, f"{place}, field 'attributes'"),
        relations=relations,
    )


def read_visual_genome(files: Files) -> Iterator[RawGraph]:
    """The scene graphs of Visual Genome, image by image.

    Args:
        files: ``scene_graphs.json``, else ``objects.json`` with ``attributes.json`` and ``relationships.json``; and
            ``image_data.json`` with the sizes of the images.

    Raises:
        InputError: a file is missing or not as Visual Genome describes it; an image has no size; the three files do
            not tell of the same images.
    """
    sizes = _image_sizes(files.find("image_data.json"))
    if files.has("scene_graphs.json"):
        yield from _whole_graphs(files.find("scene_graphs.json"), sizes)
    else:
        yield from _joined_graphs(files, sizes)


def _image_sizes(file: PublishedFile) -> dict[str, tuple[int, int]]:
    sizes = {}
    for image_id, image, place in _images(file):
        sizes[image_id] = (size_of(image, "width", place), size_of(image, "height", place))
    return sizes


def _images(file: PublishedFile) -> Iterator[tuple[str, Any, str]]:
    """The records of a list of images: id, record, place."""
    number = 0
    for batch in list_items(file):
        for record in batch:
            place = f"{file.place}, record[{number}]"
            number += 1
            name = "id" if isinstance(record, dict) and "image_id" not in record and "id" in record else "image_id"
            image_id = id_of(record, name, place)
            yield image_id, record, f"{file.place}, image {image_id!r}"
    if not number:
        raise InputError(f"{file.place}: expected a list of images, found none")


def _whole_graphs(file: PublishedFile, sizes: dict[str, tuple[int, int]]) -> Iterator[RawGraph]:
    seen: set[str] = set()
    for image_id, record, place in _images(file):
        if image_id in seen:
            raise InputError(f"{place}: occurs twice")
        seen.add(image_id)
        graph = _empty_graph(image_id, place, sizes)
        for number, value in enumerate(field_of(record, "objects", list, "a list", place)):
            _put_object(graph, value, f"{place}, objects[{number}]")
        for number, value in enumerate(field_of(record, "relationships", list, "a list", place)):
            at = f"{place}, relationships[{number}]"
            name = field_of(value, "predicate", str, "text", at)
            _relate(graph, id_of(value, "subject_id", at), name, id_of(value, "object_id", at))
        yield _settled(graph)


def _joined_graphs(files: Files, sizes: dict[str, tuple[int, int]]) -> Iterator[RawGraph]:
    attributes = _Beside(files.find("attributes.json"))
    relationships = _Beside(files.find("relationships.json"))
    seen: set[str] = set()
    for image_id, record, place in _images(files.find("objects.json")):
        if image_id in seen:
            raise InputError(f"{place}: occurs twice")
        seen.add(image_id)
        graph = _empty_graph(image_id, place, sizes)
        for number, value in enumerate(field_of(record, "objects", list, "a list", place)):
            _put_object(graph, value, f"{place}, objects[{number}]")
        told, at_told = attributes.of(image_id)
        for number, value in enumerate(field_of(told, "attributes", list, "a list", at_told)):
            _put_object(graph, value, f"{at_told}, attributes[{number}]")
        related, at_related = relationships.of(image_id)
        for number, value in enumerate(field_of(related, "relationships", list, "a list", at_related)):
            at = f"{at_related}, relationships[{number}]"
            ends = []
            for end in ("subject", "object"):
                ends.append(_put_object(graph, field_of(value, end, dict, "an object", at), f"{at}, {end}"))
            _relate(graph, ends[0], field_of(value, "predicate", str, "text", at), ends[1])
        yield _settled(graph)
    attributes.check_all_used(seen)
    relationships.check_all_used(seen)


class _Beside:
    """Records of another file about the same images, mostly in the same order."""

    def __init__(self, file: PublishedFile) -> None:
        self._file = file
        self._rest = _images(file)
        self._ahead: dict[str, tuple[Any, str]] = {}

    def of(self, image_id: str) -> tuple[Any, str]:
        while image_id not in self._ahead:
            found = next(self._rest, None)
            if found is None:
                raise InputError(
                    f"{self._file.place}: expected a record of image {image_id!r}, as objects.json has one; take both "
                    "files from the same release"
                )
            self._ahead[found[0]] = (found[1], found[2])
        return self._ahead.pop(image_id)

    def check_all_used(self, seen: set[str]) -> None:
        """Nothing, if no record is left.

        Raises:
            InputError: there are records of images that objects.json does not have.
        """
        left = next(iter(self._ahead), None) or next((image_id for image_id, _, _ in self._rest), None)
        if left is not None:
            why = "twice" if left in seen else "objects.json does not"
            raise InputError(
                f"{self._file.place}: it tells of image {left!r}, {why}; take both files from the same release"
            )


def _empty_graph(image_id: str, place: str, sizes: dict[str, tuple[int, int]]) -> RawGraph:
    if image_id not in sizes:
        raise InputError(f"{place}: image_data.json does not tell its size; take both files from the same release")
    width, height = sizes[image_id]
    return RawGraph(image_id, place, width, height, {})


def _put_object(graph: RawGraph, value: object, place: str) -> str:
    """The id of an object that is put into the graph, or into what is known of it."""
    key = id_of(value, "object_id", place)
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a json object, found {shown(value)}")
    names = value.get("names", [value["name"]] if "name" in value else None)
    if not isinstance(names, list):
        raise InputError(f"{place}, field 'names': expected a list of texts, found {shown(names)}")
    name = next(iter(texts_of(names, f"{place}, field 'names'")), "")
    told = value.get("attributes")
    if told is not None and not isinstance(told, list):
        raise InputError(f"{place}, field 'attributes': expected a list, found {shown(told)}")
    attributes = texts_of(told or [], f"{place}, field 'attributes'")
    also = value.get("merged_object_ids", [])
    if not isinstance(also, list):
        raise InputError(f"{place}, field 'merged_object_ids': expected a list, found {shown(also)}")
    new = RawObject(key, name, box_of(value, place), attributes, [], [str(other) for other in also])
    there = graph.objects.get(key)
    if there is None:
        graph.objects[key] = new
    else:
        there.name = there.name or new.name
        there.attributes += [value for value in new.attributes if value not in there.attributes]
        there.also += [other for other in new.also if other not in there.also]
    return key


def _relate(graph: RawGraph, subject: str, name: str, target: str) -> None:
    if subject in graph.objects:
        graph.objects[subject].relations.append((name, target))
    else:  # told of later, by the object that it was merged into
        graph.objects[subject] = RawObject(subject, "", NO_BOX, [], [(name, target)])


def _settled(graph: RawGraph) -> RawGraph:
    """The graph with objects of several ids made one."""
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
