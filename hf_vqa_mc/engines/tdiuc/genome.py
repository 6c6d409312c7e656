"""Visual Genome's objects, attributes and relationships, image by image, and the questions about them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.tdiuc.coco import TEMPLATES
from hf_vqa_mc.engines.tdiuc.questions import Collected, Outcome
from hf_vqa_mc.engines.tdiuc.words import ANSWERS, COCO_OBJECTS, COLORS, OBJECTS, colors_in, single_color
from hf_vqa_mc.engines.visual_genome import (
    IMAGES,
    PARTS,
    RawObject,
    genome_graph,
    genome_records,
    overlap,
    plain_name,
)
from hf_vqa_mc.engines.vocabulary import plural_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.scoring.tdiuc_types import COLOR, POSITION
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET
from hf_vqa_mc.text.wordnet import load_wordnet

DUPLICATE_OVERLAP = 0.5  # minimum intersection over union of two boxes that may be one object; ours
QUESTIONS = "question_answers.json"


def read_image_ids(folder: Folder, made: Collected, left_out: Counter[str]) -> dict[int, int]:
    """Map Visual Genome's image ids to output ids, COCO's for COCO's images; empty without image_data.json."""
    ids: dict[int, int] = {}
    if not folder.has(IMAGES):
        left_out["no image_data.json: images that are COCO's are not known as such"] = 1
        return ids
    file = folder.find(IMAGES)
    seen = set()
    for records in read_records(file):
        for image_id, coco_id in zip(records.whole_numbers("image_id"), records.column("coco_id"), strict=True):
            ids[image_id] = GENOME_OFFSET + image_id if coco_id is None else coco_id
            made.add_image(ids[image_id], "genome" if coco_id is None else "coco", None, file.location)
            left_out["images that are the same photograph of COCO as another, asked about as one"] += coco_id in seen
            seen |= {coco_id} - {None}
    return ids


def read_genome(
    folder: Folder, ids: dict[int, int], made: Collected, left_out: Counter[str]
) -> Iterator[tuple[int, dict[str, RawObject]]]:
    """Read the images of those of the three files that exist: the output id and the objects with a name, by id."""
    present = [name for name in PARTS if folder.has(name)]
    for image_id, records in genome_records(folder, present):
        written = written_id(image_id, ids, made, next(iter(records.values())).location(0))
        left_out.update(f"images that {name} lacks" for name in present if name not in records)
        graph = genome_graph(image_id, records, left_out, all_attributes=False)
        keys = sorted(graph.objects, key=lambda key: (len(key), key))  # by number
        objects = {key: graph.objects[key] for key in keys if graph.objects[key].name}
        left_out["objects without a name"] += len(graph.objects) - len(objects)
        for one in objects.values():
            one.name, one.other_names = plain_name(one.name), [*map(plain_name, one.other_names)]
            one.attributes = [*dict.fromkeys(map(plain_name, one.attributes))]
        yield written, objects


def written_id(image_id: int, ids: dict[int, int], made: Collected, location: str) -> int:
    """The output id of an image of Visual Genome; InputError if image_data.json exists but does not list it."""
    if not ids:
        made.add_image(GENOME_OFFSET + image_id, "genome", None, location)
        return GENOME_OFFSET + image_id
    if image_id not in ids:
        raise InputError(f"{location}: image {image_id} is not in {IMAGES}; use files of the same release")
    return ids[image_id]


_NAMES = {name for one in COCO_OBJECTS.values() for name in (one.name, one.wording)}
COLORED = (_NAMES | OBJECTS["unannotated"]) - {"person"}  # what color questions ask about: COCO's 91 except people
_PLURALS = OBJECTS["plural only"] | {"eye glasses"}
_POSITIONS = {phrase: re.compile(pattern) for phrase, pattern in ANSWERS.read("positions", dict[str, str]).items()}
_NAME = re.compile(r"[a-z]+( [a-z]+){0,2}")


def ask_genome(image_id: int, objects: Mapping[str, RawObject], made: Collected) -> None:
    """The questions about one image of Visual Genome."""
    rng = SeededRng(made.seed, "tdiuc", COLOR, str(image_id))
    made.add(image_id, COLOR, "genome_generated", _ask_colors([*objects.values()], rng))
    made.add(image_id, POSITION, "genome_generated", _ask_positions(objects))


