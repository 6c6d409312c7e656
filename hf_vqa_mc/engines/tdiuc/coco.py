"""COCO's instance annotations, and the questions that they allow.

Kafle and Kanan 2017, "Generating Questions using Image Annotations": presence, counting, kinds of objects, sports,
scenes and positions. The files list their images and all annotated objects on them. Which objects identify a sport or
a room is our choice (``data/scenes.yaml``); the paper's only example is toilet and sink for a bathroom.
"""

import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.tdiuc.questions import NO, YES, Outcome, QuestionCollection, subset_in
from hf_vqa_mc.engines.tdiuc.words import COCO_OBJECTS, COUNTABLE, OBJECTS, SUPERCATEGORIES, related
from hf_vqa_mc.engines.vocabulary import Vocabulary, with_article
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.records import read_lists
from hf_vqa_mc.scoring.tdiuc_types import COUNTING, POSITION, PRESENCE, SCENE, SPORT, SUBORDINATE
from hf_vqa_mc.sources.files import PublishedFile, member_names

MIN_AREA = 2000  # minimum area in pixels of an object in a question ("Generating Questions")
# Left of:
VERTICAL_THRESHOLD = 0.1  # vertical distance, fraction of the image height; ours, the paper: "a small threshold"
OVERLAP_THRESHOLD = 0.5  # overlap, fraction of either width ("half the length of its counterpart")
HORIZONTAL_THRESHOLD = 0.15  # gap, fraction of the image width; ours, the paper's was "subjectively" judged
LOOSELY = 2.0  # ours: the paper does not define when several objects are next to another


class Instance(NamedTuple):
    """One annotated object."""

    name: str  # COCO's, of its category
    area: float  # pixels
    left: float
    top: float
    width: float
    height: float
    crowd: bool  # a region of many, not one


class CocoImage(NamedTuple):
    """One image with all its annotated objects."""

    image_id: int
    width: int
    height: int
    annotated: frozenset[str]  # names of objects that would be annotated if the image showed them
    instances: list[Instance]

    @property
    def present(self) -> frozenset[str]:
        """The names of all objects, of any size."""
        return frozenset(one.name for one in self.instances)


def coco_files(paths: Sequence[Path]) -> list[PublishedFile]:
    """The instance files at paths: plain, .gz or .xz; for a .zip, all members called instances*.json."""
    found = []
    for path in paths:
        if not path.is_file():
            raise InputError(f"COCO file {path}: {'it is a folder' if path.is_dir() else 'no such file'}; give a file")
        if not zipfile.is_zipfile(path):
            found.append(PublishedFile(path.name, path))
            continue
        members = [PurePosixPath(one) for one in sorted(member_names(path)) if "__MACOSX" not in one]
        wanted = [PublishedFile(one.name, path, str(one)) for one in members if one.match("instances*.json")]
        if not wanted:
            raise InputError(f"COCO file {path}: expected a file instances*.json in it, found none")
        found += wanted
    return found


def read_coco(
    files: Sequence[PublishedFile], made: QuestionCollection, progress: Progress = silent
) -> list[CocoImage]:
    """The images of all files, by id, each with its objects by id; counts what is listed again."""
    images: dict[int, tuple[int, int, str]] = {}  # width, height and name
    annotated = defaultdict[int, frozenset[str]](frozenset)
    instances = defaultdict[int, dict[int, Instance]](dict)  # by image, by annotation id
    for number, file in enumerate(files, 1):
        listed, names, rows = _read_file(file)
        for image_id, (width, height, path) in listed.items():
            one = (width, height, path.stem.rpartition("_")[2])  # later releases have no COCO_val2014_ in the name
            if images.setdefault(image_id, one) != one:
                raise InputError(f"{file.location}: image {image_id} is another image in another file; renumber it")
            made.left_out["coco: images listed in another file too"] += image_id in annotated
            annotated[image_id] |= set(names.values())
            made.add_image(image_id, "coco", subset_in(path.name) or subset_in(file.name), file.location)
        for key, image_id, category, crowd, area, box in rows:
            made.left_out["coco: objects listed in another file too"] += key in instances[image_id]
            thing = Instance._make((names[category], float(area), *map(float, box), bool(crowd)))
            instances[image_id].setdefault(key, thing)
        progress("reading COCO", number, len(files))
    made.left_out["coco: images without any annotated object"] = len(images) - len(instances)
    return [
        CocoImage(image_id, *about[:2], annotated[image_id], [one for _, one in sorted(instances[image_id].items())])
        for image_id, about in sorted(images.items())
    ]


