"""What a question requires: knowledge that is not in the image, and an age (Antol et al. 2015, Sect. 4.3)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hf_vqa_mc.studies.forms import CHOOSE
from hf_vqa_mc.studies.items import read_questions
from hf_vqa_mc.studies.kind import IMAGE, QUESTION, Answered, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import agreement, by_condition, by_item, counts, vote_bars, votes

COMMONSENSE, AGE = "commonsense", "age"
AGES = ("toddler (3-4)", "younger child (5-8)", "older child (9-12)", "teenager (13-17)", "adult (18+)")
YES = 0
"""Index of yes in the options of COMMONSENSE."""
VOTES = (3, 6)
"""Votes for yes, of ten, from which on a question requires common sense (47.43% and 18.14% of VQA's)."""


def _outcome(answered: Sequence[Answered]) -> Outcome:
    table, items = [], []
    for condition, found in by_condition(answered).items():
        questions = by_item(found)
        options = KINDS[condition].options
        chosen = Counter(one.value for one in found)
        row: dict[str, Any] = {"condition": condition, **counts(found)}
        row |= agreement([[one.value for one in of_question] for of_question in questions.values()])
        row |= {f"share_{name}": chosen[index] / len(found) for index, name in enumerate(options)}
        if condition == COMMONSENSE:
            yes = [sum(one.value == YES for one in of_question) for of_question in questions.values()]
            row |= {f"questions_with_{least}_yes": sum(n >= least for n in yes) / len(yes) for least in VOTES}
        table.append(row)
        items += [{"condition": condition, **votes(of_question, options)} for of_question in questions.values()]
    return Outcome({"conditions": table}, table, items, bars=vote_bars)


REQUIREMENTS = StudyKind(
    "requirements",
    "What do these questions require?",
    "people say whether a question requires common sense, or the age from which it can be answered",
    "Antol et al. 2015, Sect. 4.3",
    CHOOSE,
    (
        Condition(
            COMMONSENSE,
            "Does answering this question require knowledge that is not in the image?",
            frozenset((IMAGE, QUESTION)),
            annotators=10,
            options=("yes", "no"),
        ),
        Condition(
            AGE,
            "What is the youngest age group that can answer this question?",
            frozenset((IMAGE, QUESTION)),
            annotators=10,
            options=AGES,
        ),
    ),
    results=_outcome,
    reads=read_questions,
)
KINDS = {one.name: one for one in REQUIREMENTS.conditions}
