"""Is there one, and how many are there: Kafle and Kanan 2017, "Generating Questions using Image Annotations"."""

from collections import Counter

from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.tdiuc.coco_files import CocoImage
from hf_vqa_mc.engines.tdiuc.made import Made
from hf_vqa_mc.engines.tdiuc.numbers_in_words import COUNTABLE
from hf_vqa_mc.engines.tdiuc.objects import COCO_OBJECTS, MASS, PLURAL_ONLY, CocoObject, related
from hf_vqa_mc.engines.tdiuc.question import NO, YES
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings
from hf_vqa_mc.scoring.tdiuc_types import COUNTING, PRESENCE

PLACES = ("", " in the picture", " in the photo", " in the image", " in this picture", " in this photo")
HOW_MANY = (
    "How many {} are there?",
    "How many {} are in the photo?",
    "How many {} are in the picture?",
    "How many {} are in the image?",
    "How many {} can be seen?",
    "How many {} are visible?",
    "How many {} are shown in the picture?",
    "How many {} can you see in the photo?",
    "What is the number of {} in the picture?",
)
"""The paper has eight; the first two are its own."""


def ask_presence(image: CocoImage, spoken_of: frozenset[str], settings: TdiucSettings, made: Made) -> None:
    """A yes for each kind of object that is large enough, and as many questions about absent ones.

    Args:
        image: with its objects.
        spoken_of: what other annotation of the image speaks of; not asked about as absent.
        settings: ``min_area`` and the seed.
        made: takes the questions.
    """
    chance = Chance(settings.seed, "tdiuc", PRESENCE, str(image.image_id))
    large = sorted({one.name for one in image.instances if one.area >= settings.min_area})
    made.leave_out(PRESENCE, f"all smaller than {settings.min_area:g} pixels", len(image.present) - len(large))
    absent = absent_objects(image, spoken_of)
    of_no = _negatives(large, image.present, absent, chance)
    made.leave_out(PRESENCE, "no absent object left to ask about", len(large) - len(of_no))
    for names, answer in ((large, YES), (of_no, NO)):
        for name in names:
            made.ask(image.image_id, _is_there(COCO_OBJECTS[name], chance), answer, PRESENCE, "coco_generated")


def absent_objects(image: CocoImage, spoken_of: frozenset[str]) -> list[str]:
    """What is annotated nowhere on the image, nor anything it could be taken for by its name, in COCO's order."""
    there = image.present | spoken_of
    return [name for name in COCO_OBJECTS if name in image.annotated and not related(name) & there]


def ask_counting(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """How many there are, where all are large enough and none is part of a crowd."""
    chance = Chance(settings.seed, "tdiuc", COUNTING, str(image.image_id))
    counts = Counter(one.name for one in image.instances)
    small = {one.name for one in image.instances if one.area < settings.min_area}
    crowds = {one.name for one in image.instances if one.crowd}
    for name in sorted(counts):
        if name in crowds:
            made.leave_out(COUNTING, "a crowd among them")
        elif name in small:
            made.leave_out(COUNTING, f"some smaller than {settings.min_area:g} pixels")
        elif counts[name] > len(COUNTABLE):
            made.leave_out(COUNTING, f"more than {len(COUNTABLE)}")
        elif related(name) & (image.present - {name}):
            made.leave_out(COUNTING, "another object shares its name")
        else:
            question = chance.pick(HOW_MANY).format(COCO_OBJECTS[name].counted)
            made.ask(image.image_id, question, COUNTABLE[counts[name] - 1], COUNTING, "coco_generated")


def _negatives(large: list[str], present: frozenset[str], absent: list[str], chance: Chance) -> list[str]:
    """For each object that is there an absent one, of its supercategory or of another present one's if possible."""
    left = chance.shuffled(absent)
    near = {COCO_OBJECTS[name].supercategory for name in present}
    chosen = []
    for name in large:
        if left:
            wanted = COCO_OBJECTS[name].supercategory
            of_same = (one for one in left if COCO_OBJECTS[one].supercategory == wanted)
            of_near = (one for one in left if COCO_OBJECTS[one].supercategory in near)
            taken = next(of_same, None) or next(of_near, None) or left[0]
            left.remove(taken)
            chosen.append(taken)
    return sorted(chosen)


def _is_there(asked: CocoObject, chance: Chance) -> str:
    place = chance.pick(PLACES)
    if asked.asked in PLURAL_ONLY:
        return f"Are there any {asked.asked}{place}?"
    if asked.asked in MASS:
        return f"Is there any {asked.asked}{place}?"
    return f"Are there any {asked.plural}{place}?" if chance.happens(0.5) else f"Is there {asked.one}{place}?"