def _read_file(
    file: PublishedFile,
) -> tuple[dict[int, tuple[int, int, PurePosixPath]], dict[int, str], list[tuple[Any, ...]]]:
    """Size and name by image, category names by id, and (id, image, category, crowd, area, box) of each object."""
    listed: dict[int, tuple[int, int, PurePosixPath]] = {}
    names: dict[int, str] = {}
    rows: list[tuple[Any, ...]] = []
    for field, records in read_lists(file, ("images", "annotations", "categories")):
        if field == "images":
            paths = map(PurePosixPath, records.filled_texts("file_name"))
            sizes = zip(records.whole_numbers("width"), records.whole_numbers("height"), paths, strict=True)
            listed.update(zip(records.whole_numbers("id"), sizes, strict=True))
        elif field == "categories":
            names.update(zip(records.whole_numbers("id"), records.texts("name"), strict=True))
        else:
            columns = map(records.whole_numbers, ("id", "image_id", "category_id", "iscrowd"))
            rows += zip(*columns, records.column("area"), records.lists("bbox", 4), strict=True)
    unknown = sorted({*names.values()} - COCO_OBJECTS.keys())
    if unknown or not names:
        lacks = "field 'categories': expected a list of categories, found none"
        wrong = unknown_name("category", unknown[0], COCO_OBJECTS) if unknown else lacks
        raise InputError(f"{file.location}: {wrong}")
    for what, known, column in (("image", listed, 1), ("category", names, 2)):
        if lacking := {row[column] for row in rows} - known.keys():
            wrong = f"{what} {min(lacking)} is annotated, but not listed; use a whole file"
            raise InputError(f"{file.location}: {wrong}")
    return listed, names, rows


SCENES = Vocabulary("tdiuc/scenes")
KINDS = SCENES.read("kinds", dict[str, tuple[str, ...]])
CONFUSABLE = SCENES.read("confusable", dict[str, frozenset[str]])
EQUIPMENT = SCENES.read("equipment", dict[str, str])
ROOMS = SCENES.read("rooms", dict[str, dict[str, frozenset[str]]])  # one object of each set is required
_TEXTS = Vocabulary("tdiuc/templates")
TEMPLATES = {key: _TEXTS.read(key, tuple[str, ...]) for key in _TEXTS}
INDOORS, OUTDOORS = "indoors", "outdoors"
SIDES = ("left", "right")
BALL = "sports ball"
_INDOOR_KINDS = {name for name, one in COCO_OBJECTS.items() if one.supercategory in SCENES["indoor supercategories"]}
_INDOOR_SIGNS = SCENES["indoor signs"] | (_INDOOR_KINDS - SCENES["outdoor exceptions"])


def ask_coco(image: CocoImage, mentioned: frozenset[str], made: QuestionCollection) -> None:
    """Add all questions that COCO's annotation of an image allows; objects ``mentioned`` elsewhere are not absent."""
    ask: dict[str, Callable[[CocoImage, SeededRng], Iterator[Outcome]]]
    ask = {PRESENCE: partial(ask_presence, absent=absent_objects(image, mentioned)), COUNTING: ask_counting}
    ask |= {SUBORDINATE: ask_kinds, SPORT: ask_sport, SCENE: ask_scene, POSITION: ask_positions}
    for question_type, asked in ask.items():
        rng = SeededRng(made.seed, "tdiuc", question_type, str(image.image_id))
        made.add(image.image_id, question_type, "coco_generated", asked(image, rng))


