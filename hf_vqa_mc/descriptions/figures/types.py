"""Figures by question type: answers, their entropy, GQA's and TDIUC's types."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.descriptions.beginnings import by_beginning
from hf_vqa_mc.descriptions.charts import Bars, Stacked, table_only
from hf_vqa_mc.descriptions.data import Data
from hf_vqa_mc.descriptions.figure import Figure, Found, distribution, share, table
from hf_vqa_mc.descriptions.figures.answers import needs_answers
from hf_vqa_mc.descriptions.texts import Column, pairs, unpaired
from hf_vqa_mc.sources.open_ended import entropy

SHOWN = 10
"""Answers of a type (Hudson and Manning 2019, Figure 11: "the top 10 answers")."""
MOST_TYPES = 200
"""Maximum number of types in a table; the largest."""
TYPE_COLUMNS = ("type", "questions", "share", "different answers", "most frequent answer", "its share", "entropy")
Group = Callable[[Data], Column | None]
_NOTHING = np.zeros(0, np.int64)


def question_type(data: Data) -> Column | None:
    """The published question types."""
    return data.types if data.types.different > 1 else None


def other_type(name: str, data: Data) -> Column | None:
    """Other published types, see `descriptions.data.NESTED`."""
    return data.other_types.get(name)


def answer_type(data: Data) -> Column | None:
    """The published answer types."""
    return data.answer_types if data.answer_types.different > 1 else None


def _grouped(groups: Column, answers: Column) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The answers (indices) and their counts of each group, the most frequent first; the largest groups first."""
    both = groups.valid & answers.valid
    codes, counts = np.unique(pairs(groups.codes[both], answers.codes[both]), return_counts=True)
    of_group, answer = unpaired(codes)
    order = np.lexsort((answer, -counts, of_group))
    starts = np.searchsorted(of_group[order], np.arange(len(groups.texts) + 1))
    found = {}
    for index in groups.most_frequent(MOST_TYPES):
        rows = order[starts[index] : starts[index + 1]]
        if len(rows):
            found[groups.texts[index]] = answer[rows], counts[rows]
    return found


def types(group: Group, data: Data) -> Found:
    """Questions, different answers, the most frequent answer and the entropy of answers of each type."""
    column = group(data)
    assert column is not None  # noqa: S101  see _needs
    answered = _grouped(column, data.targets)
    total, rows = int(column.counts.sum()), list[list[Any]]()
    for index in column.most_frequent(MOST_TYPES):
        name, questions = column.texts[index], int(column.counts[index])
        answers, counts = answered.get(name, (_NOTHING, _NOTHING))
        of_answers: list[Any] = [0, None, None, None]
        if len(answers):
            best = data.targets.texts[answers[0]]
            of_answers = [len(answers), best, share(counts[0], counts.sum()), entropy(counts.tolist())]
        rows.append([name, questions, share(questions, total), *of_answers])
    numbers: dict[str, Any] = {"types": column.different}
    bits_of = [(row[-1], row[1]) for row in rows if row[-1] is not None]
    if bits_of:
        bits, sizes = np.array(bits_of).T
        numbers["entropy, mean of types"] = float(bits.mean())
        numbers["entropy, mean of questions"] = float(np.average(bits, weights=sizes))
        numbers["entropy of all answers"] = entropy(data.targets.counts.tolist())
    return Found(numbers, table(TYPE_COLUMNS, rows))


def answers_by_type(group: Group, data: Data) -> Found:
    """The most frequent answers of each type."""
    column = group(data)
    assert column is not None  # noqa: S101  see _needs
    return Found({}, _parts(column, data.targets, ["type", "answer", "questions", "share"], SHOWN))


def _parts(groups: Column, answers: Column, names: Sequence[str], most: int | None = None) -> dict[str, list[Any]]:
    """A table of the most frequent answers of each group, with their share of it."""
    rows = (
        [name, answers.texts[index], count, share(count, counts.sum())]
        for name, (of_group, counts) in _grouped(groups, answers).items()
        for index, count in zip(of_group[:most], counts[:most].tolist(), strict=True)
    )
    return table(names, rows)


