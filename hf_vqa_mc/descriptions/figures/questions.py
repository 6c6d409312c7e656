"""Figures of questions: size, beginnings, first words, lengths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.descriptions.beginnings import OTHER, Tree, by_beginning
from hf_vqa_mc.descriptions.charts import Bars, Lines, Sunburst, table_only
from hf_vqa_mc.descriptions.data import Data
from hf_vqa_mc.descriptions.figure import Figure, Found, Share, distribution, share, table

DEPTH = 4
"""Words of the sunburst (Antol et al. 2015, Figure 3)."""
SMALLEST_ARC = 0.002
"""Smallest share of an arc; smaller ones stay white, as in the paper."""
RANKS = ("first word", "second word", "third word", "fourth word")
USUAL = 4, 10
"""Most questions have so many words (Antol et al. 2015, section 4.1)."""


def size(data: Data) -> Found:
    """Rows, images and distinct texts, overall and by split."""
    questions = data.questions.words
    used = np.unique(questions.numbers[(data.questions.counts > 0)[questions.texts]])
    numbers: dict[str, Any] = {
        "questions": len(data),
        "images": data.images.different,
        "different questions": data.questions.different,
        "different answers": data.targets.different,
        "different words in questions": len(used),
    }
    if data.images.different:
        numbers["questions per image"] = float(data.images.valid.sum() / data.images.different)
    rows: list[list[Any]] = []
    for number, name in enumerate(data.splits.texts):
        of_split = data.splits.codes == number
        images = np.unique(data.images.codes[of_split & data.images.valid])
        rows.append([name, int(of_split.sum()), len(images), int(data.targets.valid[of_split].sum())])
    return Found(numbers, table(["split", "questions", "images", "with an answer"], rows))


def beginnings(data: Data) -> Found:
    """The types of questions by their beginnings."""
    types = by_beginning(data)
    order = [index for index in types.most_frequent(len(types.texts)) if types.texts[index] != OTHER]
    rest = [index for index, text in enumerate(types.texts) if text == OTHER and types.counts[index]]
    names = [types.texts[index] for index in [*order, *rest]]
    return Found({"types": len(order)}, distribution("beginning", names, types.counts[[*order, *rest]]))


def first_words(data: Data) -> Found:
    """The tree of the first four words, depth first, the most frequent words first."""
    vocabulary = data.questions.words.vocabulary
    tree = Tree.of(data.questions.words, DEPTH)
    counts = tree.counts(data.questions.counts)
    children: dict[int, list[int]] = {}
    frequent = np.flatnonzero(counts >= max(SMALLEST_ARC * len(data), 1))
    for node in sorted(frequent.tolist(), key=lambda node: (-counts[node], vocabulary[tree.words[node]])):
        children.setdefault(int(tree.parents[node]), []).append(node)
    rows: list[list[Any]] = []
    waiting = children.get(-1, [])[::-1]
    while waiting:
        node = waiting.pop()
        path = tree.path(node, vocabulary)
        rows.append([*path, *[None] * (DEPTH - len(path)), int(counts[node]), share(counts[node], len(data))])
        waiting += children.get(node, [])[::-1]
    first = np.unique(data.questions.words.at(0)[data.questions.counts > 0])
    return Found({"different first words": int((first >= 0).sum())}, table([*RANKS, "questions", "share"], rows))


def lengths(values: NDArray[np.int64], counts: NDArray[np.int64], what: str) -> Found:
    """The distribution of numbers of words, with mean and standard deviation."""
    kept = counts > 0
    distinct, inverse = np.unique(values[kept], return_inverse=True)
    rows = np.bincount(inverse, counts[kept], len(distinct))
    total = rows.sum()
    mean = float((distinct * rows).sum() / total)
    deviation = float(np.sqrt((rows * (distinct - mean) ** 2).sum() / total))
    return Found({"mean": mean, "standard deviation": deviation}, distribution("words", distinct.tolist(), rows, what))


def question_lengths(data: Data) -> Found:
    """The number of words of questions."""
    found = lengths(data.questions.words.lengths, data.questions.counts, "questions")
    usual = sum(part for words, part in zip(found.table["words"], found.table["share"], strict=True)
                if USUAL[0] <= words <= USUAL[1])  # fmt: skip
    return Found({**found.numbers, "four to ten words": Share(usual)}, found.table)


def needs_questions(data: Data) -> str:
    """Why figures of questions do not apply."""
    return "" if data.questions.different else "all questions are empty"


QUESTIONS = (
    Figure(
        "size",
        "Size",
        "Antol et al. 2015, section 4; Hudson and Manning 2019, section 4.1",
        "Rows, images and distinct texts; words are in lower case, without punctuation.",
        size,
        table_only,
    ),
    Figure(
        "first_words",
        "First four words of the questions",
        "Antol et al. 2015, Figure 3; Hudson and Manning 2019, Figure 8",
        "The first word is in the middle; an arc is as long as its share of the questions. Shares below "
        f"{100 * SMALLEST_ARC:g}% are left out.",
        first_words,
        Sunburst(RANKS, "share"),
        needs_questions,
    ),
    Figure(
        "beginnings",
        "Questions by their beginning",
        "Antol et al. 2015, Table 3",
        "Each question has the longest beginning that fits: of --beginnings, else of up to five words that 1% of the "
        "questions have.",
        beginnings,
        Bars("beginning", "share"),
        needs_questions,
    ),
    Figure(
        "question_lengths",
        "Words per question",
        "Antol et al. 2015, Figure 4; Hudson and Manning 2019, Table 1 and Figure 7",
        "Share of the questions by their number of words.",
        question_lengths,
        Lines("words", "share", "words per question"),
        needs_questions,
    ),
)
