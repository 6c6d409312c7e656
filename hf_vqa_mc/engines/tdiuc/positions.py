"""What is to the left or right of an object: from COCO's boxes, by the three heuristics of Kafle and Kanan 2017."""

from collections import Counter

from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.tdiuc.coco_files import CocoImage, Instance
from hf_vqa_mc.engines.tdiuc.made import Made
from hf_vqa_mc.engines.tdiuc.objects import COCO_OBJECTS
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings
from hf_vqa_mc.scoring.tdiuc_types import POSITION

SIDES = ("left", "right")
LOOSELY = 2.0
"""Ours: the paper leaves open when several things are beside an object."""
WHAT_IS = (
    "What is to the {side} of the {object}?",
    "What is on the {side} side of the {object}?",
    "What can you see to the {side} of the {object}?",
    "What can be seen to the {side} of the {object}?",
)


def ask_positions(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """For each object that is the only one of its kind: what is beside it, if that is one thing.

    Whatever stands as the heuristics demand with thresholds LOOSELY times as wide could be meant too.
    """
    chance = Chance(settings.seed, "tdiuc", POSITION, str(image.image_id))
    counts = Counter(one.name for one in image.instances)
    for one in image.instances:
        if counts[one.name] > 1 or one.crowd or one.area < settings.min_area:
            made.leave_out(POSITION, "not the only one of its kind, or too small", len(SIDES))
            continue
        for side in SIDES:
            template = chance.pick(WHAT_IS)
            beside = [
                other
                for other in image.instances
                if other is not one and _is_beside(other, one, side, image, settings, LOOSELY)
            ]
            if not beside:
                made.leave_out(POSITION, "nothing beside it")
            elif len(beside) > 1 or beside[0].crowd:
                made.leave_out(POSITION, "several things beside it")
            elif beside[0].area < settings.min_area or not _is_beside(beside[0], one, side, image, settings):
                made.leave_out(POSITION, "what is beside it is too small or too far")
            else:
                question = template.format(side=side, object=COCO_OBJECTS[one.name].asked)
                made.ask(image.image_id, question, beside[0].name, POSITION, "coco_generated")


def _is_beside(
    other: Instance, one: Instance, side: str, image: CocoImage, settings: TdiucSettings, times: float = 1
) -> bool:
    """Whether the heuristics hold, with thresholds so many times as wide."""
    first, second = (other, one) if side == "left" else (one, other)
    apart = abs(other.top + other.height / 2 - one.top - one.height / 2)
    overlap = min(other.left + other.width, one.left + one.width) - max(other.left, one.left)
    return (
        apart <= times * settings.vertical_threshold * image.height  # heuristic 1
        and overlap <= settings.overlap_threshold * min(other.width, one.width)  # heuristic 2
        and -overlap <= times * settings.horizontal_threshold * image.width  # heuristic 3
        and first.left < second.left
        and first.left + first.width < second.left + second.width
    )
