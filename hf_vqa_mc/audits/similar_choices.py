"""Similarity of a row's choices to each other and to the question, by characters, words and embeddings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.text.embeddings import embedding_families

MOST_LETTERS = 400
"""Maximum number of characters of a choice that are compared."""
MOST_WORDS = 400
"""Maximum number of words of a choice and of a question that are compared."""
MOST_CHOICES = 100
"""Maximum number of choices of a row that are compared pairwise."""
CHOICES_AT_ONCE = 1 << 16
"""Choices whose embeddings are multiplied at a time."""
IDENTICAL = 1_000_000
"""Similarity of a text to itself; similarities are integers, so that equal sums are exactly equal."""

_SPACE, _HYPHEN, _APOSTROPHES = 32, 45, (39, 0x2019)

Codes = NDArray[np.unsignedinteger]


class Letters(NamedTuple):
    """Texts as code points, concatenated."""

    codes: Codes
    starts: NDArray[np.int64]
    """(texts + 1,)"""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Letters":
        """The first MOST_LETTERS characters of each text."""
        short = [text[:MOST_LETTERS] for text in texts]
        joined = "".join(short)
        codes = (
            np.frombuffer(joined.encode("ascii"), np.uint8)
            if joined.isascii()
            else np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        )
        return cls(codes, starts(np.fromiter(map(len, short), np.int64, len(short))))


def trigram_codes(letters: Letters) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The character trigrams of all texts and the index of the text of each; a text is surrounded by spaces."""
    codes = letters.codes.astype(np.uint64)
    before, after = np.roll(codes, 1), np.roll(codes, -1)
    filled = letters.starts[:-1] < letters.starts[1:]
    before[letters.starts[:-1][filled]] = after[letters.starts[1:][filled] - 1] = _SPACE
    text = np.repeat(np.arange(len(filled)), np.diff(letters.starts))
    return (before << np.uint64(42)) | (codes << np.uint64(21)) | after, text


def words_in_question(rows: Rows) -> NDArray[np.float64]:
    """Fraction of each choice's words that occur in the question, float64 (rows, choices); 0 without words."""
    worded, questions = rows.vocabulary.worded, rows.questions.astype(np.int64) + len(rows.vocabulary.key_texts)
    return _shares(rows.keys, questions, worded.numbers, worded.starts)


def question_cosines(rows: Rows) -> NDArray[np.float64]:
    """Cosine of each choice's embedding with its question's, in [-1, 1], float64 (rows, choices); 0 for padding.

    The embeddings are the static ones of the package ``wordllama``.
    """
    family, row, cosines = embedding_families()[0], rows.valid.nonzero()[0], np.zeros(rows.valid.sum())
    used, choice = np.unique(rows.texts[rows.valid], return_inverse=True)
    asked, question = np.unique(rows.questions[row], return_inverse=True)
    choices = family.embed([rows.vocabulary.choices[text] for text in used.tolist()])
    questions = family.embed([rows.vocabulary.questions[text] for text in asked.tolist()])
    for first in range(0, len(row), CHOICES_AT_ONCE):
        some = slice(first, first + CHOICES_AT_ONCE)
        cosines[some] = np.einsum("cd,cd->c", choices[choice[some]], questions[question[some]])
    found = np.zeros(rows.texts.shape)
    found[rows.valid] = np.round(cosines, 6)
    return found


@njit(cache=True)
def trigram_similarity(keys: NDArray[np.int32], letters: Letters) -> NDArray[np.float64]:
    """Similarity of each choice to the other choices of its row: Jaccard index of their character trigrams.

    Returns:
        float64 (rows, choices): the sum over the other choices, integers in units of 1 / IDENTICAL; 0 in rows with
        more than MOST_CHOICES.
    """
    sums, counts = np.zeros(keys.shape), np.zeros(keys.shape[1], np.int64)
    trigrams = np.empty((keys.shape[1], MOST_LETTERS), np.uint64)
    for row in range(len(keys)):
        if keys.shape[1] > MOST_CHOICES and keys[row, MOST_CHOICES] != MISSING:
            continue
        for column in range(keys.shape[1]):
            if keys[row, column] != MISSING:
                counts[column] = _fill_trigrams(keys[row, column], letters, trigrams[column])
        for one in range(keys.shape[1]):
            for other in range(one):
                if keys[row, one] == MISSING or keys[row, other] == MISSING:
                    continue
                if keys[row, one] == keys[row, other]:
                    alike = IDENTICAL
                else:
                    alike = _alike(trigrams[one][: counts[one]], trigrams[other][: counts[other]])
                sums[row, one] += alike
                sums[row, other] += alike
    return sums