def _ask_colors(objects: list[RawObject], rng: SeededRng) -> Iterator[Outcome]:
    for one in objects:
        if not any(map(colors_in, one.attributes)):
            continue
        template, color = rng.pick(TEMPLATES["color"]), single_color(one.attributes)
        if color is None:
            yield "several colors or a shade"
        elif not _is_colored(one):
            yield "not among COCO's objects, or its name is not a singular noun of them"
        elif colors_in(one.name):
            yield "its color is in its name"
        elif any(other is not one and _same_kind(other, one) for other in objects):
            yield "not the only one of its kind"
        elif any(
            overlap(other.box, one.box) >= DUPLICATE_OVERLAP
            and not set().union(*map(colors_in, other.attributes)) <= {color}
            for other in objects
        ):
            yield "the same box by another name has another color"
        else:
            yield template.format(object=one.name), color


def _ask_positions(objects: Mapping[str, RawObject]) -> Iterator[Outcome]:
    answers = defaultdict[tuple[str, str], set[str]](set)
    for subject, named in objects.items():
        for text, target in named.relations:
            predicate = plain_name(text)
            phrase = next((phrase for phrase, pattern in _POSITIONS.items() if pattern.fullmatch(predicate)), None)
            if phrase is not None:
                answers[target, phrase].add(subject)
    for (thing, phrase), subjects in sorted(answers.items(), key=lambda item: (len(item[0][0]), item[0])):
        if thing not in objects:
            yield "a relationship to an object that was left out"
        elif len(subjects) > 1:
            yield "several objects there"
        else:
            one, other = objects[thing], objects[subjects.pop()]
            doubt = _doubt(other, phrase, one, objects.values())
            yield doubt or (f"What is {phrase} the {_specified(one)}?", other.name)


def _doubt(other: RawObject, phrase: str, one: RawObject, objects: Iterable[RawObject]) -> str | None:
    if one.other_names or other.other_names:
        return "an object of several names"
    if not _is_name(one.name) or not _is_name(other.name):
        return "a name that no question can use"
    if any(named is not another and _same_kind(another, named) for named in (one, other) for another in objects):
        return "not the only one of its kind"
    others = [another for another in objects if another is not one and another is not other]
    if any(overlap(another.box, other.box) >= DUPLICATE_OVERLAP for another in others):
        return "the answer's box has another name too"
    x, y, x2, y2 = (box[axis] + box[axis + 2] / 2 for box in (other.box, one.box) for axis in (0, 1))
    across, down = x - x2, y - y2
    holds = {"to the left of": across < 0, "to the right of": across > 0}
    holds |= dict.fromkeys(("above", "on top of"), down < 0) | dict.fromkeys(("below", "under"), down > 0)
    return None if holds.get(phrase, True) else "the boxes say otherwise"


def _is_colored(one: RawObject) -> bool:
    """Whether it is one of COCO's by its name, or by its synset with a name that ends in it (a "delivery truck")."""
    if one.name in COLORED:
        return one.name not in _PLURALS
    noun = one.synset.split(".")[0].replace("_", " ")
    return noun in COLORED and bool(_NAME.fullmatch(one.name)) and one.name.endswith(f" {noun}")


def _same_kind(other: RawObject, one: RawObject) -> bool:
    """Whether a question about one could mean the other: the same noun (singular or plural) or the same synset."""
    nouns, others = ({name.split()[-1] for name in (each.name, *each.other_names)} for each in (one, other))
    same_noun = nouns.union(map(plural_of, nouns)) & others.union(map(plural_of, others))
    return bool(same_noun or (one.synset and one.synset == other.synset))


def _is_name(name: str) -> bool:
    words = name.split()
    plain = _NAME.fullmatch(name) and not set(words) & (ANSWERS["no things"] | {"of", "on", "in", "with"})
    return bool(plain and not colors_in(name) and load_wordnet().senses(words[-1], nouns_only=True))


def _specified(one: RawObject) -> str:
    """Its name after a suitable attribute if it has one, since another object of that name may not be annotated."""
    fitting = sorted(set(one.attributes) & ANSWERS["adjectives"] - set(one.name.split()) - COLORS.keys())
    chosen = single_color(one.attributes) or next(iter(fitting), None)
    return f"{chosen} {one.name}" if chosen else one.name
