"""Colors and positions from Visual Genome: Kafle and Kanan 2017, appendix "Questions using Visual Genome"."""

import re
from collections import defaultdict

from hf_vqa_mc.engines.rng import SeededRng
from hf_vqa_mc.engines.tdiuc.answers import ANSWERS, COLORS, colors_in, single_color
from hf_vqa_mc.engines.tdiuc.coco_questions import TEMPLATES
from hf_vqa_mc.engines.tdiuc.genome_files import GenomeImage, GenomeObject
from hf_vqa_mc.engines.tdiuc.objects import COCO_OBJECTS, OBJECTS, plural_of
from hf_vqa_mc.engines.tdiuc.question import Made
from hf_vqa_mc.engines.tdiuc.settings import DUPLICATE_OVERLAP
from hf_vqa_mc.scoring.tdiuc_types import COLOR, POSITION
from hf_vqa_mc.text.wordnet import load_wordnet

COLORED = ({name for one in COCO_OBJECTS.values() for name in (one.name, one.wording)} | OBJECTS.unannotated) - {
    "person"
}
"""Objects that color questions ask about: COCO's 91 except people."""
_PLURALS = OBJECTS.plural_only | {"eye glasses"}
_POSITIONS = {phrase: re.compile(pattern) for phrase, pattern in ANSWERS.positions.items()}
_ADJECTIVES = ANSWERS.adjectives | COLORS.keys()
_NAME = re.compile(r"[a-z]+( [a-z]+){0,2}")


def ask_genome(image: GenomeImage, seed: int, made: Made) -> None:
    """The questions about one image of Visual Genome."""
    objects = [one for object_id, one in sorted(image.objects.items()) if object_id not in image.aliases]
    _ask_colors(image, objects, seed, made)
    _ask_positions(image, objects, made)


def _ask_colors(image: GenomeImage, objects: list[GenomeObject], seed: int, made: Made) -> None:
    rng = SeededRng(seed, "tdiuc", COLOR, str(image.image_id))
    for one in objects:
        if not any(map(colors_in, one.attributes)):
            continue
        template, color = rng.pick(TEMPLATES.color), single_color(one.attributes)
        if color is None:
            made.leave_out(COLOR, "several colors or a shade")
        elif not _is_colored(one):
            made.leave_out(COLOR, "not among COCO's objects, or its name is not a singular noun of them")
        elif colors_in(one.name):
            made.leave_out(COLOR, "its color is in its name")
        elif any(other is not one and _same_kind(other, one) for other in objects):
            made.leave_out(COLOR, "not the only one of its kind")
        elif any(
            _intersection_over_union(other, one) >= DUPLICATE_OVERLAP
            and not set().union(*map(colors_in, other.attributes)) <= {color}
            for other in objects
        ):
            made.leave_out(COLOR, "the same box by another name has another color")
        else:
            made.ask(image.image_id, template.format(object=one.name), color, COLOR, "genome_generated")


def _ask_positions(image: GenomeImage, objects: list[GenomeObject], made: Made) -> None:
    answers = defaultdict[tuple[int, str], set[int]](set)
    for subject, predicate, thing in image.relations:
        phrase = next((phrase for phrase, pattern in _POSITIONS.items() if pattern.fullmatch(predicate)), None)
        if phrase is not None:
            answers[image.aliases.get(thing, thing), phrase].add(image.aliases.get(subject, subject))
    for (thing, phrase), subjects in sorted(answers.items()):
        if thing not in image.objects or not subjects <= image.objects.keys():
            made.leave_out(POSITION, "a relationship of an object that was merged away")
        elif len(subjects) > 1:
            made.leave_out(POSITION, "several objects there")
        else:
            one, other = image.objects[thing], image.objects[min(subjects)]
            if doubt := _doubt(other, phrase, one, objects):
                made.leave_out(POSITION, doubt)
            else:
                question = f"What is {phrase} the {_specified(one)}?"
                made.ask(image.image_id, question, other.name, POSITION, "genome_generated")


def _doubt(other: GenomeObject, phrase: str, one: GenomeObject, objects: list[GenomeObject]) -> str | None:
    if one.other_names or other.other_names:
        return "an object of several names"
    if not _is_name(one.name) or not _is_name(other.name):
        return "a name that no question can use"
    if any(named is not another and _same_kind(another, named) for named in (one, other) for another in objects):
        return "not the only one of its kind"
    others = [another for another in objects if another is not one and another is not other]
    if any(_intersection_over_union(another, other) >= DUPLICATE_OVERLAP for another in others):
        return "the answer's box has another name too"
    return None if _boxes_agree(other, phrase, one) else "the boxes say otherwise"


def _is_colored(one: GenomeObject) -> bool:
    """Whether it is one of COCO's by its name, or by its synset with a name that ends in it (a "delivery truck")."""
    if one.name in COLORED:
        return one.name not in _PLURALS
    noun = one.synset.split(".")[0].replace("_", " ")
    return noun in COLORED and bool(_NAME.fullmatch(one.name)) and one.name.endswith(f" {noun}")


def _same_kind(other: GenomeObject, one: GenomeObject) -> bool:
    """Whether a question about one could mean the other: the same noun (singular or plural) or the same synset."""
    if one.synset and one.synset == other.synset:
        return True
    nouns = {name.split()[-1] for name in (one.name, *one.other_names)}
    others = {name.split()[-1] for name in (other.name, *other.other_names)}
    return bool((nouns | {plural_of(noun) for noun in nouns}) & (others | {plural_of(noun) for noun in others}))


def _is_name(name: str) -> bool:
    words = name.split()
    return (
        bool(_NAME.fullmatch(name))
        and not set(words) & ANSWERS.no_things
        and not colors_in(name)
        and all(load_wordnet().senses(word, nouns_only=True) for word in words[-1:])
        and not {"of", "on", "in", "with"} & set(words)
    )


def _specified(one: GenomeObject) -> str:
    """Its name after a suitable attribute if it has one, since another object of that name may not be annotated."""
    fitting = sorted({word for word in one.attributes if word in _ADJECTIVES and word not in one.name.split()})
    color = single_color(one.attributes)
    chosen = color or next((word for word in fitting if word not in COLORS), None)
    return f"{chosen} {one.name}" if chosen else one.name


def _boxes_agree(other: GenomeObject, phrase: str, one: GenomeObject) -> bool:
    across = other.left + other.width / 2 - one.left - one.width / 2
    down = other.top + other.height / 2 - one.top - one.height / 2
    holds = {"to the left of": across < 0, "to the right of": across > 0}
    holds |= dict.fromkeys(("above", "on top of"), down < 0) | dict.fromkeys(("below", "under"), down > 0)
    return holds.get(phrase, True)


def _intersection_over_union(other: GenomeObject, one: GenomeObject) -> float:
    across = min(other.left + other.width, one.left + one.width) - max(other.left, one.left)
    down = min(other.top + other.height, one.top + one.height) - max(other.top, one.top)
    common = max(across, 0) * max(down, 0)
    union = other.width * other.height + one.width * one.height - common
    return common / union if union else 0.0
