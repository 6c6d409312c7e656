"""The words and the choices that give most away."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from hf_vqa_mc.audits.estimates import ALARM_LEVEL
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.text.normalisation import words

ENOUGH = 20
"""Rows that must offer a text; a fifth as many must be expected to be right, and to be wrong."""
FEWEST_IMAGES = 10
"""That a text must be offered with: of fewer nothing can be said but that it goes with them."""
READ, SHOWN = 400, 120
"""Characters of a choice that are split into words, and of one that is told."""


def telling_texts(
    asked: Rows, most: int = 30, clusters: NDArray[np.integer] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The words and choices that are right much more often, or less, than chance has it.

    A row that offers a word in 2 of its 4 choices expects it in half a target. The variance is chance's own or, where
    it is larger, that of the images' sums, so that a text that is always asked about one image does not count twice.
    Only those are told that would stand out among as many texts as were looked at (Bonferroni).

    Args:
        asked: rows.
        most: so many words and so many choices at most.
        clusters: (rows,): the number of each row's image, from 0; by default each row is its own.

    Returns:
        ``words`` and ``choices``, those farthest from chance first: ``text``, ``target`` (rows where the target has
        it), ``offered`` (rows where any choice has it), ``expected`` (of target), ``z``, and what it ``says``: right
        or wrong.
    """
    images = np.arange(len(asked)) if clusters is None else clusters
    used, number = np.unique(asked.texts[asked.there], return_inverse=True)
    texts = [asked.vocabulary.choices[text] for text in used]
    keys, key = np.unique(asked.vocabulary.keys[used], return_inverse=True)
    key_texts = [asked.vocabulary.key_texts[one] for one in keys]
    one_key = sparse.csr_matrix((np.ones(len(key)), (np.arange(len(key)), key)))
    word_of, has_word = _words_of(texts)
    return {
        "words": _telling(asked, number, has_word, word_of, images, most),
        "choices": _telling(asked, number, one_key, key_texts, images, most),
    }


def _words_of(texts: Sequence[str]) -> tuple[list[str], Any]:
    """All words, and which text has which: a sparse matrix (texts, words) of 0 and 1."""
    columns: dict[str, int] = {}
    indices: list[int] = []
    starts = [0]
    for text in texts:
        indices += sorted({columns.setdefault(word, len(columns)) for word in words(text[:READ])})
        starts.append(len(indices))
    ones = np.ones(len(indices))
    matrix = sparse.csr_matrix((ones, indices, starts), shape=(len(texts), max(len(columns), 1)))
    return list(columns) or [""], matrix


def _telling(
    asked: Rows,
    number: NDArray[np.int64],
    has: Any,  # noqa: ANN401  a sparse matrix
    names: Sequence[str],
    images: NDArray[np.integer],
    most: int,
) -> list[dict[str, Any]]:
    """Those of the names that tell something.

    Args:
        asked: rows.
        number: (choices,): which of the texts each choice is.
        has: (texts, names): which text has which.
        names: what is looked at.
        images: (rows,)
        most: how many.
    """
    row = asked.there.nonzero()[0]
    sizes = asked.there.sum(axis=1)
    member = sparse.csr_matrix((1.0 / sizes[row], (row, np.arange(len(row)))))
    share = sparse.csr_matrix(member @ has[number])  # of the row's choices, (rows, names)
    first = np.flatnonzero(np.diff(row, prepend=-1))  # the target is the first of each row
    target = sparse.csr_matrix(has[number[first]])
    offered = np.bincount(share.indices, minlength=len(names))
    expected, right = share.sum(axis=0).A1, target.sum(axis=0).A1
    variance = expected - share.multiply(share).sum(axis=0).A1
    by_image, n_images = _variance_by_image(target - share, share, images)
    variance = np.maximum(variance, by_image)
    several = n_images >= FEWEST_IMAGES
    fewest = np.minimum(expected, offered - expected)
    looked_at = np.flatnonzero((offered >= ENOUGH) & (fewest >= ENOUGH / 5) & several)
    if not len(looked_at):
        return []
    z = (right - expected)[looked_at] / np.sqrt(variance[looked_at])
    told = np.abs(z) > stats.norm.isf(ALARM_LEVEL / len(looked_at))
    order = sorted(np.flatnonzero(told).tolist(), key=lambda at: (-abs(z[at]), names[int(looked_at[at])]))[:most]
    return [
        {
            "text": names[at][:SHOWN],
            "target": int(right[at]),
            "offered": int(offered[at]),
            "expected": round(float(expected[at]), 2),
            "z": round(float(z[place]), 2),
            "says": "right" if z[place] > 0 else "wrong",
        }
        for place, at in ((place, int(looked_at[place])) for place in order)
    ]


def _variance_by_image(
    beyond: Any,  # noqa: ANN401  a sparse matrix
    share: Any,  # noqa: ANN401
    images: NDArray[np.integer],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The variance of a sum over rows that go right or wrong together where they have one image.

    Args:
        beyond: (rows, names): target less expected.
        share: (rows, names), more than 0 where a row offers a name.
        images: (rows,): the number of each row's image.

    Returns:
        Of each name: the variance, and how many images it is offered with.
    """
    of_image = sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images)))))
    sums, rows = sparse.csr_matrix(of_image @ beyond), sparse.csr_matrix(of_image @ (share > 0).astype(np.float64))
    n_rows = rows.sum(axis=0).A1
    mean = sums.sum(axis=0).A1 / np.maximum(n_rows, 1)
    squares = sums.multiply(sums).sum(axis=0).A1 - 2 * mean * sums.multiply(rows).sum(axis=0).A1
    squares += mean**2 * rows.multiply(rows).sum(axis=0).A1
    n_images = np.bincount(rows.indices, minlength=share.shape[1])
    return np.maximum(squares, 0) * n_images / np.maximum(n_images - 1, 1), n_images