@njit(cache=True)
def _fill_trigrams(key: int, letters: Letters, trigrams: NDArray[np.uint64]) -> int:
    """Write a text's distinct character trigrams, ascending; return their number."""
    first, last = letters.starts[key], letters.starts[key + 1]
    n = 0
    for i in range(first, last):
        before = np.uint64(letters.codes[i - 1]) if i > first else np.uint64(_SPACE)
        after = np.uint64(letters.codes[i + 1]) if i + 1 < last else np.uint64(_SPACE)
        trigram = (before << np.uint64(42)) | (np.uint64(letters.codes[i]) << np.uint64(21)) | after
        at = n
        if n >= 32:  # above this size sort() is faster than insertion
            trigrams[n] = trigram
        else:
            while at > 0 and trigrams[at - 1] > trigram:
                trigrams[at] = trigrams[at - 1]
                at -= 1
            trigrams[at] = trigram
        n += 1
    if n > 32:
        trigrams[:n].sort()
    distinct = 0
    for i in range(n):
        if distinct == 0 or trigrams[distinct - 1] != trigrams[i]:
            trigrams[distinct] = trigrams[i]
            distinct += 1
    return distinct


@njit(cache=True)
def _alike(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    i, j, common = 0, 0, 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            common, i, j = common + 1, i + 1, j + 1
        elif one[i] < other[j]:
            i += 1
        else:
            j += 1
    either = len(one) + len(other) - common
    return (IDENTICAL * common) // either if either else 0


@njit(cache=True)
def _shares(
    keys: NDArray[np.int32], questions: NDArray[np.int64], tokens: NDArray[np.int32], text_starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    shares = np.zeros(keys.shape)
    for row in range(len(keys)):
        in_question = tokens[text_starts[questions[row]] : text_starts[questions[row] + 1]][:MOST_WORDS]
        for column in range(keys.shape[1]):
            if keys[row, column] == MISSING:
                continue
            words = tokens[text_starts[keys[row, column]] : text_starts[keys[row, column] + 1]][:MOST_WORDS]
            found = 0
            for word in words:
                for other in in_question:
                    if word == other:
                        found += 1
                        break
            if len(words):
                shares[row, column] = found / len(words)
    return shares


@njit(cache=True)
def containing(keys: NDArray[np.int32], letters: Letters) -> NDArray[np.bool_]:
    """Whether a choice of a row contains another, bool (rows,).

    Either as whole words ("red", "red and white"), or as the same text except spaces, hyphens and apostrophes ("pony
    tail", "ponytail"). Choices with the same comparable text, or after the first MOST_CHOICES of a row, do not count.
    """
    found = np.zeros(len(keys), np.bool_)
    for row in range(len(keys)):
        for one in range(min(keys.shape[1], MOST_CHOICES)):
            for other in range(one):
                a, b = keys[row, one], keys[row, other]
                if a != MISSING and b != MISSING and a != b and not found[row]:
                    first = letters.codes[letters.starts[a] : letters.starts[a + 1]]
                    second = letters.codes[letters.starts[b] : letters.starts[b + 1]]
                    if len(first) > len(second):
                        first, second = second, first
                    found[row] = _has_words_of(second, first) or _same_but_for_joints(first, second)
    return found


@njit(cache=True)
def _has_words_of(text: Codes, part: Codes) -> bool:
    """Whether the part occurs in the text as whole words."""
    for start in range(len(text) - len(part) + 1 if len(part) else 0):
        if start and text[start - 1] != _SPACE:
            continue
        end = start + len(part)
        if end < len(text) and text[end] != _SPACE:
            continue
        same = 0
        while same < len(part) and text[start + same] == part[same]:
            same += 1
        if same == len(part):
            return True
    return False


@njit(cache=True)
def _same_but_for_joints(one: Codes, other: Codes) -> bool:
    """Whether two texts are equal except for spaces, hyphens and apostrophes."""
    i, j, n = 0, 0, 0
    while True:
        while i < len(one) and _is_joint(one[i]):
            i += 1
        while j < len(other) and _is_joint(other[j]):
            j += 1
        if i == len(one) or j == len(other):
            return n > 0 and i == len(one) and j == len(other)
        if one[i] != other[j]:
            return False
        i, j, n = i + 1, j + 1, n + 1


@njit(cache=True)
def _is_joint(letter: int) -> bool:
    return letter == _SPACE or letter == _HYPHEN or letter in _APOSTROPHES
