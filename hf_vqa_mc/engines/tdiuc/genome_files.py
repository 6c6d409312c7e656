"""Visual Genome's objects, attributes and relationships, image by image."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hf_vqa_mc.engines.tdiuc.question import Images
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET

OBJECTS, ATTRIBUTES, RELATIONSHIPS = "objects.json", "attributes.json", "relationships.json"
IMAGES, QUESTIONS = "image_data.json", "question_answers.json"
_LISTS = {OBJECTS: "objects", ATTRIBUTES: "attributes", RELATIONSHIPS: "relationships"}


@dataclass
class GenomeObject:
    """One object, merged from the files."""

    name: str  # the first name, in lower case
    synset: str  # WordNet's, such as dog.n.01, or ""
    left: float
    top: float
    width: float
    height: float
    attributes: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()  # what other files call the same object


@dataclass
class GenomeImage:
    """One image with the annotations of all files."""

    image_id: int  # the output id
    objects: dict[int, GenomeObject] = field(default_factory=dict)
    relations: list[tuple[int, str, int]] = field(default_factory=list)  # subject, predicate in lower case, object
    aliases: dict[int, int] = field(default_factory=dict)  # ids of objects that were merged into another


def read_image_ids(folder: Folder, images: Images, left_out: Counter[str]) -> dict[int, int]:
    """Map Visual Genome's image ids to output ids: COCO's for COCO's images.

    Without image_data.json all images count as Visual Genome's own.

    Raises:
        InputError: the file is malformed, lists an image twice, or gives two photographs the same of COCO's ids.
    """
    ids: dict[int, int] = {}
    photographs: dict[int, tuple[int, object]] = {}
    if not folder.has(IMAGES):
        left_out["no image_data.json: images that are COCO's are not known as such"] = 1
        return ids
    file = folder.find(IMAGES)
    for records in read_records(file):
        rows = zip(records.whole_numbers("image_id"), records.column("coco_id"), records.rows, strict=True)
        for at, (image_id, coco_id, row) in enumerate(rows):
            if coco_id is None:
                ids[image_id] = GENOME_OFFSET + image_id
                images.add(ids[image_id], "genome", None, file.location)
                continue
            photograph = row.get("flickr_id") or (row.get("width"), row.get("height"))
            other, before = photographs.setdefault(coco_id, (image_id, photograph))
            if photograph != before:
                raise InputError(
                    f"{records.location(at)}, field 'coco_id': image {image_id} has {coco_id}, and so has image "
                    f"{other}, which is another photograph (by flickr_id, or width and height); give the published "
                    "file, or null for images that are not COCO's"
                )
            left_out["images that are the same photograph of COCO as another, asked about as one"] += other != image_id
            ids[image_id] = coco_id
            images.add(coco_id, "coco", None, file.location)
    return ids


def read_genome(folder: Folder, ids: dict[int, int], images: Images, left_out: Counter[str]) -> Iterator[GenomeImage]:
    """Read the images of those of the three files that exist.

    The files are read in parallel and an image is yielded when all of them have given it, so files in the same order,
    as published, need little memory.

    Raises:
        InputError: a file is malformed.
    """
    present = [name for name in _LISTS if folder.has(name)]
    waiting: dict[int, tuple[GenomeImage, set[str]]] = {}
    streams = {name: read_records(folder.find(name)) for name in present}
    while streams:
        for name in list(streams):
            records = next(streams[name], None)
            if records is None:
                del streams[name]
                continue
            columns = zip(records.whole_numbers("image_id"), records.lists(_LISTS[name]), strict=True)
            for at, (image_id, rows) in enumerate(columns):
                written = written_id(image_id, ids, images, records.location(at))
                image, seen = waiting.setdefault(image_id, (GenomeImage(written), set()))
                seen.add(name)
                inner = partial("{} (image {}), {}[{}]".format, records.location(at), image_id, _LISTS[name])
                _add(image, name, Records(rows, inner), left_out)
                if len(seen) == len(present):
                    yield waiting.pop(image_id)[0]
    for image, seen in waiting.values():
        for name in present:
            if name not in seen:
                left_out[f"images that {name} lacks"] += 1
        yield image


def written_id(image_id: int, ids: dict[int, int], images: Images, location: str) -> int:
    """The output id of an image of Visual Genome.

    Raises:
        InputError: image_data.json exists but does not list it.
    """
    if not ids:
        images.add(GENOME_OFFSET + image_id, "genome", None, location)
        return GENOME_OFFSET + image_id
    if image_id not in ids:
        raise InputError(f"{location}: image {image_id} is not in {IMAGES}; use files of the same release")
    return ids[image_id]


def _add(image: GenomeImage, name: str, rows: Records, left_out: Counter[str]) -> None:
    if name != RELATIONSHIPS:
        for at, row in enumerate(rows.rows):
            _add_object(image, row, rows.location(at), left_out)
        return
    columns = zip(rows.texts("predicate"), rows.column("subject"), rows.column("object"), strict=True)
    for at, (predicate, *ends) in enumerate(columns):
        subject, thing = (_add_object(image, end, rows.location(at), left_out) for end in ends)
        if subject is not None and thing is not None:
            image.relations.append((subject, _plain(predicate), thing))


def _add_object(image: GenomeImage, row: Any, location: str, left_out: Counter[str]) -> int | None:  # noqa: ANN401
    """Add or merge an object; return its id, or None if it has no name."""
    one = Records([row], lambda _: location)
    object_id = one.whole_numbers("object_id")[0]
    for merged in _items(one, "merged_object_ids", left_out):
        image.aliases[merged] = object_id
    names = _items(one, "names", left_out)
    if not names and row.get("name") is not None:
        names = one.texts("name")
    if not names or not names[0].strip():
        left_out["objects without a name"] += 1
        return None
    name = _plain(names[0])
    synset = next(iter(_items(one, "synsets", left_out)), "")
    left, top, width, height = (float(one.column(side)[0]) for side in "xywh")
    attributes = map(_plain, _items(one, "attributes", left_out))
    known = image.objects.setdefault(object_id, GenomeObject(name, synset, left, top, width, height))
    if name not in (known.name, *known.other_names):
        known.other_names += (name,)
    known.attributes = tuple(dict.fromkeys((*known.attributes, *attributes)))
    return object_id


def _items(one: Records, field: str, left_out: Counter[str]) -> list[Any]:
    value = one.rows[0].get(field)
    if value is None:
        return []
    items = [item for item in value if item is not None]
    left_out[f"nulls in {field}"] += len(value) - len(items)
    return items


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
