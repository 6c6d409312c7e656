"""Sparse features of the linear probe: words of a choice, alone and crossed with the question and the image."""

from collections.abc import Sequence
from dataclasses import dataclass
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

Tokens = NDArray[np.int64]
"""(items, tokens): token numbers of each item, padded with MISSING"""


@dataclass(frozen=True, eq=False)
class ImageGroups:
    """Clusters and principal components of images."""

    clusters: Tokens
    """(rows, granularities): cluster number of the image, MISSING without an image"""
    directions: NDArray[np.float32]
    """(rows, DIRECTIONS): principal components with unit variance, 0 without an image"""

    def take(self, rows: NDArray[np.integer]) -> "ImageGroups":
        """Those of some rows."""
        return ImageGroups(self.clusters[rows], self.directions[rows])

    def spread(self, rows: NDArray[np.integer], n_rows: int) -> "ImageGroups":
        """Those of ``n_rows`` rows, of which only ``rows`` have images."""
        clusters = np.full((n_rows, self.clusters.shape[1]), MISSING, np.int64)
        directions = np.zeros((n_rows, DIRECTIONS), np.float32)
        clusters[rows], directions[rows] = self.clusters, self.directions
        return ImageGroups(clusters, directions)


def image_groups(vectors: NDArray[np.float32], seed: int) -> ImageGroups:
    """Cluster images and compute principal components; vectors (rows, dimensions) are NaN in rows without an image."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    valid = np.isfinite(vectors).all(axis=1)
    clusters = np.full((len(vectors), len(CLUSTERS)), MISSING, np.int64)
    directions = np.zeros((len(vectors), DIRECTIONS), np.float32)
    given = vectors[valid].astype(np.float64)
    if not len(given) or not np.ptp(given, axis=0).any():
        return ImageGroups(clusters, directions)
    rng = np.random.default_rng(seed)
    some = given if len(given) <= FITTED_ON else given[rng.choice(len(given), FITTED_ON, replace=False)]
    n_directions = min(DIRECTIONS, *some.shape)
    main = PCA(n_directions, random_state=seed).fit(some)
    scale = np.sqrt(np.maximum(main.explained_variance_, 1e-12 * main.explained_variance_[0]))
    projected = main.transform(given)
    directions[valid, :n_directions] = np.clip(projected / scale, -3, 3)
    near = main.transform(some)
    distinct = len(np.unique(np.round(near, 6), axis=0))
    for index, most in enumerate(CLUSTERS):
        n_clusters = max(min(most, len(some) // ROWS_A_CLUSTER, distinct), 1)
        groups = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(near)
        clusters[valid, index] = groups.predict(projected)
    return ImageGroups(clusters, directions)


class TextCrosses:
    """Computes the sparse features of selected rows.

    Args:
        rows: the rows that features are needed of.
        with_question: cross words with those of the question.
        ordered: also cross question and image with the position of the choice.
        image: cross words with the image.
    """

    def __init__(self, rows: ShuffledRows, with_question: bool, ordered: bool, image: ImageGroups | None) -> None:
        numbers: dict[str, int] = {}
        valid = rows.valid
        self._rows, self._ordered, self._image = rows, ordered, image
        self._texts, self._choices = _tokens(rows.vocabulary.choices, rows.texts[valid], CHOICE_WORDS, numbers)
        self._question_texts, self._questions = (
            _tokens(rows.vocabulary.questions, rows.questions, QUESTION_WORDS, numbers)
            if with_question
            else (np.empty(0, np.int64), np.empty((0, 0), np.int64))
        )

    def matrix(self, rows: NDArray[np.integer]) -> Any:  # noqa: ANN401  sparse
        """Features of the choices of these rows: sparse float32 (choices, COLUMNS)."""
        some = self._rows.take(rows)
        row = some.valid.nonzero()[0]
        tokens = self._choices[np.searchsorted(self._texts, some.texts[some.valid])]
        # The whole text is one more token unless it is a single word; words have lower numbers.
        is_word = (tokens[:, 0] != MISSING) & (tokens[:, 1] == MISSING)
        whole = some.keys[some.valid].astype(np.int64) + (1 << 40)
        choice = np.column_stack([tokens, np.where(is_word, MISSING, whole)])
        parts = [_crosses(choice, 1)]
        if len(self._question_texts):
            question = self._questions[np.searchsorted(self._question_texts, some.questions)]
            parts.append(_crosses(choice, 2, question[row]))
            first = np.where(question[:, :1] == MISSING, 0, question[:, :1])
            parts += self._with_position(first[row], some, 3)
        if self._image is not None:
            clusters = self._image.clusters[rows][row]
            parts.append(_crosses(choice, 4, clusters))
            parts += self._with_position(clusters, some, 5)
            directions = self._image.directions[rows][row]
            names = np.broadcast_to(np.arange(directions.shape[1]), directions.shape)
            parts.append(_crosses(choice, 6, names, directions))
            parts += self._with_position(names, some, 7, directions)
        return scipy.sparse.csr_matrix(sum(parts[1:], parts[0]))

    def _with_position(
        self, tokens: Tokens, some: ShuffledRows, purpose: int, values: NDArray[np.float32] | None = None
    ) -> list[Any]:
        """Crosses with the position of the choice, independent of its text."""
        if not self._ordered:
            return []
        position = np.minimum(some.positions[some.valid], POSITIONS)[:, None].astype(np.int64)
        return [_crosses(position, purpose, tokens, values)]


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
    cell, column = np.concatenate(cells), np.concatenate(columns)
    weight = np.concatenate(weights).astype(np.float32)
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
