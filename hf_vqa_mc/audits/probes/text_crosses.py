"""Sparse features of the linear probe: words of a choice, alone and crossed with the question and the image."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.choice_columns import POSITIONS, READ
from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.normalisation import words

COLUMNS = 1 << 18
"""Size of the hash table; of 100,000 distinct crosses a third collide."""
CHOICE_WORDS, QUESTION_WORDS = 8, 24
"""Maximum number of words of each text."""
CLUSTERS = (8, 64)
"""Numbers of coarse and of fine image clusters."""
ROWS_A_CLUSTER = 20
"""Minimum number of rows per cluster."""
DIRECTIONS = 16
"""Number of principal components."""
FITTED_ON = 20_000
"""Maximum number of rows that clusters and components are fitted on."""

Numbers = NDArray[np.integer]
Tokens = NDArray[np.int64]
"""(items, tokens): token numbers of each item, padded with MISSING"""
ImageGroups = tuple[Tokens, NDArray[np.float32]]
"""(rows, granularities): cluster number of the image, MISSING without an image; (rows, DIRECTIONS): principal
components with unit variance, 0 without an image"""


def image_groups(vectors: NDArray[np.float32], seed: int) -> ImageGroups:
    """Cluster images and compute principal components; vectors (rows, dimensions) are NaN in rows without an image."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    valid = np.isfinite(vectors).all(axis=1)
    clusters = np.full((len(vectors), len(CLUSTERS)), MISSING, np.int64)
    directions = np.zeros((len(vectors), DIRECTIONS), np.float32)
    given = vectors[valid].astype(np.float64)
    if not len(given) or not np.ptp(given, axis=0).any():
        return clusters, directions
    rng = np.random.default_rng(seed)
    some = given if len(given) <= FITTED_ON else given[rng.choice(len(given), FITTED_ON, replace=False)]
    n_directions = min(DIRECTIONS, *some.shape)
    main = PCA(n_directions, random_state=seed).fit(some)
    scale = np.sqrt(np.maximum(main.explained_variance_, 1e-12 * main.explained_variance_[0]))
    projected, near = main.transform(given), main.transform(some)
    directions[valid, :n_directions] = np.clip(projected / scale, -3, 3)
    distinct = len(np.unique(np.round(near, 6), axis=0))
    for index, most in enumerate(CLUSTERS):
        n_clusters = max(min(most, len(some) // ROWS_A_CLUSTER, distinct), 1)
        groups = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(near)
        clusters[valid, index] = groups.predict(projected)
    return clusters, directions


class TextCrosses:
    """Computes the sparse features of selected rows (``used``) of all rows.

    Words are crossed with those of the question and with the image; if the rows are ordered, question and image are
    also crossed with the position of the choice.
    """

    def __init__(
        self,
        rows: ShuffledRows,
        used: NDArray[np.integer],
        with_question: bool,
        ordered: bool,
        image: ImageGroups | None,
    ) -> None:
        numbers: dict[str, int] = {}
        self._rows, self._ordered, self._image, self._with_question = rows, ordered, image, with_question
        some = rows.take(used)
        self._choices = _tokens(rows.vocabulary.choices, some.texts[some.valid], CHOICE_WORDS, numbers)
        asked = some.questions if with_question else some.questions[:0]
        self._questions = _tokens(rows.vocabulary.questions, asked, QUESTION_WORDS, numbers)

    def matrix(self, rows: Numbers) -> Any:  # noqa: ANN401  sparse
        """Features of the choices of these rows: sparse float32 (choices, COLUMNS)."""
        some = self._rows.take(rows)
        row, (texts, of_texts) = some.valid.nonzero()[0], self._choices
        tokens = of_texts[np.searchsorted(texts, some.texts[some.valid])]
        # The whole text is one more token unless it is a single word; words have lower numbers.
        is_word = (tokens[:, 0] != MISSING) & (tokens[:, 1] == MISSING)
        whole = some.keys[some.valid].astype(np.int64) + (1 << 40)
        choice = np.column_stack([tokens, np.where(is_word, MISSING, whole)])
        # With the position of the choice, independent of its text.
        position = np.minimum(some.positions[some.valid], POSITIONS)[:, None].astype(np.int64)
        parts = [_crosses(choice, 1)]
        if self._with_question:
            texts, of_texts = self._questions
            question = of_texts[np.searchsorted(texts, some.questions)][row]
            parts.append(_crosses(choice, 2, question))
            if self._ordered:
                parts.append(_crosses(position, 3, np.where(question[:, :1] == MISSING, 0, question[:, :1])))
        if self._image is not None:
            clusters, directions = (one[rows][row] for one in self._image)
            components = np.broadcast_to(np.arange(directions.shape[1]), directions.shape)
            for purpose, names, values in ((4, clusters, None), (6, components, directions)):
                parts.append(_crosses(choice, purpose, names, values))
                if self._ordered:
                    parts.append(_crosses(position, purpose + 1, names, values))
        return scipy.sparse.csr_matrix(sum(parts[1:], parts[0]))


def _crosses(
    own: Tokens, purpose: int, others: Tokens | None = None, values: NDArray[np.float32] | None = None
) -> Any:  # noqa: ANN401  sparse
    """Cross the tokens of each choice with those of its row; ``purpose`` salts the hash, ``values`` default to 1."""
    others = np.zeros((len(own), 1), np.int64) if others is None else others
    cells, columns, weights = [], [], []
    for of_choice in own.T:
        for index, of_row in enumerate(others.T):
            cell = np.flatnonzero((of_choice != MISSING) & (of_row != MISSING))
            cells.append(cell)
            columns.append(_column(of_choice[cell], of_row[cell], purpose))
            weights.append(np.ones(len(cell)) if values is None else values[cell, index])
    cell, column, weight = np.concatenate(cells), np.concatenate(columns), np.concatenate(weights).astype(np.float32)
    # Normalise by the number of crosses, so that long and short texts have the same weight.
    weight /= np.sqrt(np.bincount(cell, minlength=len(own)).astype(np.float32))[cell]
    return scipy.sparse.csr_matrix((weight, (cell, column)), shape=(len(own), COLUMNS))


def _tokens(
    texts: Sequence[str], used: NDArray[np.int32], most: int, numbers: dict[str, int]
) -> tuple[Tokens, Tokens]:
    """The distinct text numbers, ascending, and the words of each text: (texts, most)."""
    distinct = np.unique(used)
    tokens = np.full((len(distinct), most), MISSING, np.int64)
    for index, text in enumerate(distinct):
        found = dict.fromkeys(words(texts[text][:READ]))
        known = [numbers.setdefault(word, len(numbers)) for word in list(found)[:most]]
        tokens[index, : len(known)] = known
    return distinct.astype(np.int64), tokens


def _column(own: Tokens, other: Tokens, purpose: int) -> Tokens:
    """A column for each pair of tokens: multiply-shift hashing (Dietzfelbinger 1996), the same on every machine."""
    mixed = own.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (other.astype(np.uint64) + np.uint64(purpose << 48)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(64 - 18)).astype(np.int64)
