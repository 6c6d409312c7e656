"""The words and the choices that give most away."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from hf_vqa_mc.audit.estimates import ALARM_LEVEL
from hf_vqa_mc.audit.rows import Rows
from hf_vqa_mc.language.text import words

ENOUGH = 20
"""Rows that must offer a text, and how many of them may be expected to be right or wrong at least is a fifth of it."""
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
    of_image = sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images))))) @ (target - share)
    variance = np.maximum(variance, of_image.multiply(of_image).sum(axis=0).A1)
    fewest = np.minimum(expected, offered - expected)
    looked_at = np.flatnonzero((offered >= ENOUGH) & (fewest >= ENOUGH / 5) & (variance > 0))
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
