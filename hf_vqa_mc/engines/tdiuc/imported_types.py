"""Which type a question that people asked is of, by its words and answer; rules in ``data/imported_types.yaml``.

Kafle and Kanan 2017, "Importing Questions from Existing Datasets": every type but object utility.
"""

import re
from dataclasses import dataclass

from hf_vqa_mc.engines.tdiuc.answers import ANSWERS, COLORS, COUNTABLE
from hf_vqa_mc.engines.tdiuc.objects import names_many, objects_named
from hf_vqa_mc.engines.tdiuc.question import NO, YES
from hf_vqa_mc.engines.vocabulary import vocabulary
from hf_vqa_mc.scoring.tdiuc_types import PRESENCE


@dataclass(frozen=True)
class Rule:
    """A type with its answers and questions."""

    type: str
    answers: str
    questions: tuple[str, ...]


@dataclass(frozen=True)
class ImportedTypes:
    """The schema of ``imported_types.yaml``, which describes its keys."""

    rules: tuple[Rule, ...]
    mass: frozenset[str]


_TYPES = vocabulary("tdiuc/imported_types", ImportedTypes)
_NOT_OPEN = ANSWERS.not_open | {YES, NO} | COLORS.keys() | set(COUNTABLE)
ANSWER_LISTS = {
    "colors": frozenset(COLORS),
    "countable": frozenset(COUNTABLE),
    "yes or no": frozenset((YES, NO)),
    "sports": ANSWERS.sports,
    "activities": ANSWERS.activities,
    "places": ANSWERS.places,
    "scenes": ANSWERS.scenes,
}
_RULES = [(rule.type, ANSWER_LISTS.get(rule.answers), re.compile("|".join(rule.questions))) for rule in _TYPES.rules]
"""Type, its answers (None: open ones) and questions."""
_IS_THERE = re.compile(
    r"((?P<one>is there an?|do you see an?|can you see an?)|(?P<mass>is there any)"
    r"|are there any|are there some|do you see any|can you see any) (?P<thing>[a-z]+( [a-z]+)?)"
    r"( (in|on) (the|this) (photo|picture|image|scene|background))?"
)


def type_of(question: str, answer: str) -> str | None:
    """TDIUC's type of a question, or None where no rule fits it and its answer.

    Args:
        question: as people wrote it.
        answer: after post-processing: lower case, numbers as words.

    >>> type_of("What color is the cow?", "brown"), type_of("How many cows are there?", "brown")
    ('color', None)
    """
    asked = " ".join(question.lower().rstrip(" ?.!").split())
    for kind, answers, questions in _RULES:
        if (answer not in _NOT_OPEN if answers is None else answer in answers) and questions.fullmatch(asked):
            return kind
    return PRESENCE if answer in (YES, NO) and _is_there(asked) else None


def _is_there(asked: str) -> bool:
    found = _IS_THERE.fullmatch(asked)
    if not found or not objects_named(found["thing"]):
        return False
    if found["mass"]:
        return found["thing"].split()[-1] in _TYPES.mass
    return names_many(found["thing"]) == (not found["one"])  # "Is there any boys" is not English
