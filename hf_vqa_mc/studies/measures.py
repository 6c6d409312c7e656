"""What all kinds of study report: shares with intervals over annotators, agreement, time, most frequent answers."""

import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.scoring.statistics import Ratings, fleiss_kappa, krippendorff_alpha, mean_interval
from hf_vqa_mc.studies.kind import Answered, Outcome

V = TypeVar("V", bound=Hashable)


def by_item(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    """The answers to each question, by question_id."""
    found: dict[str, list[Answered]] = {}
    for one in answered:
        found.setdefault(one.item.question_id, []).append(one)
    return found


def by_condition(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    """The answers in each condition, in the order of their first answers."""
    conditions = dict.fromkeys(one.condition for one in answered)
    return {name: [one for one in answered if one.condition == name] for name in conditions}


def votes(answers: Sequence[Answered], choices: Sequence[str]) -> dict[str, Any]:
    """A question and the number of annotators who chose each of its choices."""
    item, chosen = answers[0].item, [one.value for one in answers]
    return {
        "question_id": item.question_id,
        "question": item.question,
        "choices": list(choices),
        "votes": [chosen.count(index) for index in range(len(choices))],
        "chosen": choices[most_frequent(chosen)],
        "answers": len(answers),
    }


def vote_bars(row: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    """The bars of a question with votes, see `Outcome.bars`."""
    return [(text, votes, text == row.get("label")) for text, votes in zip(row["choices"], row["votes"], strict=True)]


def with_predictions(
    table: list[dict[str, Any]],
    items: list[dict[str, Any]],
    bars: Callable[[Mapping[str, Any]], list[tuple[str, int, bool]]],
    predictions: Mapping[str, list[dict[str, Any]]],
) -> Outcome:
    """An outcome whose files are predictions for ``vqa-mc score``, one per condition."""

    def write(folder: Path) -> None:
        for condition, records in predictions.items():
            write_json(folder / f"predictions-{condition}.json", records, indent=1)

    usage = [f"vqa-mc score FOLDER/predictions-{name}.json DATASET --partial" for name in predictions]
    return Outcome({"conditions": table}, table, items, write, bars, usage)


def share(answered: Sequence[Answered], holds: Callable[[Answered], float], name: str) -> dict[str, float]:
    """The mean of a score in [0, 1] over the answers, and its 95% interval, clustered by annotator."""
    scores = np.array([float(holds(one)) for one in answered])
    low, high = mean_interval(scores, [str(one.annotator) for one in answered])
    return {name: float(scores.mean()), "low": low, "high": high}


def summary(
    condition: str, answered: Sequence[Answered], ratings: Ratings, measured: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A condition's row of the main table: counts, what was measured, and the agreement of ratings.

    Krippendorff's alpha, and Fleiss' kappa with its number of units, see `scoring.statistics`.
    """
    kappa, units = fleiss_kappa(ratings)
    agreement = {"alpha": krippendorff_alpha(ratings), "kappa": kappa, "kappa_units": units}
    return {"condition": condition, **counts(answered), **(measured or {}), **agreement}


def values(questions: Mapping[str, Sequence[Answered]]) -> list[list[Any]]:
    """The values of the answers to each question."""
    return [[one.value for one in answers] for answers in questions.values()]


def counts(answered: Sequence[Answered]) -> dict[str, Any]:
    """The numbers of questions, annotators and answers, and the median time per answer in seconds."""
    return {
        "questions": len(by_item(answered)),
        "annotators": len({one.annotator for one in answered}),
        "answers": len(answered),
        "seconds": statistics.median(one.seconds for one in answered),
    }


def most_frequent(values: Sequence[V]) -> V:
    """The most frequent value; of several the one that was given first.

    >>> most_frequent(["b", "a", "c", "a", "c"])
    'a'
    """
    return Counter(values).most_common(1)[0][0]
