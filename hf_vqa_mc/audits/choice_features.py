"""What can be measured at a choice without reading any label: of itself, beside the others, beside the question."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.dealt import Dealt
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words

READ = 400
"""Characters of a text that are looked at beyond its length, so that no huge cell holds up an audit."""
AT_ONCE = 20_000
"""Rows whose texts are compared at a time."""
PLACES = 10
"""Places that are told apart; those behind are one."""
_NUMBERS = frozenset((*SMALL_NUMBERS, "many", "several", "dozen", "hundred", "thousand"))
_ABOVE = ("of the above", "of these", "of them", "both ", "all of", "none of", "neither")
_ARTICLES = frozenset(("a", "an", "the"))
_YES_NO_VERBS = frozenset(
    "is are was were am do does did can could has have had will would should may might isn't aren't doesn't".split()
)

Columns = dict[str, NDArray[np.float32]]
"""Name to a number of each choice, (choices,), in the order of ``Dealt.there.nonzero()``."""
Values = NDArray[np.float64]
"""(rows, places)"""


def own_columns(dealt: Dealt, placed: bool) -> Columns:
    """What the choices alone say, and where they stand.

    Args:
        dealt: all rows of an audit; how often a text is offered is counted in them.
        placed: whether the benchmark says in which order the choices stand; else places say nothing.
    """
    there = dealt.there
    used, number = np.unique(dealt.texts[there], return_inverse=True)
    texts = [dealt.vocabulary.choices[text] for text in used]
    of_text = {name: values[number] for name, values in _of_texts(texts).items()}
    columns: Columns = dict(of_text)
    offered = np.bincount(dealt.keys[there], minlength=len(dealt.vocabulary.key_texts))
    shared = {
        "trigrams shared": _shared_with_others(_trigrams(texts), number, dealt),
        "words shared": _shared_with_others(word_matrix(words(text[:READ]) for text in texts), number, dealt),
    }
    columns["offered"] = np.log(offered[dealt.keys[there]]).astype(np.float32)
    columns |= {name: values.astype(np.float32) for name, values in shared.items()}
    for name in ("characters", "words", "offered", *shared):
        columns |= beside_others(name, columns[name], dealt)
    if placed:
        columns |= _of_places(dealt)
    return columns


def question_columns(dealt: Dealt) -> Columns:
    """What question and choice say together."""
    there = dealt.there
    row = there.nonzero()[0]
    used, number = np.unique(dealt.texts[there], return_inverse=True)
    asked, question = np.unique(dealt.questions, return_inverse=True)
    choice_words = [words(dealt.vocabulary.choices[text][:READ]) for text in used]
    question_words = [words(dealt.vocabulary.questions[text][:READ]) for text in asked]
    both = word_matrix([*choice_words, *question_words])
    of_choices, of_questions = both[: len(used)], both[len(used) :]
    common = np.empty(len(number), np.float32)
    for part in _blocks(row):
        common[part] = of_choices[number[part]].multiply(of_questions[question[row[part]]]).sum(axis=1).A1
    size = np.array([max(len(set(one)), 1) for one in choice_words], np.float32)[number]
    columns: Columns = {"words of the question": common, "share of its words in the question": common / size}
    columns |= beside_others("share of its words in the question", common / size, dealt)
    for name, values in _of_questions(question_words).items():
        columns[name] = values[question][row]
    kinds = _of_texts([dealt.vocabulary.choices[text] for text in used])
    for asks, kind in (("asks how many", "number"), ("asks yes or no", "yes or no")):
        columns[f"{kind} where it {asks}"] = columns[asks] * kinds[kind][number]
    return columns


def beside_others(name: str, column: NDArray[np.float32], dealt: Dealt) -> Columns:
    """How a number of a choice compares to those of the row's other choices.

    Returns:
        Its rank (0 the lowest, 1 the highest; equal ones share the mean), whether it is the highest and whether it is
        the lowest; among several highest or lowest each is a part.
    """
    there = dealt.there
    values = np.full(there.shape, np.nan)
    values[there] = column
    below, same = np.zeros(there.shape), np.zeros(there.shape)
    for place in range(there.shape[1]):
        below += values[:, place, None] < values
        same += values[:, place, None] == values
    others = np.maximum(dealt.sizes[:, None] - 1, 1)
    highest, lowest = below + same == dealt.sizes[:, None], below == 0
    found = {
        f"rank of {name}": (below + (same - 1) / 2) / others,
        f"highest {name}": highest / np.maximum(same, 1),
        f"lowest {name}": lowest / np.maximum(same, 1),
    }
    return {told: one[there].astype(np.float32) for told, one in found.items()}


def word_matrix(texts: Iterable[Sequence[str]]) -> Any:  # noqa: ANN401  a sparse matrix
    """Which words each text has: float32 (texts, different words) of 0 and 1.

    Args:
        texts: words of each.
    """
    from scipy import sparse

    columns: dict[str, int] = {}
    indices: list[int] = []
    starts = [0]
    for text in texts:
        indices += sorted({columns.setdefault(word, len(columns)) for word in text})
        starts.append(len(indices))
    ones = np.ones(len(indices), np.float32)
    return sparse.csr_matrix((ones, indices, starts), shape=(len(starts) - 1, max(len(columns), 1)))


def _of_texts(texts: Sequence[str]) -> Columns:
    """What a text says of itself."""
    found = np.array([_of_text(text) for text in texts], np.float32).reshape(len(texts), -1)
    names = (
        "characters",
        "words",
        "digits",
        "number",
        "yes or no",
        "of the above",
        "article",
        "capital",
        "all capitals",
        "full stop",
        "comma",
        "other signs",
    )
    return dict(zip(names, found.T, strict=True))


def _of_text(text: str) -> tuple[float, ...]:
    start = text[:READ].strip()
    found = words(start)
    lower = start.lower()
    letters = [sign for sign in start if sign.isalpha()]
    return (
        np.log1p(len(text)),
        np.log1p(len(found)),
        sum(sign.isdigit() for sign in start) / max(len(start), 1),
        any(word in _NUMBERS or word[0].isdigit() for word in found),
        found[:1] in (["yes"], ["no"]),
        lower in ("all", "none", "both") or any(part in lower for part in _ABOVE),
        bool(found) and found[0] in _ARTICLES,
        start[:1].isupper(),
        bool(letters) and all(sign.isupper() for sign in letters),
        start.endswith("."),
        "," in start,
        any(not (sign.isalnum() or sign.isspace() or sign in ".,'’-") for sign in start),
    )


def _of_questions(questions: Sequence[Sequence[str]]) -> Columns:
    """What is asked for."""
    found = [
        (
            np.log1p(len(question)),
            "how" in question and "many" in question[question.index("how") + 1 :][:1],
            bool(question) and question[0] in _YES_NO_VERBS,
            "or" in question,
            "not" in question or "except" in question,
        )
        for question in questions
    ]
    names = ("words asked", "asks how many", "asks yes or no", "asks for one or the other", "asks what not")
    return dict(zip(names, np.array(found, np.float32).reshape(len(found), -1).T, strict=True))


def _of_places(dealt: Dealt) -> Columns:
    there = dealt.there
    place = np.minimum(dealt.places, PLACES)
    columns = {"place": place[there].astype(np.float32)}
    for number in range(min(there.shape[1], PLACES)):
        columns[f"place {number}"] = (place == number)[there].astype(np.float32)
    columns["last place"] = (dealt.places == dealt.sizes[:, None] - 1)[there].astype(np.float32)
    return columns


def _trigrams(texts: Sequence[str]) -> Any:  # noqa: ANN401  a sparse matrix
    """Which runs of three characters each text has, (texts, hashes) of 0 and 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    short = [text[:READ] for text in texts]
    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), norm=None, alternate_sign=False, dtype=np.float32
    )
    matrix = hashed.transform(short)
    matrix.data[:] = 1
    return matrix


def _shared_with_others(matrix: Any, number: NDArray[np.int64], dealt: Dealt) -> NDArray[np.float64]:  # noqa: ANN401
    """The share of a choice's features that another choice of the row has, the mean over the others: (choices,)."""
    from scipy import sparse

    row = dealt.there.nonzero()[0]
    shared = np.empty(len(row))
    for part in _blocks(row):
        choices, of_row = matrix[number[part]], row[part] - row[part.start]
        ones = np.ones(len(of_row), np.float32)
        members = sparse.csr_matrix((ones, (of_row, np.arange(len(of_row)))))
        own = choices.sum(axis=1).A1
        total = choices.multiply((members @ choices)[of_row]).sum(axis=1).A1 - own
        shared[part] = total / np.maximum(own * (dealt.sizes[row[part]] - 1), 1)
    return shared


def _blocks(row: NDArray[np.int64]) -> list[slice]:
    """The choices of so many rows at a time."""
    if not len(row):
        return []
    bounds = np.searchsorted(row, np.arange(0, int(row[-1]) + 1 + AT_ONCE, AT_ONCE))
    return [slice(int(low), int(high)) for low, high in pairwise(bounds) if high > low]
