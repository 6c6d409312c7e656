"""Rows that may share a closed answer set: what decides whether two may, and the decoys of the sets' rows."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING, FilterTables, Float32s, Int32s, Int64s, ambiguous
from hf_vqa_mc.decoys.closed_sets import SET_KINDS
from hf_vqa_mc.decoys.decoy_table import DecoyTable
from hf_vqa_mc.decoys.indexed_triplets import IndexedTriplets
from hf_vqa_mc.decoys.key_lists import KeyLists, holds
from hf_vqa_mc.text.wu_palmer import reading

SCALE = 1_000
"""Coordinates are rounded to 1/SCALE: sums of integers do not depend on their order, so they are fast and exact."""


class Rows(NamedTuple):
    """What decides which rows may share a set, for kernels; (rows,) each unless stated."""

    targets: Int32s  # keys
    images: Int32s
    questions: Int32s  # equal for questions that are the same letter by letter
    comparable: Int32s  # equal for equivalent questions
    coordinates: NDArray[np.int16]  # (rows, dimensions) * SCALE, none if any two rows of a group are equally similar
    answers: KeyLists  # of annotators
    rejected: KeyLists  # by verdicts


class Revealed(Protocol):
    """What questions tell about answers; ``targets`` are the keys of all rows' answers."""

    is_calibrated: bool
    """whether the log odds are estimates of P(answer | question), or only rank sets"""

    def coordinates(self) -> Float32s:
        """Coordinates in which rows with similar questions are near, float32 (rows, dimensions)."""

    def of_group(self, rows: Int64s, targets: Int32s) -> tuple[Float32s, Int64s]:
        """Log odds of some answers for each row's question, (rows, answers); the index of each row's own, (rows,)."""

    def of_sets(self, sets: Int64s, targets: Int32s) -> Float32s:
        """Log odds of each set's answers for each of its rows' questions, (sets, rows, rows)."""


def rows_of(indexed: IndexedTriplets) -> Rows:
    """The rows of a dataset, without coordinates."""
    triplets = indexed.triplets
    return Rows(
        targets=triplets.keys[triplets.targets],
        images=triplets.images,
        questions=np.array(indexed.table["question"].combine_chunks().dictionary_encode().indices),
        comparable=indexed.comparable_questions,
        coordinates=np.empty((indexed.size, 0), np.int16),
        answers=KeyLists.of(indexed.table["answers"].combine_chunks(), indexed.candidates),
        rejected=triplets.rejected,
    )


@reading
def may_share(row: int, other: int, rows: Rows, tables: FilterTables) -> bool:
    """Whether two rows with different targets may share their choices: neither target may be correct in both."""
    if rows.images[row] == rows.images[other] and rows.comparable[row] == rows.comparable[other]:
        return False
    target, candidate = rows.targets[row], rows.targets[other]
    for lists in (rows.answers, rows.rejected):
        if holds(lists, row, candidate) or holds(lists, other, target):
            return False
    return not ambiguous(candidate, target, tables)


def fill(
    decoys: DecoyTable, pool: Int64s, partners: Int32s, first: Int64s, kind: NDArray[np.int8] | int, targets: Int32s
) -> None:
    """Give each row of a pool the targets of its partners as decoys, and name its closed set.

    The leak of kinds of sets that are exact for the question is 0.

    Args:
        decoys: filled in place.
        pool: (pool,): rows.
        partners: (pool, decoys): rows of the same set with all its other targets, MISSING at the end.
        first: (pool,): the first row of each row's set, MISSING for rows in no set.
        kind: (pool,): index of the set's kind in ``SET_KINDS``.
        targets: (triplets,): text numbers.
    """
    found = (partners != MISSING).sum(axis=1)
    decoys.picks[pool, 0] = np.where(partners == MISSING, MISSING, targets[partners])
    decoys.donors[pool, 0], decoys.found[pool, 0], decoys.considered[pool] = partners, found, found
    decoys.closed.first[pool], decoys.closed.kind[pool] = first, kind
    exact = np.array(["question" in one.exact for one in SET_KINDS.values()])
    decoys.closed.leak[pool[exact[kind] & (first != MISSING)]] = 0
