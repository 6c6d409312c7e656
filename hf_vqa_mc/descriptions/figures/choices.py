"""Figures of choices: number, positions of the label, lengths, kinds, WordNet."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.descriptions.charts import Bars, table_only
from hf_vqa_mc.descriptions.data import Data
from hf_vqa_mc.descriptions.figure import Figure, Found, Number, distribution, share
from hf_vqa_mc.descriptions.figures.answers import needs_answers
from hf_vqa_mc.descriptions.texts import Column, Lists
from hf_vqa_mc.text.wordnet import load_wordnet


def number(data: Data) -> Found:
    """The number of choices per row."""
    distinct, counts = np.unique(_choices(data).lengths, return_counts=True)
    chance = float((1 / _choices(data).lengths).mean())
    return Found({"random guessing": share(chance, 1), "different choices": _choices(data).flat.different},
                 distribution("choices", distinct.tolist(), counts))  # fmt: skip


def position_test(labels: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[NDArray[np.float64], float, float]:
    """Expected labels per position if all positions of a row are equally likely; chi-square statistic and p.

    Args:
        labels: (rows,): index of the target.
        sizes: (rows,): number of choices.

    Returns:
        Expected rows by position, (largest size,); Pearson's statistic; its p with one degree of freedom less than
        there are positions.
    """
    from scipy import stats

    most = int(sizes.max())
    by_size = np.bincount(sizes, minlength=most + 1)[1:] / np.arange(1, most + 1)
    expected: NDArray[np.float64] = np.cumsum(by_size[::-1])[::-1]
    counts = np.bincount(labels, minlength=most)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return expected, statistic, float(stats.chi2.sf(statistic, most - 1))


def positions(data: Data) -> Found:
    """The position of the target among the choices, with a chi-square test of equal positions."""
    labels = _labels(data)
    expected, statistic, p = position_test(labels, _choices(data).lengths)
    counts = np.bincount(labels, minlength=len(expected))
    found = distribution("position", range(1, len(expected) + 1), counts)
    found["expected"] = [share(count, len(data)) for count in expected]
    return Found({"chi-square": statistic, "degrees of freedom": len(expected) - 1, "p": p}, found)


def lengths(data: Data) -> Found:
    """Words and characters of targets and decoys, and how often the target is the longest."""
    choices = _choices(data)
    of_text = {
        "words": choices.flat.words.lengths,
        "characters": pc.utf8_length(choices.flat.distinct).to_numpy(zero_copy_only=False).astype(np.int64),
    }
    is_target = _is_target(data)
    table: dict[str, list[Any]] = {"choices": ["target", "decoys"]}
    for name, values in of_text.items():
        per_choice = values[choices.flat.codes]
        table[f"mean {name}"] = [float(per_choice[mask].mean()) if mask.any() else None
                                 for mask in (is_target, ~is_target)]  # fmt: skip
    longest = np.maximum.reduceat(per_choice, choices.starts)
    is_longest = per_choice == longest[choices.rows]
    ties = np.add.reduceat(is_longest, choices.starts)
    numbers: dict[str, Number] = {
        "target is the longest (ties share)": share((is_longest[is_target] / ties).sum(), len(data)),
        "expected": share((1 / choices.lengths).mean(), 1),
    }
    return Found(numbers, table)


def kinds(data: Data) -> Found:
    """The kinds of choices, as column choice_kinds has them."""
    assert data.choice_kinds is not None  # noqa: S101
    column = data.choice_kinds.flat
    order = column.most_frequent(len(column.texts))
    names = [column.texts[index] for index in order]
    return Found({}, distribution("kind", names, column.counts[order], "choices"))


def wordnet(data: Data) -> Found:
    """The share of targets and decoys with a noun or adjective of WordNet."""
    column, masks = data.targets, {"targets": data.targets.valid}
    if data.choices is not None:
        column, is_target = data.choices.flat, _is_target(data)
        masks = {"targets": is_target, "decoys": ~is_target}
    covered = _covered(column)
    shares = {name: share(covered[column.codes[mask]].sum(), mask.sum()) for name, mask in masks.items()}
    numbers: dict[str, Number] = dict(shares)
    return Found(numbers, {"choices": list(shares), "covered": list(shares.values())})


def _covered(column: Column) -> NDArray[np.bool_]:
    """(distinct,): whether WordNet covers any of the text's words; each distinct word is looked up once."""
    words = column.words
    wordnet = load_wordnet()
    lexicons = wordnet.nouns, wordnet.adjectives
    known = np.array([any(one.base_forms(word) for one in lexicons) for word in words.vocabulary], bool)
    return np.bincount(words.texts[known[words.numbers]], minlength=len(column.texts)) > 0


def _choices(data: Data) -> Lists:
    assert data.choices is not None  # noqa: S101  see needs_choices
    return data.choices


def _is_target(data: Data) -> NDArray[np.bool_]:
    is_target = np.zeros(len(_choices(data).rows), bool)
    is_target[_choices(data).starts + _labels(data)] = True
    return is_target


def _labels(data: Data) -> NDArray[np.int64]:
    assert data.labels is not None  # noqa: S101  see needs_choices
    return data.labels


def needs_choices(data: Data) -> str:
    """Why figures of choices do not apply."""
    return "questions have no choices" if data.choices is None else ""


def _needs_order(data: Data) -> str:
    return needs_choices(data) or ("" if data.ordered else "the benchmark defines no order of choices")


CHOICES = (
    Figure(
        "choices",
        "Choices per question",
        "Chao et al. 2018, Table 2",
        "Share of the questions by their number of choices.",
        number,
        Bars("choices", "share"),
        needs_choices,
    ),
    Figure(
        "choice_kinds",
        "Kinds of choices",
        "Chao et al. 2018, section 4",
        "Which procedure made the choices.",
        kinds,
        Bars("kind", "share"),
        lambda data: "" if data.choice_kinds is not None else "choices have no kinds",
    ),
    Figure(
        "label_positions",
        "Positions of the target",
        "Pearson's chi-square test",
        "If all positions are equally likely, p is below 0.001 in one of 1,000 benchmarks.",
        positions,
        Bars("position", "share"),
        _needs_order,
    ),
    Figure(
        "choice_lengths",
        "Lengths of targets and decoys",
        "Chao et al. 2018, section 3",
        "If targets are longer or shorter than decoys, the length is a shortcut.",
        lengths,
        table_only,
        needs_choices,
    ),
    Figure(
        "wordnet",
        "Coverage by WordNet",
        "Chao et al. 2018, Supplement B.1",
        "Share of the targets, and of the decoys, with a noun or adjective of WordNet.",
        wordnet,
        table_only,
        needs_answers,
    ),
)
