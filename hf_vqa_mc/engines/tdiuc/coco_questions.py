"""Questions from COCO's annotation of an image: Kafle and Kanan 2017, "Generating Questions using Image Annotations".

Presence, counting, kinds of objects, sports, scenes and positions. Which objects identify a sport or a room is our
choice (``data/scenes.yaml``); the paper's only example is toilet and sink for a bathroom.
"""

from collections import Counter
from dataclasses import dataclass

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.tdiuc.coco_files import CocoImage, Instance
from hf_vqa_mc.engines.tdiuc.question import NO, YES, Made
from hf_vqa_mc.engines.tdiuc.settings import (
    HORIZONTAL_THRESHOLD,
    MIN_AREA,
    OVERLAP_THRESHOLD,
    VERTICAL_THRESHOLD,
    TdiucSettings,
)
from hf_vqa_mc.engines.tdiuc.words import COCO_OBJECTS, COUNTABLE, OBJECTS, CocoObject, related, with_article
from hf_vqa_mc.engines.vocabulary import vocabulary
from hf_vqa_mc.scoring.tdiuc_types import COUNTING, POSITION, PRESENCE, SCENE, SPORT, SUBORDINATE


@dataclass(frozen=True)
class Templates:
    """The schema of ``templates.yaml``, which describes its keys."""

    presence_places: tuple[str, ...]
    counting: tuple[str, ...]
    kinds: tuple[str, ...]
    kinds_of_one: tuple[str, ...]
    sport: tuple[str, ...]
    room: tuple[str, ...]
    indoors_or_outdoors: tuple[str, ...]
    is_it: tuple[str, ...]
    position: tuple[str, ...]
    color: tuple[str, ...]


@dataclass(frozen=True)
class Room:
    """Objects that identify a room: one of each set is required."""

    marks: frozenset[str]
    others: frozenset[str]


@dataclass(frozen=True)
class Scenes:
    """The schema of ``scenes.yaml``, which describes its keys."""

    kinds: dict[str, tuple[str, ...]]
    no_such_kind: frozenset[str]
    confusable: dict[str, frozenset[str]]
    equipment: dict[str, str]
    ball_games: frozenset[str]
    rooms: dict[str, Room]
    outdoor_signs: frozenset[str]
    outdoor_proof: frozenset[str]
    indoor_supercategories: frozenset[str]
    outdoor_exceptions: frozenset[str]
    indoor_signs: frozenset[str]
    indoor_proof: frozenset[str]
    indoor_pair: frozenset[str]


TEMPLATES = vocabulary("tdiuc/templates", Templates)
SCENES = vocabulary("tdiuc/scenes", Scenes)
INDOORS, OUTDOORS = "indoors", "outdoors"
SIDES = ("left", "right")
BALL = "sports ball"
LOOSELY = 2.0  # ours: the paper does not define when several objects are next to another

_INDOOR_SIGNS = SCENES.indoor_signs | {
    name
    for name, one in COCO_OBJECTS.items()
    if one.supercategory in SCENES.indoor_supercategories and name not in SCENES.outdoor_exceptions
}


def ask_coco(image: CocoImage, mentioned: frozenset[str], settings: TdiucSettings, made: Made) -> None:
    """Add all questions that COCO's annotation of an image allows; objects ``mentioned`` elsewhere are not absent."""
    ask_presence(image, mentioned, settings, made)
    ask_counting(image, settings, made)
    ask_kinds(image, settings, made)
    ask_sport(image, settings, made)
    ask_scene(image, settings, made)
    ask_positions(image, settings, made)


def ask_presence(image: CocoImage, mentioned: frozenset[str], settings: TdiucSettings, made: Made) -> None:
    """Add questions about the presence of each category with a large enough object, and of as many absent ones."""
    rng = SeededRng(settings.seed, "tdiuc", PRESENCE, str(image.image_id))
    large = sorted({one.name for one in image.instances if one.area >= MIN_AREA})
    made.leave_out(PRESENCE, f"all smaller than {MIN_AREA} pixels", len(image.present) - len(large))
    of_no = _negatives(large, image.present, absent_objects(image, mentioned), rng)
    made.leave_out(PRESENCE, "no absent object left to ask about", len(large) - len(of_no))
    for names, answer in ((large, YES), (of_no, NO)):
        for name in names:
            made.ask(image.image_id, _is_there(COCO_OBJECTS[name], rng), answer, PRESENCE, "coco_generated")


