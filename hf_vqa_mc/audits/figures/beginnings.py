"""The beginnings of questions: their tree of first words, and types of questions by their beginning."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.texts import Column, Tree, Words
from hf_vqa_mc.decoys.candidates import MISSING

LEAST = 0.01
"""Smallest share of the questions that makes a beginning a type of its own."""
LONGEST = 5
"""Maximum number of words of a counted beginning."""
OTHER = "none of the above"
"""As VQA calls questions with no listed beginning."""


def by_beginning(data: Data) -> Column:
    """The type of each row's question by its beginning."""
    counts, found = data.questions.counts, data.questions.words
    names, types = _counted(found, counts)
    codes = np.where(data.questions.valid, types[data.questions.codes], len(names))

    return Column(pa.array([*names, OTHER], pa.large_string()), codes.astype(np.int32))


def _counted(found: Words, counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """The longest beginning of each distinct question that at least LEAST of the questions have."""
    tree = Tree.of(found, LONGEST)
    frequent = np.append(tree.counts(counts) >= max(LEAST * counts.sum(), 2), False)
    types = np.full(len(counts), MISSING, np.int64)
    for column in tree.nodes.T:
        types = np.where(frequent[column], column, types)
    used = np.unique(types[types != MISSING])
    names = [" ".join(tree.path(int(node), found.vocabulary)) for node in used]
    return names, np.where(types == MISSING, len(names), np.searchsorted(used, types))
