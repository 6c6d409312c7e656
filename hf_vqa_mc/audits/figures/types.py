"""Figures by question type: answers, their entropy, GQA's and TDIUC's types."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.answers import needs_answers
from hf_vqa_mc.audits.figures.charts import Bars, Stacked
from hf_vqa_mc.audits.figures.figure import Chart, Figure, Found, distribution, figure, share, table
from hf_vqa_mc.audits.figures.questions import by_beginning
from hf_vqa_mc.audits.texts import Column, pairs, unpaired
from hf_vqa_mc.sources.open_ended import entropy

SHOWN = 10
"""Answers of a type (Hudson and Manning 2019, Figure 11: "the top 10 answers")."""
MOST_TYPES = 200
"""Maximum number of types in a table; the largest."""
TYPE_COLUMNS = ("type", "questions", "share", "different answers", "most frequent answer", "its share", "entropy")
Group = Callable[[Data], Column | None]
_NOTHING = np.zeros(0, np.int64)


def published(name: str, data: Data) -> Column | None:
    """The published types of a name: "question type", "answer type", or one of `described_rows.NESTED`."""
    own = {"question type": data.types, "answer type": data.answer_types}
    return data.other_types.get(name) if name not in own else own[name] if own[name].different > 1 else None


def _grouped(groups: Column, answers: Column) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The answers (indices) and their counts of each group, the most frequent first; the largest groups first."""
    both = groups.valid & answers.valid
    codes, counts = np.unique(pairs(groups.codes[both], answers.codes[both]), return_counts=True)
    of_group, answer = unpaired(codes)
    order = np.lexsort((answers.ranks[answer], -counts, of_group))
    starts = np.searchsorted(of_group[order], np.arange(len(groups.texts) + 1))
    found = {}
    for index in groups.most_frequent(MOST_TYPES):
        rows = order[starts[index] : starts[index + 1]]
        if len(rows):
            found[groups.texts[index]] = answer[rows], counts[rows]
    return found


def types(column: Column, data: Data) -> Found:
    """Questions, different answers, the most frequent answer and the entropy of answers of each type."""
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


def _parts(groups: Column, answers: Column, names: Sequence[str], most: int | None = None) -> dict[str, list[Any]]:
    """A table of the most frequent answers of each group, with their share of it."""
    rows = (
        [name, answers.texts[index], count, share(count, counts.sum())]
        for name, (of_group, counts) in _grouped(groups, answers).items()
        for index, count in zip(of_group[:most], counts[:most].tolist(), strict=True)
    )
    return table(names, rows)


@figure(
    "Steps of reasoning",
    "Hudson and Manning 2019, Figure 14",
    Bars("steps", "share"),
    lambda data: "" if data.steps is not None else "questions have no programs",
)
def steps(data: Data) -> Found:
    """Operations of each question's program."""
    assert data.steps is not None  # noqa: S101
    distinct, counts = np.unique(data.steps, return_counts=True)
    return Found({"mean": float(data.steps.mean())}, distribution("steps", distinct.tolist(), counts))


def _crossed(
    name: str, title: str, source: str, sentence: str, names: tuple[str, str], draw: Chart | None = None
) -> Figure:
    """A figure of two kinds of types."""

    def compute(data: Data) -> Found:
        first, second = (published(one, data) for one in names)
        assert first is not None and second is not None  # noqa: S101  see needs
        return Found({f"{names[0]}s": first.different, f"{names[1]}s": second.different},
                     _parts(first, second, [*names, "questions", "share"]))  # fmt: skip

    def needs(data: Data) -> str:
        has_both = all(published(one, data) is not None for one in names)
        return "" if has_both else f"there are no {names[0]}s and {names[1]}s"

    return Figure(name, title, source, sentence, compute, draw, needs)


def _figures(what: str, source: str, group: Group | None = None) -> tuple[Figure, Figure]:
    """The table of types, and the answers of each."""
    find, name = group or partial(published, what), what.replace(" ", "_")

    def column(data: Data) -> Column:
        found = find(data)
        assert found is not None  # noqa: S101  see needs
        return found

    def needs(data: Data) -> str:
        return f"there are no {what}s" if find(data) is None else ""

    return (
        Figure(
            f"{name}s",
            f"{what.capitalize()}s",
            source,
            "Questions, different answers, most frequent answer and entropy of the answers (bits) of each.",
            lambda data: types(column(data), data),
            Bars("type", "share"),
            needs,
        ),
        Figure(
            f"answers_by_{name}",
            f"Answers by {what}",
            "Antol et al. 2015, Figure 5; Goyal et al. 2017, section 3; Kafle and Kanan 2017, Figure 3",
            f"The {SHOWN} most frequent answers of each; the empty rest are others. Equal colors are equal answers, "
            "but for gray: all others.",
            lambda data: Found(
                {}, _parts(column(data), data.targets, ["type", "answer", "questions", "share"], SHOWN)
            ),
            Stacked("type", "answer", "share"),
            lambda data: needs_answers(data) or needs(data),
        ),
    )


@figure("Entropy of the answers by beginning", "Goyal et al. 2017, section 3", Bars("type", "entropy"), needs_answers)
def entropy_by_beginning(data: Data) -> Found:
    """Bits; the higher, the more even are the answers of questions that begin alike."""
    return types(by_beginning(data), data)


TYPES = (
    entropy_by_beginning,
    _figures("beginning", "", by_beginning)[1],
    *_figures("question type", "Kafle and Kanan 2017, Table 2"),
    *_figures("answer type", "Antol et al. 2015, section 4.2"),
    *_figures("group", "Hudson and Manning 2019, section 3.5 and Figure 5"),
    _crossed(
        "structural_types",
        "Structural and semantic types",
        "Hudson and Manning 2019, Figure 6 and Table 3",
        "GQA's types: what the program does last, and what it is about.",
        ("structural type", "semantic type"),
        Stacked("structural type", "semantic type", "share"),
    ),
    steps,
    _crossed(
        "origins",
        "Question types by origin",
        "Kafle and Kanan 2017, Table 4",
        "TDIUC's types: imported, generated, or asked by people.",
        ("question type", "origin"),
    ),
)