def absent_objects(image: CocoImage, mentioned: frozenset[str]) -> list[str]:
    """Objects that are provably absent, like everything with a related name; in COCO's order."""
    present = image.present | mentioned
    return [name for name in COCO_OBJECTS if name in image.annotated and not related(name) & present]


def _negatives(large: list[str], present: frozenset[str], absent: list[str], rng: SeededRng) -> list[str]:
    left = rng.shuffled(absent)
    near = {COCO_OBJECTS[name].supercategory for name in present}
    chosen = []
    for name in large[: len(left)]:
        wanted = COCO_OBJECTS[name].supercategory
        of_same = (one for one in left if COCO_OBJECTS[one].supercategory == wanted)
        of_near = (one for one in left if COCO_OBJECTS[one].supercategory in near)
        taken = next(of_same, None) or next(of_near, None) or left[0]
        left.remove(taken)
        chosen.append(taken)
    return sorted(chosen)


def _is_there(thing: CocoObject, rng: SeededRng) -> str:
    where, name = rng.pick(TEMPLATES.presence_places), thing.wording
    if name in OBJECTS.plural_only:
        start = f"Are there any {name}"
    elif name in OBJECTS.mass:
        start = f"Is there any {name}"
    elif rng.happens(0.5):
        start = f"Are there any {thing.plural}"
    else:
        start = f"Is there {with_article(name)}"
    return f"{start} {where}".rstrip() + "?"


