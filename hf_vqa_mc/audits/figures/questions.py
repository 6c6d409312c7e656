"""Figures of questions: size, beginnings, first words, lengths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.beginnings import OTHER, by_beginning
from hf_vqa_mc.audits.figures.charts import Bars, Lines, Sunburst, table_only
from hf_vqa_mc.audits.figures.figure import Found, Share, distribution, figure, share, table
from hf_vqa_mc.audits.texts import Tree

DEPTH = 4
"""Words of the sunburst (Antol et al. 2015, Figure 3)."""
SMALLEST_ARC = 0.002
"""Smallest share of an arc; the description of `first_words` has it, too."""
RANKS = ("first word", "second word", "third word", "fourth word")
USUAL = 4, 10
"""Most questions have so many words (Antol et al. 2015, section 4.1)."""


def needs_questions(data: Data) -> str:
    """Why figures of questions do not apply."""
    return "" if data.questions.different else "all questions are empty"


@figure("Size", "Antol et al. 2015, section 4; Hudson and Manning 2019, section 4.1", table_only)
def size(data: Data) -> Found:
    """Rows, images and distinct texts; words are in lower case, without punctuation."""
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


@figure("Questions by their beginning", "Antol et al. 2015, Table 3", Bars("beginning", "share"), needs_questions)
def beginnings(data: Data) -> Found:
    """Each question counts once, under the longest beginning that fits.

    Beginnings are all runs of up to five first words with which at least 1% of the questions begin.
    """
    types = by_beginning(data)
    order = [index for index in types.most_frequent(len(types.texts)) if types.texts[index] != OTHER]
    rest = [index for index, text in enumerate(types.texts) if text == OTHER and types.counts[index]]
    names = [types.texts[index] for index in [*order, *rest]]
    return Found({"types": len(order)}, distribution("beginning", names, types.counts[[*order, *rest]]))


@figure(
    "First four words of the questions",
    "Antol et al. 2015, Figure 3; Hudson and Manning 2019, Figure 8",
    Sunburst(RANKS, "share"),
    needs_questions,
)
def first_words(data: Data) -> Found:
    """The first word is in the middle; an arc is as long as its share of the questions.

    Shares below 0.2% are left out, as in the paper.
    """
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


@figure(
    "Words per question",
    "Antol et al. 2015, Figure 4; Hudson and Manning 2019, Table 1 and Figure 7",
    Lines("words", "share", "words per question"),
    needs_questions,
)
def question_lengths(data: Data) -> Found:
    """Share of the questions by their number of words."""
    found = lengths(data.questions.words.lengths, data.questions.counts, "questions")
    usual = sum(part for words, part in zip(found.table["words"], found.table["share"], strict=True)
                if USUAL[0] <= words <= USUAL[1])  # fmt: skip
    return Found({**found.numbers, "four to ten words": Share(usual)}, found.table)


QUESTIONS = (size, first_words, beginnings, question_lengths)
