"""Figures of words: parts of speech of questions, and words of captions against those of questions and answers."""

from typing import Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.charts import Bars
from hf_vqa_mc.audits.figures.figure import Found, Number, Share, figure, table
from hf_vqa_mc.audits.figures.parts_of_speech import CLASSES, word_classes
from hf_vqa_mc.audits.figures.questions import needs_questions
from hf_vqa_mc.audits.texts import Column

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
