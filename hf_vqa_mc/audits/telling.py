"""The words and choices that give most of the answers away."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from hf_vqa_mc.audits.gains import ALARM_LEVEL
from hf_vqa_mc.audits.probes.choice_columns import READ, word_matrix
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.text.normalisation import words

ENOUGH = 20
"""Rows that must present a text; a fifth as many must be expected to be right, and to be wrong."""
FEWEST_IMAGES = 10
"""With which a text must be presented; with fewer it may be specific to these."""
SHOWN = 120
"""Characters of a text in the result."""


def telling_texts(
    rows: Rows, most: int = 30, clusters: NDArray[np.integer] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The words and choices that are correct much more often, or less, than by chance.

    A row with a word in 2 of its 4 choices expects it in half a target. The variance is chance's own or, where it is
    larger, that of the images' sums, so that a text that is always asked about one image does not count twice.
    Only those significant among all texts compared (Bonferroni) are returned.

    Args:
        rows: of the audited split.
        most: words, and choices, at most.
        clusters: (rows,): the number of each row's image, from 0; by default each row is its own.

    Returns:
        ``words`` and ``choices``, those farthest from chance first: ``text``, ``target`` (rows where the target has
        it), ``offered`` (rows where any choice has it), ``expected`` (of target), ``z``, and ``says``: right or wrong.
    """
    images = np.arange(len(rows)) if clusters is None else clusters
    used, number = np.unique(rows.texts[rows.valid], return_inverse=True)
    texts = [rows.vocabulary.choices[text] for text in used]
    keys, key = np.unique(rows.vocabulary.keys[used], return_inverse=True)
    key_texts = [rows.vocabulary.key_texts[one] for one in keys]
    one_key = sparse.csr_matrix((np.ones(len(key)), (np.arange(len(key)), key)))
    has_word, word_of = word_matrix(words(text[:READ]) for text in texts)
    return {
        "words": _telling(rows, number, has_word.astype(np.float64), word_of, images, most),
        "choices": _telling(rows, number, one_key, key_texts, images, most),
    }


def _telling(
    rows: Rows,
    number: NDArray[np.int64],
    has: Any,  # noqa: ANN401  a sparse matrix
    names: Sequence[str],
    images: NDArray[np.integer],
    most: int,
) -> list[dict[str, Any]]:
    """The significant names; ``has`` is (texts, names), ``number`` (choices,) the text of each choice."""
    row = rows.valid.nonzero()[0]
    member = sparse.csr_matrix((rows.chance[row], (row, np.arange(len(row)))))
    share = sparse.csr_matrix(member @ has[number])  # of the row's choices, (rows, names)
    first = np.flatnonzero(np.diff(row, prepend=-1))  # the target is the first of each row
    target = sparse.csr_matrix(has[number[first]])
    offered = np.bincount(share.indices, minlength=len(names))
    expected, right = share.sum(axis=0).A1, target.sum(axis=0).A1
    variance = expected - share.multiply(share).sum(axis=0).A1
    by_image, n_images = _variance_by_image(target - share, share, images)
    variance = np.maximum(variance, by_image)
    fewest = np.minimum(expected, offered - expected)
    compared = np.flatnonzero((offered >= ENOUGH) & (fewest >= ENOUGH / 5) & (n_images >= FEWEST_IMAGES))
    if not len(compared):
        return []
    z = (right - expected)[compared] / np.sqrt(variance[compared])
    significant = np.abs(z) > stats.norm.isf(ALARM_LEVEL / len(compared))
    name_of = compared.tolist()
    order = sorted(np.flatnonzero(significant).tolist(), key=lambda index: (-abs(z[index]), names[name_of[index]]))
    return [
        {
            "text": names[name][:SHOWN],
            "target": int(right[name]),
            "offered": int(offered[name]),
            "expected": round(float(expected[name]), 2),
            "z": round(float(z[index]), 2),
            "says": "right" if z[index] > 0 else "wrong",
        }
        for index, name in ((index, name_of[index]) for index in order[:most])
    ]


def _variance_by_image(
    beyond: Any,  # noqa: ANN401  a sparse matrix
    share: Any,  # noqa: ANN401
    images: NDArray[np.integer],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Of each name: the variance of its sum over rows that are right or wrong together, and its number of images.

    Args:
        beyond: (rows, names): target less expected.
        share: (rows, names), above 0 where a row has a name.
        images: (rows,): the number of each row's image.
    """
    of_image = sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images)))))
    sums, rows = sparse.csr_matrix(of_image @ beyond), sparse.csr_matrix(of_image @ (share > 0).astype(np.float64))
    n_rows = rows.sum(axis=0).A1
    mean = sums.sum(axis=0).A1 / np.maximum(n_rows, 1)
    squares = sums.multiply(sums).sum(axis=0).A1 - 2 * mean * sums.multiply(rows).sum(axis=0).A1
    squares += mean**2 * rows.multiply(rows).sum(axis=0).A1
    n_images = np.bincount(rows.indices, minlength=share.shape[1])
    return np.maximum(squares, 0) * n_images / np.maximum(n_images - 1, 1), n_images
