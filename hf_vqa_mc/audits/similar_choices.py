"""Similarity of a row's choices to each other and to the question, by characters, words and embeddings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, pairs, unpaired
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.embeddings import embedding_families

MOST_LETTERS = 400  # maximum number of characters of a choice that are compared
MOST_CHOICES = 100  # maximum number of choices of a row that are compared pairwise
AT_ONCE = 1 << 16  # choices whose embeddings are multiplied, or pairs of choices that are compared, at a time
IDENTICAL = 1_000_000
"""Similarity of a text to itself; similarities are integers, so that equal sums are exactly equal."""
JOINTS = str.maketrans("", "", " -'’")


def similarity_sums(keys: NDArray[np.integer], items: Any, binary: bool) -> NDArray[np.int64]:  # noqa: ANN401  sparse
    """Sum of each choice's similarity to the other choices of its row, (rows, choices); 0 in rows of > MOST_CHOICES.

    Similarity is the Jaccard index of the texts' items in units of 1 / IDENTICAL; if ``binary`` it is 1 for texts that
    share an item, else 0. ``keys`` are text numbers (rows, choices), padded with MISSING; ``items`` is 1 where a text
    has an item, sparse (texts, items).
    """
    sums, sizes = np.zeros(keys.shape, np.int64), (keys != MISSING).sum(axis=1)
    items, counts = scipy.sparse.csr_matrix(items, dtype=np.int64), np.diff(items.indptr)
    for column in range(1, min(keys.shape[1], MOST_CHOICES)):
        rows = np.flatnonzero((sizes > column) & (sizes <= MOST_CHOICES))
        for first in range(0, len(rows), AT_ONCE):
            row = rows[first : first + AT_ONCE]
            for other_column in range(column):
                one, other = keys[row, column], keys[row, other_column]
                alike = items[one].multiply(items[other]).sum(axis=1).A1
                if binary:
                    alike = np.minimum(alike, 1)
                else:
                    alike = IDENTICAL * alike // np.maximum(counts[one] + counts[other] - alike, 1)
                    alike[one == other] = IDENTICAL
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
    codes, text = trigram_codes(rows.vocabulary.key_texts)
    trigrams = pa.array(codes).dictionary_encode().indices.to_numpy()
    shape = len(rows.vocabulary.key_texts), int(trigrams.max(initial=0)) + 1
    items = scipy.sparse.csr_matrix((np.ones(len(text), np.int64), (text, trigrams)), shape=shape)
    items.data[:] = 1  # a trigram may occur several times
    return similarity_sums(rows.keys, items, False).astype(np.float64)


def question_cosines(rows: Rows) -> NDArray[np.float64]:
    """Cosine of each choice's static embedding (``wordllama``) with its question's, (rows, choices); 0 for padding."""
    family, row, cosines = embedding_families()[0], rows.valid.nonzero()[0], np.zeros(rows.valid.sum())
    used, choice = np.unique(rows.texts[rows.valid], return_inverse=True)
    asked, question = np.unique(rows.questions[row], return_inverse=True)
    choices = family.embed([rows.vocabulary.choices[text] for text in used.tolist()])
    questions = family.embed([rows.vocabulary.questions[text] for text in asked.tolist()])
    for first in range(0, len(row), AT_ONCE):
        some = slice(first, first + AT_ONCE)
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