def ask_presence(image: CocoImage, rng: SeededRng, absent: list[str]) -> Iterator[Outcome]:
    """Ask about the presence of each category with a large enough object, and of as many absent ones."""
    large = sorted({one.name for one in image.instances if one.area >= MIN_AREA})
    yield from [f"all smaller than {MIN_AREA} pixels"] * (len(image.present) - len(large))
    left, of_no = rng.shuffled(absent), list[str]()
    near = {COCO_OBJECTS[name].supercategory for name in image.present}
    for name in large[: len(left)]:  # the first of the same supercategory, else of one in the image, else the first
        wanted = COCO_OBJECTS[name].supercategory
        groups = {other: COCO_OBJECTS[other].supercategory for other in left}
        of_no.append(min(left, key=lambda other: (groups[other] != wanted, groups[other] not in near)))
        left.remove(of_no[-1])
    yield from ["no absent object left to ask about"] * (len(large) - len(of_no))
    for name, answer in [*((name, YES) for name in large), *((name, NO) for name in sorted(of_no))]:
        where, thing = rng.pick(TEMPLATES["presence places"]), COCO_OBJECTS[name]
        if thing.wording in OBJECTS["plural only"]:
            start = f"Are there any {thing.wording}"
        elif thing.wording in OBJECTS["mass"]:
            start = f"Is there any {thing.wording}"
        else:
            start = f"Are there any {thing.plural}" if rng.happens(0.5) else f"Is there {with_article(thing.wording)}"
        yield f"{start} {where}".rstrip() + "?", answer


def absent_objects(image: CocoImage, mentioned: frozenset[str]) -> list[str]:
    """Objects that are provably absent, like everything with a related name; in COCO's order."""
    present = image.present | mentioned
    return [name for name in COCO_OBJECTS if name in image.annotated and not related(name) & present]


def ask_counting(image: CocoImage, rng: SeededRng) -> Iterator[Outcome]:
    """Ask for the number of objects of a category, if all are large enough and none is part of a crowd."""
    counts = Counter(one.name for one in image.instances)
    small = {one.name for one in image.instances if one.area < MIN_AREA}
    crowds = {one.name for one in image.instances if one.crowd}
    for name in sorted(counts):
        if name in crowds:
            yield "a crowd among them"
        elif name in small:
            yield f"some smaller than {MIN_AREA} pixels"
        elif counts[name] > len(COUNTABLE):
            yield f"more than {len(COUNTABLE)}"
        elif related(name) & (image.present - {name}):
            yield "another object shares its name"
        else:
            question = rng.pick(TEMPLATES["counting"]).format(objects=COCO_OBJECTS[name].counted)
            yield question, COUNTABLE[counts[name] - 1]


def ask_kinds(image: CocoImage, rng: SeededRng) -> Iterator[Outcome]:
    """Ask what kind of animal, vehicle, ... it is, if the image has only one kind of it, of any size."""
    for group, nouns in KINDS.items():
        members = frozenset(SUPERCATEGORIES[group])
        present = sorted(image.present & members)
        if not present:
            continue
        if not members <= image.annotated:
            yield "the file does not annotate all of its kind"
        elif len(present) > 1:
            yield "several kinds"
        elif present[0] in SCENES["no such kind"]:
            yield f"{present[0]} is not called {nouns[0]}"
        elif image.present & CONFUSABLE.get(group, frozenset()):
            yield "a likeness of its kind next to it"
        elif not any(one.name == present[0] and one.area >= MIN_AREA for one in image.instances):
            yield f"all smaller than {MIN_AREA} pixels"
        else:
            single = sum(one.name == present[0] for one in image.instances) == 1
            template = rng.pick(TEMPLATES["kinds of one"] if single else TEMPLATES["kinds"])
            question = template.format(kind=rng.pick(nouns))
            yield question, present[0]


