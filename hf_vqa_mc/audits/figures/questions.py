"""Figures of questions: size, beginnings, first words, lengths."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.charts import Bars, Lines, Sunburst
from hf_vqa_mc.audits.figures.figure import Found, Number, Share, distribution, figure, share, table
from hf_vqa_mc.audits.figures.parts_of_speech import CLASSES, word_classes
from hf_vqa_mc.audits.texts import Column, Tree
from hf_vqa_mc.decoys.candidates import MISSING

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


@figure("Size", "Antol et al. 2015, section 4; Hudson and Manning 2019, section 4.1")
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


LEAST = 0.01
"""Smallest share of the questions that makes a beginning a type of its own."""
LONGEST = 5
"""Maximum number of words of a counted beginning."""
OTHER = "none of the above"
"""As VQA calls questions with no listed beginning."""


def by_beginning(data: Data) -> Column:
    """The type of each row's question: its longest beginning that at least LEAST of the questions have."""
    counts, words = data.questions.counts, data.questions.words
    tree = Tree.of(words, LONGEST)
    frequent = np.append(tree.counts(counts) >= max(LEAST * counts.sum(), 2), False)
    types = np.full(len(counts), MISSING, np.int64)
    for column in tree.nodes.T:
        types = np.where(frequent[column], column, types)
    used = np.unique(types[types != MISSING])
    names = [" ".join(tree.path(int(node), words.vocabulary)) for node in used]
    numbers = np.append(np.where(types == MISSING, len(names), np.searchsorted(used, types)), len(names))
    codes = numbers[data.questions.codes].astype(np.int32)
    return Column(pa.array([*names, OTHER], pa.large_string()), codes)


COMPARED = 3
"""Nouns, verbs and adjectives are compared (Antol et al. 2015, section 4.4)."""
SHOWN = 10
"""Most frequent words of a class in the table."""


@figure("Parts of speech of questions", "Hudson and Manning 2019, Table 1", Bars("words", "mean"), needs_questions)
def parts_of_speech(data: Data) -> Found:
    """Mean number per question, by rules with lists of words and WordNet."""
    words, counts = data.questions.words, data.questions.counts
    classes, texts = word_classes(words), words.texts
    per_text = np.stack(
        [np.bincount(texts[classes == number], minlength=len(counts)) for number in range(1, len(CLASSES) + 1)], axis=1
    )
    means = counts @ per_text / counts.sum()  # of integers: the same for any order of the rows
    deviations = np.sqrt(np.maximum(counts @ per_text**2 / counts.sum() - means**2, 0))
    names = [f"{name}s" for name in CLASSES]
    return Found(
        dict(zip(names, means.tolist(), strict=True)),
        {"words": names, "mean": means.tolist(), "standard deviation": deviations.tolist()},
    )


def _needs_captions(data: Data) -> str:
    if data.captions is None:
        return "no captions are given (--captions FILE)"
    return "" if data.captions.valid.any() else "the file of captions has none of the dataset's images"


@figure(
    "Words of captions, questions and answers",
    "Antol et al. 2015, section 4.4",
    Bars("word", "captions"),
    _needs_captions,
)
def captions(data: Data) -> Found:
    """Kolmogorov-Smirnov tests of nouns, verbs and adjectives (by rules), and the most frequent ones.

    Words are numbered by their frequency in both together; the distance is the largest one of the two cumulative
    distributions.
    """
    from scipy import stats

    assert data.captions is not None  # noqa: S101
    sides = {"captions": (data.captions,), "questions and answers": (data.questions, data.all_answers)}
    counted = {name: _word_counts(columns) for name, columns in sides.items()}
    numbers: dict[str, Number] = {"captions": int(data.captions.valid.sum())}
    rows: list[list[Any]] = []
    for number, kind in enumerate(CLASSES[:COMPARED], 1):
        of_side = [counted[name].get(number, {}) for name in sides]
        both = {word: sum(one.get(word, 0) for one in of_side) for word in {**of_side[0], **of_side[1]}}
        ranked = sorted(both, key=lambda word: (-both[word], word))
        counts = np.array([[one.get(word, 0) for word in ranked] for one in of_side], float)
        totals = counts.sum(axis=1)
        if not totals.all():
            continue
        distance = float(np.abs(np.diff(np.cumsum(counts / totals[:, None], axis=1), axis=0)).max())
        size = totals.prod() / totals.sum()
        numbers[f"distance of {kind}s"] = distance
        numbers[f"p of {kind}s"] = float(stats.kstwobign.sf(np.sqrt(size) * distance))
        for word, parts in zip(ranked, (counts / totals[:, None]).T[:SHOWN].tolist(), strict=False):
            rows.append([f"{kind}s", word, *map(Share, parts)])
    return Found(numbers, table(["class", "word", *sides], rows))


def _word_counts(columns: tuple[Column, ...]) -> dict[int, dict[str, int]]:
    """The number of occurrences of the words of each class."""
    found: dict[int, dict[str, int]] = {}
    for column in columns:
        words = column.words
        classes, weights = word_classes(words), column.counts[words.texts]
        for number in range(1, COMPARED + 1):
            of_class = classes == number
            counts = np.bincount(words.numbers[of_class], weights[of_class], len(words.vocabulary)).astype(np.int64)
            into = found.setdefault(number, {})
            for word in np.flatnonzero(counts).tolist():
                name = words.vocabulary[word]
                into[name] = into.get(name, 0) + int(counts[word])
    return found


def of_images(images: Column, found: list[tuple[str, str]]) -> Column:
    """The captions of the images of a dataset; COCO's ids count as equal without leading zeros."""
    known = {name.lstrip("0") for name in images.texts}
    return Column.of(pa.array([text for image, text in found if image.lstrip("0") in known], pa.string()))


WORDS = (parts_of_speech, captions)