def ask_counting(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Ask for the number of objects of a category, if all are large enough and none is part of a crowd."""
    rng = SeededRng(settings.seed, "tdiuc", COUNTING, str(image.image_id))
    counts = Counter(one.name for one in image.instances)
    small = {one.name for one in image.instances if one.area < MIN_AREA}
    crowds = {one.name for one in image.instances if one.crowd}
    for name in sorted(counts):
        if name in crowds:
            made.leave_out(COUNTING, "a crowd among them")
        elif name in small:
            made.leave_out(COUNTING, f"some smaller than {MIN_AREA} pixels")
        elif counts[name] > len(COUNTABLE):
            made.leave_out(COUNTING, f"more than {len(COUNTABLE)}")
        elif related(name) & (image.present - {name}):
            made.leave_out(COUNTING, "another object shares its name")
        else:
            question = rng.pick(TEMPLATES.counting).format(objects=COCO_OBJECTS[name].counted)
            made.ask(image.image_id, question, COUNTABLE[counts[name] - 1], COUNTING, "coco_generated")


def ask_kinds(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Ask what kind of animal, vehicle, ... it is, if the image has only one kind of it, of any size."""
    rng = SeededRng(settings.seed, "tdiuc", SUBORDINATE, str(image.image_id))
    for group, nouns in SCENES.kinds.items():
        members = frozenset(OBJECTS.supercategories[group])
        present = sorted(image.present & members)
        if not present:
            continue
        if not members <= image.annotated:
            made.leave_out(SUBORDINATE, "the file does not annotate all of its kind")
        elif len(present) > 1:
            made.leave_out(SUBORDINATE, "several kinds")
        elif present[0] in SCENES.no_such_kind:
            made.leave_out(SUBORDINATE, f"{present[0]} is not called {nouns[0]}")
        elif image.present & SCENES.confusable.get(group, frozenset()):
            made.leave_out(SUBORDINATE, "a likeness of its kind next to it")
        elif not any(one.name == present[0] and one.area >= MIN_AREA for one in image.instances):
            made.leave_out(SUBORDINATE, f"all smaller than {MIN_AREA} pixels")
        else:
            single = sum(one.name == present[0] for one in image.instances) == 1
            template = rng.pick(TEMPLATES.kinds_of_one if single else TEMPLATES.kinds)
            question = template.format(kind=rng.pick(nouns))
            made.ask(image.image_id, question, present[0], SUBORDINATE, "coco_generated")


def ask_sport(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Ask which sport it is, if people and the equipment of one sport are shown."""
    sports = {SCENES.equipment[name] for name in image.present if name in SCENES.equipment}
    if not sports:
        if BALL in image.present:
            made.leave_out(SPORT, "a ball alone")
    elif not SCENES.equipment.keys() | {BALL} <= image.annotated:
        made.leave_out(SPORT, "the file does not annotate all equipment")
    elif len(sports) > 1 or (BALL in image.present and not sports & SCENES.ball_games):
        made.leave_out(SPORT, "equipment of several sports")
    elif "person" not in image.present:
        made.leave_out(SPORT, "nobody there")
    else:
        rng = SeededRng(settings.seed, "tdiuc", SPORT, str(image.image_id))
        made.ask(image.image_id, rng.pick(TEMPLATES.sport), min(sports), SPORT, "coco_generated")


def ask_scene(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Ask which room it is, and whether it is indoors, if the objects leave no doubt."""
    if not _INDOOR_SIGNS | SCENES.outdoor_signs <= image.annotated:
        made.leave_out(SCENE, "the file does not annotate all that identifies a scene")
        return
    rng = SeededRng(settings.seed, "tdiuc", SCENE, str(image.image_id))
    where = _where(image.present)
    if where is None:
        made.leave_out(SCENE, "indoors or outdoors is in doubt")
        return
    made.ask(image.image_id, rng.pick(TEMPLATES.indoors_or_outdoors), where, SCENE, "coco_generated")
    asked = rng.pick((INDOORS, OUTDOORS))  # so that there are about as many yes as no
    question = rng.pick(TEMPLATES.is_it).format(where=asked)
    made.ask(image.image_id, question, YES if asked == where else NO, SCENE, "coco_generated")
    if where == INDOORS:
        rooms = [name for name, room in SCENES.rooms.items() if image.present & room.marks]
        if len(rooms) == 1 and image.present & SCENES.rooms[rooms[0]].others:
            made.ask(image.image_id, rng.pick(TEMPLATES.room), rooms[0], SCENE, "coco_generated")
        else:
            made.leave_out(SCENE, "the room is in doubt")


def _where(present: frozenset[str]) -> str | None:
    if present & SCENES.outdoor_signs:
        return OUTDOORS if present & SCENES.outdoor_proof and not present & _INDOOR_SIGNS else None
    return INDOORS if present & SCENES.indoor_proof or len(present & SCENES.indoor_pair) > 1 else None


def ask_positions(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Ask what is next to each object that is the only one of its kind, if exactly one object is.

    Objects that meet the heuristics with thresholds LOOSELY times as wide make the question ambiguous.
    """
    rng = SeededRng(settings.seed, "tdiuc", POSITION, str(image.image_id))
    counts = Counter(one.name for one in image.instances)
    for one in image.instances:
        if counts[one.name] > 1 or one.crowd or one.area < MIN_AREA:
            made.leave_out(POSITION, "not the only one of its kind, or too small", len(SIDES))
            continue
        for side in SIDES:
            template = rng.pick(TEMPLATES.position)
            others = [other for other in image.instances if other is not one]
            near = [other for other in others if _is_next_to(other, one, side, image, LOOSELY)]
            if not near:
                made.leave_out(POSITION, "nothing next to it")
            elif len(near) > 1 or near[0].crowd:
                made.leave_out(POSITION, "several objects next to it")
            elif near[0].area < MIN_AREA or not _is_next_to(near[0], one, side, image):
                made.leave_out(POSITION, "the object next to it is too small or too far")
            else:
                question = template.format(side=side, object=COCO_OBJECTS[one.name].wording)
                made.ask(image.image_id, question, near[0].name, POSITION, "coco_generated")


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
