"""Rows with similar questions, from which plausible decoys come."""

from collections.abc import Sequence

import numpy as np

from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Int64s, Ints
from hf_vqa_mc.remedies.row_features import TextSpace

BEGINNING = 2
"""First words that questions share, such as "Where is", so that a choice of the one can be one of the other."""
_AT_A_TIME = 512


def similar_rows(
    spaces: Sequence[TextSpace], asked: Ints, groups: Ints, of: Ints, among: Ints, most: int, kinds: Ints | None = None
) -> tuple[Int64s, Float32s]:
    """The rows with the most similar questions, from other groups.

    Args:
        spaces: embeddings; similarity is the mean of their cosines.
        asked: (rows,): number of each row's question.
        groups: (rows,): image, video or context.
        of: rows whose neighbours are searched.
        among: rows that may be neighbours, ascending.
        most: maximum number of neighbours.
        kinds: (rows,): neighbours are of the same kind.

    Returns:
        Row numbers int64 (of, most), padded with MISSING, the most similar first, and similarities in [-1, 1].
    """
    most = min(most, len(among))
    found = np.full((len(of), most), MISSING, np.int64)
    similarity = np.full((len(of), most), -1.0, np.float32)
    questions = np.concatenate([space.questions for space in spaces], axis=1) / np.sqrt(len(spaces))
    others = questions[asked[among]]
    for first in range(0, len(of), _AT_A_TIME):
        some = of[first : first + _AT_A_TIME]
        cosines = np.round(questions[asked[some]] @ others.T, 5)
        cosines[groups[some][:, None] == groups[among][None, :]] = -2
        if kinds is not None:
            cosines[kinds[some][:, None] != kinds[among][None, :]] = -2
        best = np.sort(np.argpartition(-cosines, most - 1, axis=1)[:, :most], axis=1)
        values = np.take_along_axis(cosines, best, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        best, values = (np.take_along_axis(one, order, axis=1) for one in (best, values))
        found[first : first + len(some)] = np.where(values > -2, among[best], MISSING)
        similarity[first : first + len(some)] = np.maximum(values, -1)
    return found, similarity