def crossed(one: str, other: str, data: Data) -> Found:
    """Questions by two kinds of types."""
    first = question_type(data) if one == "question type" else other_type(one, data)
    second = other_type(other, data)
    assert first is not None and second is not None  # noqa: S101  see _needs_both
    return Found({f"{name}s": column.different for name, column in ((one, first), (other, second))},
                 _parts(first, second, [one, other, "questions", "share"]))  # fmt: skip


def steps(data: Data) -> Found:
    """The number of steps of reasoning: operations of the question's program."""
    assert data.steps is not None  # noqa: S101
    distinct, counts = np.unique(data.steps, return_counts=True)
    return Found({"mean": float(data.steps.mean())}, distribution("steps", distinct.tolist(), counts))


def _needs(group: Group, what: str) -> Callable[[Data], str]:
    return lambda data: f"there are no {what}s" if group(data) is None else ""


def _needs_both(one: str, other: str) -> Callable[[Data], str]:
    def reason(data: Data) -> str:
        first = question_type(data) if one == "question type" else other_type(one, data)
        return "" if first is not None and other_type(other, data) is not None else f"there are no {one}s and {other}s"

    return reason


def _figures(name: str, what: str, source: str, group: Group) -> tuple[Figure, Figure]:
    """The table of types, and the answers of each."""
    of_group = partial(types, group)
    return (
        Figure(
            f"{name}s",
            f"{what.capitalize()}s",
            source,
            "Questions, different answers, most frequent answer and entropy of the answers (bits) of each.",
            of_group,
            Bars("type", "share"),
            _needs(group, what),
        ),
        Figure(
            f"answers_by_{name}",
            f"Answers by {what}",
            "Antol et al. 2015, Figure 5; Goyal et al. 2017, section 3; Kafle and Kanan 2017, Figure 3",
            f"The {SHOWN} most frequent answers of each; the empty rest are others.",
            partial(answers_by_type, group),
            Stacked("type", "answer", "share"),
            lambda data: needs_answers(data) or _needs(group, what)(data),
        ),
    )


_BY_BEGINNING, _ANSWERS_BY_BEGINNING = _figures("beginning", "beginning", "", by_beginning)
TYPES = (
    Figure(
        "entropy_by_beginning",
        "Entropy of the answers by beginning",
        "Goyal et al. 2017, section 3",
        "Bits; the higher, the more even are the answers of questions that begin alike.",
        _BY_BEGINNING.compute,
        Bars("type", "entropy"),
        needs_answers,
    ),
    _ANSWERS_BY_BEGINNING,
    *_figures("question_type", "question type", "Kafle and Kanan 2017, Table 2", question_type),
    *_figures("answer_type", "answer type", "Antol et al. 2015, section 4.2", answer_type),
    *_figures("group", "group", "Hudson and Manning 2019, section 3.5 and Figure 5", partial(other_type, "group")),
    Figure(
        "structural_types",
        "Structural and semantic types",
        "Hudson and Manning 2019, Figure 6 and Table 3",
        "GQA's types: what the program does last, and what it is about.",
        partial(crossed, "structural type", "semantic type"),
        Stacked("structural type", "semantic type", "share"),
        _needs_both("structural type", "semantic type"),
    ),
    Figure(
        "steps",
        "Steps of reasoning",
        "Hudson and Manning 2019, Figure 14",
        "Operations of each question's program.",
        steps,
        Bars("steps", "share"),
        lambda data: "" if data.steps is not None else "questions have no programs",
    ),
    Figure(
        "origins",
        "Question types by origin",
        "Kafle and Kanan 2017, Table 4",
        "TDIUC's types: imported, generated, or asked by people.",
        partial(crossed, "question type", "origin"),
        table_only,
        _needs_both("question type", "origin"),
    ),
)
