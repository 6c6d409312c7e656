"""Words and choices that predict which choice is the target."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from hf_vqa_mc.audits.gains import ALARM_LEVEL
from hf_vqa_mc.audits.probes.choice_columns import READ, word_matrix
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.text.normalisation import words

MIN_ROWS = 20
"""Rows that must present a text; the expected numbers of targets and of decoys must be at least a fifth of it."""
MIN_IMAGES = 10
"""Images with which a text must be presented; a text of fewer images may be specific to them."""
MAX_CHARACTERS = 120
"""Characters of a text in the result."""


def predictive_texts(
    rows: Rows, most: int = 30, clusters: NDArray[np.integer] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The words and choices that are in the target significantly more or less often than by chance.

    A row with a word in 2 of its 4 choices counts as an expected 0.5 targets. The variance is the larger of the
    binomial one and that of the sums over images, since rows of one image are not independent. Significance is
    corrected for all texts compared (Bonferroni).

    Args:
        rows: of the audited split.
        most: maximum number of words, and of choices.
        clusters: (rows,): image number of each row, from 0; by default each row has its own image.

    Returns:
        ``words`` and ``choices``, largest abs(z) first, each with ``text``, ``target`` (rows whose target has it),
        ``presented`` (rows with it in any choice), ``expected`` (value of target by chance), ``z``, and ``predicts``
        ("target" or "decoy").
    """
    images = np.arange(len(rows)) if clusters is None else clusters
    used, number = np.unique(rows.texts[rows.valid], return_inverse=True)
    texts = [rows.vocabulary.choices[text] for text in used]
    keys, key = np.unique(rows.vocabulary.keys[used], return_inverse=True)
    key_texts = [rows.vocabulary.key_texts[one] for one in keys]
    one_key = sparse.csr_matrix((np.ones(len(key)), (np.arange(len(key)), key)))
    has_word, word_of = word_matrix(words(text[:READ]) for text in texts)
    return {
        "words": _significant(rows, number, has_word.astype(np.float64), word_of, images, most),
        "choices": _significant(rows, number, one_key, key_texts, images, most),
    }


def _significant(
    rows: Rows,
    number: NDArray[np.int64],
    has: Any,  # noqa: ANN401  a sparse matrix
    names: Sequence[str],
    images: NDArray[np.integer],
    most: int,
) -> list[dict[str, Any]]:
    """The significant names; ``has`` is (texts, names), ``number`` (choices,) the text index of each choice."""
    row = rows.valid.nonzero()[0]
    member = sparse.csr_matrix((rows.chance[row], (row, np.arange(len(row)))))
    share = sparse.csr_matrix(member @ has[number])  # of the row's choices, (rows, names)
    first = np.flatnonzero(np.diff(row, prepend=-1))  # the target is the first of each row
    target = sparse.csr_matrix(has[number[first]])
    presented = np.bincount(share.indices, minlength=len(names))
    expected, right = share.sum(axis=0).A1, target.sum(axis=0).A1
    variance = expected - share.multiply(share).sum(axis=0).A1
    by_image, n_images = _variance_by_image(target - share, share, images)
    variance = np.maximum(variance, by_image)
    fewest = np.minimum(expected, presented - expected)
    compared = np.flatnonzero((presented >= MIN_ROWS) & (fewest >= MIN_ROWS / 5) & (n_images >= MIN_IMAGES))
    if not len(compared):
        return []
    z = (right - expected)[compared] / np.sqrt(variance[compared])
    significant = np.abs(z) > stats.norm.isf(ALARM_LEVEL / len(compared))
    z_of = dict(zip(compared[significant].tolist(), z[significant].tolist(), strict=True))
    order = sorted(z_of, key=lambda name: (-abs(z_of[name]), names[name]))
    return [
        {
            "text": names[name][:MAX_CHARACTERS],
            "target": int(right[name]),
            "presented": int(presented[name]),
            "expected": round(float(expected[name]), 2),
            "z": round(z_of[name], 2),
            "predicts": "target" if z_of[name] > 0 else "decoy",
        }
        for name in order[:most]
    ]


def _variance_by_image(
    beyond: Any,  # noqa: ANN401  a sparse matrix
    share: Any,  # noqa: ANN401
    images: NDArray[np.integer],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each name, the variance of its sum with rows clustered by image, and its number of images.

    Args:
        beyond: (rows, names): target minus expected.
        share: (rows, names), above 0 where a row has a name.
        images: (rows,): image number of each row.
    """
    of_image = sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images)))))
    sums, rows = sparse.csr_matrix(of_image @ beyond), sparse.csr_matrix(of_image @ (share > 0).astype(np.float64))
    n_rows = rows.sum(axis=0).A1
    mean = sums.sum(axis=0).A1 / np.maximum(n_rows, 1)
    squares = sums.multiply(sums).sum(axis=0).A1 - 2 * mean * sums.multiply(rows).sum(axis=0).A1
    squares += mean**2 * rows.multiply(rows).sum(axis=0).A1
    n_images = np.bincount(rows.indices, minlength=share.shape[1])
    return np.maximum(squares, 0) * n_images / np.maximum(n_images - 1, 1), n_images
