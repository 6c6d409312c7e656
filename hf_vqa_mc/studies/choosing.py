"""Chao et al. 2018: people choose an answer with everything, without the question, or without the image."""

from collections.abc import Sequence
from typing import Any

from hf_vqa_mc.studies.forms import CHOOSE
from hf_vqa_mc.studies.items import read_choices
from hf_vqa_mc.studies.kind import CHOICES, IMAGE, QUESTION, Answered, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import (
    agreement,
    by_condition,
    by_item,
    counts,
    most_frequent,
    share,
    vote_bars,
    votes,
    with_predictions,
)

WORKERS = 3
"""Annotators per question (Chao et al. 2018, Sect. 5.2)."""


def _outcome(answered: Sequence[Answered]) -> Outcome:
    table, items, predictions = [], list[dict[str, Any]](), {}
    for condition, found in by_condition(answered).items():
        questions = by_item(found)
        table.append(
            {
                "condition": condition,
                **counts(found),
                **share(found, lambda one: one.value == one.item.known["label"], "accuracy"),
                "chance": sum(1 / len(one.item.choices) for one in found) / len(found),
                **agreement([[one.value for one in of_question] for of_question in questions.values()]),
            }
        )
        for of_question in questions.values():
            item = of_question[0].item
            row = {"condition": condition, **votes(of_question, item.choices)}
            label = item.known["label"]
            items.append(row | {"label": item.choices[label], "votes_for_label": row["votes"][label]})
        predictions[condition] = [_prediction(of_question) for of_question in questions.values()]
    items.sort(key=lambda row: (row["votes_for_label"] / row["answers"], row["condition"], row["question_id"]))

    return with_predictions(table, items, vote_bars, predictions)


def _prediction(answers: Sequence[Answered]) -> dict[str, Any]:
    """The most frequent choice and the votes for each, in the benchmark's order of choices."""
    order: list[int] = answers[0].item.known["order"]
    chosen = [order[one.value] for one in answers]
    return {
        "question_id": answers[0].item.question_id,
        "label": most_frequent(chosen),
        "scores": [chosen.count(index) for index in range(len(order))],
    }


CONDITIONS = StudyKind(
    "conditions",
    "Multiple-choice questions",
    "people choose an answer with everything, without the question, or without the image",
    "Chao et al. 2018, Sect. 5.2 and supplement, Fig. 6 to 8",
    CHOOSE,
    (
        Condition("full", "Choose the most correct answer.", frozenset((IMAGE, QUESTION, CHOICES)), WORKERS),
        Condition(
            "no-question",
            "The question is hidden. Choose the answer that is most related to the image, as well as you can.",
            frozenset((IMAGE, CHOICES)),
            WORKERS,
        ),
        Condition(
            "no-image",
            "The image is hidden. Use your common sense to choose the most correct answer.",
            frozenset((QUESTION, CHOICES)),
            WORKERS,
        ),
    ),
    results=_outcome,
    reads=read_choices,
)
