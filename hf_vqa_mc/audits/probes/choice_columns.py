"""Features of the choices that need no labels: of each choice, relative to the others, and to the question."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.text.many_texts import word_lists
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS

READ = 400
"""Maximum number of characters read of a text; limits the time for huge cells."""
AT_ONCE = 20_000
"""Rows whose texts are compared at a time."""
POSITIONS = 10
"""Positions with a column each; later positions share one."""
_NUMBERS = frozenset((*SMALL_NUMBERS, "many", "several", "dozen", "hundred", "thousand"))
_ABOVE = ("of the above", "of these", "of them", "both ", "all of", "none of", "neither")
_ARTICLES = frozenset(("a", "an", "the"))
_YES_NO_VERBS = frozenset(
    "is are was were am do does did can could has have had will would should may might isn't aren't doesn't".split()
)

Columns = dict[str, NDArray[np.float32]]
"""Feature name to values (choices,), in the order of ``ShuffledRows.valid.nonzero()``."""


def own_columns(rows: ShuffledRows, ordered: bool, presented: NDArray[np.int64]) -> Columns:
    """Features of the choices alone, of their frequencies, and of their positions.

    Positions are included only if ``ordered``: the benchmark defines the order of choices. ``presented`` (keys,) is
    the frequency of each comparable text in all rows.
    """
    valid = rows.valid
    used, number = np.unique(rows.texts[valid], return_inverse=True)
    texts = [rows.vocabulary.choices[text] for text in used]
    found = _words(texts)
    of_texts = _stacked([_of_text(*each) for each in zip(texts, found, strict=True)])
    columns = {name: values[number] for name, values in of_texts.items()}
    shared = {
        "trigrams shared": _shared_with_others(_trigrams(texts), number, rows),
        "words shared": _shared_with_others(word_matrix(found)[0], number, rows),
    }
    columns |= {"presented": np.log(presented[rows.keys[valid]]).astype(np.float32), **shared}
    for name in ("characters", "words", "presented", *shared):
        columns |= compared(name, columns[name], rows)
    if ordered:
        position = np.minimum(rows.positions, POSITIONS)
        each = {f"position {index}": position == index for index in range(min(position.shape[1], POSITIONS))}
        each = {"position": position, **each, "last position": rows.positions == rows.sizes[:, None] - 1}
        columns |= {name: values[valid].astype(np.float32) for name, values in each.items()}
    return columns


def question_columns(rows: ShuffledRows, own: Columns) -> Columns:
    """Features of question and choice together; ``own`` is from `own_columns`."""
    valid = rows.valid
    row = valid.nonzero()[0]
    used, number = np.unique(rows.texts[valid], return_inverse=True)
    question_texts, question = np.unique(rows.questions, return_inverse=True)
    choice_words = _words([rows.vocabulary.choices[text] for text in used])
    question_words = _words([rows.vocabulary.questions[text] for text in question_texts])
    both, _ = word_matrix([*choice_words, *question_words])
    of_choices, of_questions = both[: len(used)], both[len(used) :]
    common = np.empty(len(number), np.float32)
    for part in _blocks(row):
        common[part] = of_choices[number[part]].multiply(of_questions[question[row[part]]]).sum(axis=1).A1
    size = np.array([max(len(set(one)), 1) for one in choice_words], np.float32)[number]
    columns: Columns = {"words of the question": common, "share of its words in the question": common / size}
    columns |= compared("share of its words in the question", common / size, rows)
    for name, values in _stacked([_of_question(one) for one in question_words]).items():
        columns[name] = values[question][row]
    for asks, kind in (("asks how many", "number"), ("asks yes or no", "yes or no")):
        columns[f"{kind} where it {asks}"] = columns[asks] * own[kind]
    return columns


def compared(name: str, column: NDArray[np.float32], rows: ShuffledRows) -> Columns:
    """A feature relative to the row's other choices.

    Returns:
        Its rank in [0, 1] (ties have the mean rank), and indicators of the highest and of the lowest value, divided by
        the number of ties.
    """
    below, same = np.zeros(len(column)), np.zeros(len(column))
    _count_in_rows(column, starts(rows.sizes), below, same)
    sizes = np.repeat(rows.sizes, rows.sizes)
    found = {
        f"rank of {name}": (below + (same - 1) / 2) / np.maximum(sizes - 1, 1),
        f"highest {name}": (below + same == sizes) / same,
        f"lowest {name}": (below == 0) / same,
    }
    return {name: one.astype(np.float32) for name, one in found.items()}


@njit(cache=True)
def _count_in_rows(
    values: NDArray[np.float32], row_starts: NDArray[np.int64], below: NDArray[np.float64], same: NDArray[np.float64]
) -> None:
    """Write how many choices of its row have a lower value than a choice, and how many the same value."""
    for row in range(len(row_starts) - 1):
        first, last = row_starts[row], row_starts[row + 1]
        ascending = np.sort(values[first:last])
        for choice in range(first, last):
            low = np.searchsorted(ascending, values[choice])
            below[choice] = low
            same[choice] = np.searchsorted(ascending, values[choice], side="right") - low


def word_matrix(texts: Iterable[Sequence[str]]) -> tuple[Any, list[str]]:
    """Binary bag of words: sparse float32 (texts, distinct words), and the distinct words."""
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer(sparse_output=True)
    matrix = binarizer.fit_transform(list(texts)).astype(np.float32)
    return matrix, binarizer.classes_.tolist()


def _words(texts: Sequence[str]) -> list[list[str]]:
    """The words of the beginning of each text."""
    return list(word_lists(pa.array([text[:READ] for text in texts], pa.large_string())))


def _of_text(text: str, found: Sequence[str]) -> dict[str, float]:
    start = text[:READ].strip()
    lower = start.lower()
    letters = [sign for sign in start if sign.isalpha()]
    return {
        "characters": np.log1p(len(text)),
        "words": np.log1p(len(found)),
        "digits": sum(sign.isdigit() for sign in start) / max(len(start), 1),
        "number": any(word in _NUMBERS or word[0].isdigit() for word in found),
        "yes or no": found[:1] in (["yes"], ["no"]),
        "of the above": lower in ("all", "none", "both") or any(part in lower for part in _ABOVE),
        "article": bool(found) and found[0] in _ARTICLES,
        "capital": start[:1].isupper(),
        "all capitals": bool(letters) and all(sign.isupper() for sign in letters),
        "capital inside a word": any(one.islower() and other.isupper() for one, other in pairwise(start)),
        "unusual spaces": text[:READ] != " ".join(text[:READ].split()),
        "full stop": start.endswith("."),
        "comma": "," in start,
        "other signs": any(not (sign.isalnum() or sign.isspace() or sign in ".,'’-") for sign in start),
    }


def _of_question(question: Sequence[str]) -> dict[str, float]:
    """Features of a question from its words."""
    return {
        "words asked": np.log1p(len(question)),
        "asks how many": "how" in question and "many" in question[question.index("how") + 1 :][:1],
        "asks yes or no": bool(question) and question[0] in _YES_NO_VERBS,
        "asks for one or the other": "or" in question,
        "asks what not": "not" in question or "except" in question,
    }


def _stacked(found: Sequence[dict[str, float]]) -> Columns:
    return {name: np.array([one[name] for one in found], np.float32) for name in found[0]}


def _trigrams(texts: Sequence[str]) -> Any:  # noqa: ANN401  a sparse matrix
    """Binary matrix of hashed character trigrams: sparse float32 (texts, hashes)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), binary=True, norm=None, alternate_sign=False, dtype=np.float32
    )
    return hashed.transform([text[:READ] for text in texts])


def _shared_with_others(matrix: Any, number: NDArray[np.int64], rows: ShuffledRows) -> NDArray[np.float32]:  # noqa: ANN401
    """Fraction of a choice's features that another choice of the row has, averaged over the others: (choices,)."""
    row = rows.valid.nonzero()[0]
    shared = np.empty(len(row))
    for part in _blocks(row):
        choices, of_row = matrix[number[part]], row[part] - row[part.start]
        ones = np.ones(len(of_row), np.float32)
        members = scipy.sparse.csr_matrix((ones, (of_row, np.arange(len(of_row)))))
        own = choices.sum(axis=1).A1
        total = choices.multiply((members @ choices)[of_row]).sum(axis=1).A1 - own
        shared[part] = total / np.maximum(own * (rows.sizes[row[part]] - 1), 1)
    return shared.astype(np.float32)


def _blocks(row: NDArray[np.int64]) -> list[slice]:
    """Slices of the choices of at most AT_ONCE rows."""
    if not len(row):
        return []
    bounds = np.searchsorted(row, np.arange(0, int(row[-1]) + 1 + AT_ONCE, AT_ONCE))
    return [slice(int(low), int(high)) for low, high in pairwise(bounds) if high > low]