def ask_sport(image: CocoImage, rng: SeededRng) -> Iterator[Outcome]:
    """Ask which sport it is, if people and the equipment of one sport are shown."""
    sports = {EQUIPMENT[name] for name in image.present if name in EQUIPMENT}
    if not sports:
        if BALL in image.present:
            yield "a ball alone"
    elif not EQUIPMENT.keys() | {BALL} <= image.annotated:
        yield "the file does not annotate all equipment"
    elif len(sports) > 1 or (BALL in image.present and not sports & SCENES["ball games"]):
        yield "equipment of several sports"
    elif "person" not in image.present:
        yield "nobody there"
    else:
        yield rng.pick(TEMPLATES["sport"]), min(sports)


def ask_scene(image: CocoImage, rng: SeededRng) -> Iterator[Outcome]:
    """Ask which room it is, and whether it is indoors, if the objects leave no doubt."""
    if not _INDOOR_SIGNS | SCENES["outdoor signs"] <= image.annotated:
        yield "the file does not annotate all that identifies a scene"
        return
    where = None
    if image.present & SCENES["outdoor signs"]:
        if image.present & SCENES["outdoor proof"] and not image.present & _INDOOR_SIGNS:
            where = OUTDOORS
    elif image.present & SCENES["indoor proof"] or len(image.present & SCENES["indoor pair"]) > 1:
        where = INDOORS
    if where is None:
        yield "indoors or outdoors is in doubt"
        return
    yield rng.pick(TEMPLATES["indoors or outdoors"]), where
    asked = rng.pick((INDOORS, OUTDOORS))  # so that there are about as many yes as no
    question = rng.pick(TEMPLATES["is it"]).format(where=asked)
    yield question, YES if asked == where else NO
    if where == INDOORS:
        rooms = [name for name, room in ROOMS.items() if image.present & room["marks"]]
        if len(rooms) == 1 and image.present & ROOMS[rooms[0]]["others"]:
            yield rng.pick(TEMPLATES["room"]), rooms[0]
        else:
            yield "the room is in doubt"


def ask_positions(image: CocoImage, rng: SeededRng) -> Iterator[Outcome]:
    """Ask what is next to each sole object, if exactly one is, also with thresholds LOOSELY times as wide."""
    counts = Counter(one.name for one in image.instances)
    for one in image.instances:
        if counts[one.name] > 1 or one.crowd or one.area < MIN_AREA:
            yield from ["not the only one of its kind, or too small"] * len(SIDES)
            continue
        for side in SIDES:
            template = rng.pick(TEMPLATES["position"])
            others = [other for other in image.instances if other is not one]
            near = [other for other in others if _is_next_to(other, one, side, image, LOOSELY)]
            if not near:
                yield "nothing next to it"
            elif len(near) > 1 or near[0].crowd:
                yield "several objects next to it"
            elif near[0].area < MIN_AREA or not _is_next_to(near[0], one, side, image):
                yield "the object next to it is too small or too far"
            else:
                question = template.format(side=side, object=COCO_OBJECTS[one.name].wording)
                yield question, near[0].name


def _is_next_to(other: Instance, one: Instance, side: str, image: CocoImage, times: float = 1) -> bool:
    """Whether the paper's three heuristics hold, with thresholds multiplied by ``times``."""
    first, second = (other, one) if side == "left" else (one, other)
    apart = abs(other.top + other.height / 2 - one.top - one.height / 2)
    overlap = min(other.left + other.width, one.left + one.width) - max(other.left, one.left)
    return (
        apart <= times * VERTICAL_THRESHOLD * image.height  # heuristic 1
        and overlap <= OVERLAP_THRESHOLD * min(other.width, one.width)  # heuristic 2
        and -overlap <= times * HORIZONTAL_THRESHOLD * image.width  # heuristic 3
        and first.left < second.left
        and first.left + first.width < second.left + second.width
    )
