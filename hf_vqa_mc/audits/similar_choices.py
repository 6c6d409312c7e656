"""Similarity of a row's choices to each other and to the question, by characters, words and embeddings."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.texts import pairs, unpaired
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.text.embeddings import embedding_families

MOST_LETTERS = 400  # maximum number of characters of a choice that are compared
MOST_WORDS = 400  # maximum number of words of a choice and of a question that are compared
MOST_CHOICES = 100  # maximum number of choices of a row that are compared pairwise
CHOICES_AT_ONCE = 1 << 16  # choices whose embeddings are multiplied, or whose trigrams are sorted, at a time
IDENTICAL = 1_000_000
"""Similarity of a text to itself; similarities are integers, so that equal sums are exactly equal."""
JOINTS = str.maketrans("", "", " -'’")

Numbers = NDArray[np.integer]


@njit(cache=True)
def _common(one: int, other: int, first: Numbers, items: Numbers) -> int:
    """How many items of one text the other has, too."""
    found, i, j, end, other_end = 0, first[one], first[other], first[one + 1], first[other + 1]
    while i < end and j < other_end:
        if items[i] > items[j]:
            j += 1
        else:
            found += items[i] == items[j]
            i += 1
    return found


@njit(cache=True)
def _shares(one: Numbers, other: Numbers, first: Numbers, items: Numbers) -> NDArray[np.int64]:
    """(pairs,): how many items of one text the other text of the pair has, too."""
    found = np.zeros(len(one), np.int64)
    for pair in range(len(one)):
        found[pair] = _common(one[pair], other[pair], first, items)
    return found


@njit(cache=True)  # a third of the time of numpy by pairs of columns
def similarity_sums(keys: Numbers, first: Numbers, items: Numbers, binary: bool) -> NDArray[np.int64]:
    """Sum of each choice's similarity to the other choices of its row, (rows, choices); 0 in rows of > MOST_CHOICES.

    Similarity is the Jaccard index of the texts' items in units of 1 / IDENTICAL; if ``binary`` it is 1 for texts that
    share an item, else 0. ``keys`` are text numbers (rows, choices), padded with MISSING; the items of text t, sorted,
    are ``items[first[t]:first[t + 1]]``.
    """
    sums = np.zeros(keys.shape, np.int64)
    for row in range(len(keys)):
        size = (keys[row] != MISSING).sum()
        for column in range(1, size if size <= MOST_CHOICES else 0):
            for other_column in range(column):
                one, other = keys[row, column], keys[row, other_column]
                alike = _common(one, other, first, items)
                if binary:
                    alike = min(alike, 1)
                elif one == other:
                    alike = IDENTICAL
                else:
                    both = first[one + 1] - first[one] + first[other + 1] - first[other] - alike
                    alike = IDENTICAL * alike // max(both, 1)
                sums[row, column] += alike
                sums[row, other_column] += alike
    return sums


def trigram_codes(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The character trigrams of all texts and the index of the text of each; a text is surrounded by spaces."""
    short = [text[:MOST_LETTERS] for text in texts]
    codes = np.frombuffer("".join(short).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.fromiter(map(len, short), np.int64, len(short))
    before, after, ends = np.roll(codes, 1), np.roll(codes, -1), np.cumsum(lengths)[lengths > 0]
    before[ends - lengths[lengths > 0]] = after[ends - 1] = ord(" ")
    return (before << np.uint64(42)) | (codes << np.uint64(21)) | after, np.repeat(np.arange(len(short)), lengths)


def trigram_similarity(rows: Rows) -> NDArray[np.float64]:
    """Sum of each choice's similarity to the other choices of its row, the Jaccard index of their character trigrams.

    float64 (rows, choices), integers in units of 1 / IDENTICAL; 0 in rows with more than MOST_CHOICES.
    """
    texts, parts, lengths = rows.vocabulary.key_texts, list[NDArray[np.uint64]](), list[NDArray[np.int64]]()
    for first in range(0, len(texts), CHOICES_AT_ONCE):
        some = texts[first : first + CHOICES_AT_ONCE]
        codes, text = trigram_codes(some)
        order = np.lexsort((codes, text))
        codes, text = codes[order], text[order]
        again = np.append(False, (codes[1:] == codes[:-1]) & (text[1:] == text[:-1]))[: len(codes)]
        lengths.append(np.bincount(text[~again], minlength=len(some)))
        parts.append(codes[~again])
    counts = np.concatenate(lengths)
    return similarity_sums(rows.keys, starts(counts), np.concatenate(parts), False).astype(np.float64)


def words_in_question(rows: Rows) -> NDArray[np.float64]:
    """Fraction of each choice's words that occur in the question, float64 (rows, choices); 0 without words."""
    worded, found = rows.vocabulary.worded, np.zeros(rows.keys.shape)
    short = np.arange(len(worded.numbers)) - np.repeat(worded.starts[:-1], worded.lengths) < MOST_WORDS
    lengths = np.minimum(worded.lengths, MOST_WORDS)
    given = short[short], worded.numbers[short], starts(lengths)
    lists = scipy.sparse.csr_matrix(given, shape=worded.matrix.shape)
    row, key = rows.valid.nonzero()[0], rows.keys[rows.valid]
    questions = rows.questions[row] + len(rows.vocabulary.key_texts)
    lists.sort_indices()
    shared = _shares(key, questions, lists.indptr.astype(np.int64), lists.indices)
    found[rows.valid] = shared / np.maximum(lengths[key], 1)
    return found


def question_cosines(rows: Rows) -> NDArray[np.float64]:
    """Cosine of each choice's static embedding (``wordllama``) with its question's, (rows, choices); 0 for padding."""
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


def containing(rows: Rows) -> NDArray[np.bool_]:
    """Whether a choice of a row contains another one of another comparable text among the first MOST_CHOICES, (rows,).

    As whole words ("red", "red and white"), or except for spaces, hyphens and apostrophes ("pony tail", "ponytail").
    """
    short, found = [text[:MOST_LETTERS] for text in rows.vocabulary.key_texts], np.zeros(len(rows), np.bool_)
    padded = [f" {text} " if text else "\0" for text in short]
    spaces = pc.count_substring(pa.array(short, pa.large_string()), " ").to_numpy()
    joined = pa.array([text.translate(JOINTS) or None for text in short], pa.large_string()).dictionary_encode()
    codes = joined.indices.fill_null(MISSING).to_numpy()
    for column in range(1, min(rows.keys.shape[1], MOST_CHOICES)):
        row = np.flatnonzero(rows.sizes > column)
        for other_column in range(column):
            one, other = rows.keys[row, column], rows.keys[row, other_column]
            found[row] |= (codes[one] == codes[other]) & (codes[one] != MISSING) & (one != other)
            left = (spaces[one] != spaces[other]) & ~found[row]
            distinct, number = np.unique(pairs(one[left], other[left]), return_inverse=True)
            both = zip(*(side.tolist() for side in unpaired(distinct)), strict=True)
            inside = [padded[a] in padded[b] or padded[b] in padded[a] for a, b in both]
            found[row[left]] = np.array(inside, np.bool_)[number]
    return found
