"""Closed answer sets whose questions are each asked about each of their images: Latin squares and grids.

A set starts with a row. Other images on which its question has other answers give the set's images; then questions
about all these images are added. Latin square: k images, k questions and k answers, each once per image and question.
Grid: m images, n questions of the same type that begin alike, m * n different answers.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, Bools, FilterTables, Int32s, Int64s, starts
from hf_vqa_mc.decoys.closed_set_builder import Report
from hf_vqa_mc.decoys.closed_sets import GRID, LATIN, SET_KINDS, SetKind
from hf_vqa_mc.decoys.decoy_table import DecoyTable, LeftOut
from hf_vqa_mc.decoys.indexed_triplets import IndexedTriplets
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash
from hf_vqa_mc.decoys.set_rows import Rows, fill, may_share, rows_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.wu_palmer import reading

TRIES = 10
"""Maximum number of combinations of images that are tried for each first row."""
QUESTION_SETS, IMAGE_SETS = 16, 50
"""Maximum number of sets with the same question, or about the same image, so that sets are diverse."""
FIRST_WORDS = 2
"""Questions of a grid begin with the same words: "what color ..." """


class _Crossing(NamedTuple):
    """The rows of a split by question and by image; a row is named by its position in `members`."""

    starts: Int64s  # positions of rows whose answer is not the most frequent one to their question
    members: Int64s  # (rows,): in the order in which sets are started
    by_question: Int64s  # (rows,): positions sorted by question
    question_starts: Int64s  # (questions + 1,)
    by_image: Int64s  # (rows,): positions sorted by image, then question
    image_starts: Int64s  # (images + 1,)
    question: Int64s  # (rows,): number of the row's question
    image: Int64s  # (rows,)
    beginning: Int64s  # (rows,): equal for questions that a grid may combine


def take_sets_latin(decoys: DecoyTable, pool: Int64s, indexed: IndexedTriplets, report: Report) -> None:
    """Form Latin squares of ``set_size`` images, questions and answers; see `_take`."""
    size = indexed.settings.set_size
    _take(decoys, pool, indexed, report, LATIN, [(size, size)])


def take_sets_grid(decoys: DecoyTable, pool: Int64s, indexed: IndexedTriplets, report: Report) -> None:
    """Form grids of images and questions with ``set_size`` answers: 2 x 2, or 2 x 3 and 3 x 2; see `_take`."""
    size = indexed.settings.set_size
    shapes = [(size // n, n) for n in range(2, size // 2 + 1) if size % n == 0]
    if not shapes:
        raise InputError(
            f"--set-size {size}: a grid has 4 answers (2 images x 2 questions) or 6; use --set-size 4 or 6"
        )
    _take(decoys, pool, indexed, report, GRID, shapes)


def _take(
    decoys: DecoyTable,
    pool: Int64s,
    indexed: IndexedTriplets,
    report: Report,
    kind: SetKind,
    shapes: list[tuple[int, int]],
) -> None:
    """Form crossed sets of the rows of a pool, each of (images, questions) in ``shapes``.

    A row is in one set at most; sets lie in one split. A row's decoys are the set's other answers. As the rows of a
    square share their targets, only the most frequent spelling of each target is used.
    """
    settings = indexed.settings
    rows = rows_of(indexed)
    order = order_keys(purpose_hash(settings.seed, "closed sets"), 0, indexed.triplets.hashes)
    splits = indexed.table["split"].to_numpy()[pool]
    questions = comparable_texts(indexed.table["question"].combine_chunks())[0]
    begin = [" ".join(text.split(" ", FIRST_WORDS)[:FIRST_WORDS]) for text in questions.to_pylist()]
    types = (indexed.table[name].combine_chunks() for name in ("question_type", "answer_type"))
    names = pc.binary_join_element_wise(pa.array(begin, pa.string()), *types, "\n")
    beginnings = np.array(names.dictionary_encode().indices, np.int64)
    targets = indexed.triplets.targets
    spelled = np.isin(targets, indexed.candidates.most_frequent(targets))
    first = np.full(indexed.size, MISSING, np.int64)
    decoys.closed.left_out[pool] = LeftOut.NO_PARTNER
    partners = np.full((indexed.size, settings.set_decoys), MISSING, np.int32)
    done = 0
    for split in dict.fromkeys(splits.tolist()):
        own = pool[(splits == split) & spelled[pool]]
        # no set has a question, in a grid a beginning, that has fewer answers in the split than the set
        own = own[_distinct((rows.questions if kind.square else beginnings)[own], targets[own]) >= settings.set_size]
        rows_per_question = np.bincount(rows.questions)[rows.questions[own]]
        own = own[np.lexsort((order[own], rows_per_question))]  # rare questions first, as they fit fewest sets
        question, image = (np.unique(one[own], return_inverse=True)[1] for one in (rows.questions, rows.images))
        crossing = _Crossing(
            starts=np.flatnonzero(~_most_frequent(question, rows.targets[own])),
            members=own,
            by_question=np.argsort(question, kind="stable"),
            question_starts=starts(np.bincount(question)),
            by_image=np.lexsort((question, image)),
            image_starts=starts(np.bincount(image)),
            question=question,
            image=image,
            beginning=beginnings[own],
        )
        for n_images, n_questions in shapes:
            _form(n_images, n_questions, kind.square, crossing, rows, first, partners, indexed.candidates.tables)
        decoys.closed.left_out[own[_shared(crossing)]] = LeftOut.SURPLUS
        done += len(own)
        report(done)
    decoys.closed.left_out[first != MISSING] = LeftOut.NONE
    fill(decoys, pool, partners[pool], first[pool], list(SET_KINDS).index(kind.name), targets)


def _distinct(groups: Int64s, values: Int32s) -> Int64s:
    """(rows,): number of distinct values in each row's group."""
    pairs = np.unique(np.stack([groups, values]), axis=1)
    counts: Int64s = np.bincount(pairs[0])[groups]
    return counts


def _most_frequent(groups: Int64s, values: Int32s) -> Bools:
    """(rows,): whether a row's value is the most frequent one of its group; of equally frequent ones, the first."""
    pairs, of_row, counts = np.unique(np.stack([groups, values]), axis=1, return_inverse=True, return_counts=True)
    order = np.lexsort((-counts, pairs[0]))
    first = order[np.unique(pairs[0][order], return_index=True)[1]]
    return np.isin(of_row.ravel(), first)


def _shared(crossing: _Crossing) -> Bools:
    """(rows,): whether a row's question is asked about other images, and its image has other questions."""
    shared: Bools = (np.bincount(crossing.question)[crossing.question] > 1) & (
        np.bincount(crossing.image)[crossing.image] > 1
    )
    return shared


@njit(cache=True, nogil=True)
def _form(
    n_images: int,
    n_questions: int,
    square: bool,
    crossing: _Crossing,
    rows: Rows,
    first: Int64s,
    partners: Int32s,
    tables: FilterTables,
) -> None:
    """Start a set with each free row of ``starts`` in turn; ``first`` and ``partners`` are filled in place.

    Every set has such a row for each question, as its answers to a question differ.
    """
    members = crossing.members
    question_uses = np.zeros(len(crossing.question_starts) - 1, np.int64)
    image_uses = np.zeros(len(crossing.image_starts) - 1, np.int64)
    found = np.empty((n_questions, n_images), np.int64)  # positions of rows
    for start in crossing.starts:
        group = crossing.question_starts[crossing.question[start]]
        size = crossing.question_starts[crossing.question[start] + 1] - group
        for attempt in range(min(TRIES, size)):
            if first[members[start]] != MISSING or question_uses[crossing.question[start]] >= QUESTION_SETS:
                break
            found[0, 0] = start
            offset = (start + attempt * (1 + size // TRIES)) % size
            if not _other_images(found, group, size, offset, image_uses, crossing, rows, first, tables):
                break
            if _other_questions(found, square, start + attempt, question_uses, crossing, rows, first, tables):
                _put(found, square, members, first, partners)
                for i in range(n_questions):
                    question_uses[crossing.question[found[i, 0]]] += 1
                for j in range(n_images):
                    image_uses[crossing.image[found[0, j]]] += 1


@reading
def _other_images(
    found: Int64s,
    group: int,
    size: int,
    offset: int,
    image_uses: Int64s,
    crossing: _Crossing,
    rows: Rows,
    first: Int64s,
    tables: FilterTables,
) -> bool:
    """Complete the first question's rows with those on other images, from an offset on; False if there are too few."""
    if image_uses[crossing.image[found[0, 0]]] >= IMAGE_SETS:
        return False
    n_found = 1
    for step in range(size):
        if n_found == found.shape[1]:
            break
        at = crossing.by_question[group + (offset + step) % size]
        row = crossing.members[at]
        if first[row] != MISSING or image_uses[crossing.image[at]] >= IMAGE_SETS:
            continue
        joins = True
        for j in range(n_found):
            other = crossing.members[found[0, j]]
            joins = joins and crossing.image[at] != crossing.image[found[0, j]]
            joins = joins and rows.targets[row] != rows.targets[other] and may_share(row, other, rows, tables)
        if joins:
            found[0, n_found] = at
            n_found += 1
    return bool(n_found == found.shape[1])


@reading
def _other_questions(
    found: Int64s,
    square: bool,
    offset: int,
    question_uses: Int64s,
    crossing: _Crossing,
    rows: Rows,
    first: Int64s,
    tables: FilterTables,
) -> bool:
    """Complete a set with other questions about all its images; False if there are too few."""
    last = found.shape[1] - 1
    begin = crossing.image_starts[crossing.image[found[0, last]]]
    size = crossing.image_starts[crossing.image[found[0, last]] + 1] - begin
    n_found = 1
    for step in range(size):
        if n_found == len(found):
            break
        at = crossing.by_image[begin + (offset + step) % size]
        question = crossing.question[at]
        used = question_uses[question] >= QUESTION_SETS
        for i in range(n_found):
            other = crossing.members[found[i, last]]
            used = used or rows.targets[crossing.members[at]] == rows.targets[other]
            used = used or crossing.question[found[i, last]] == question
        if used or (not square and crossing.beginning[at] != crossing.beginning[found[0, 0]]):
            continue
        complete = False
        for j in range(found.shape[1]):
            found[n_found, j] = at if j == last else _row_about(crossing.image[found[0, j]], question, crossing)
            complete = found[n_found, j] != MISSING and first[crossing.members[found[n_found, j]]] == MISSING
            if not complete:
                break
        if complete and _fits(found, n_found, square, crossing.members, rows, tables):
            n_found += 1
    return n_found == len(found)


@reading
def _row_about(image: int, question: int, crossing: _Crossing) -> int:
    """The position of the first row with a question about an image, MISSING if there is none."""
    low, high = crossing.image_starts[image], crossing.image_starts[image + 1]
    while low < high:
        middle = (low + high) // 2
        if crossing.question[crossing.by_image[middle]] < question:
            low = middle + 1
        else:
            high = middle
    if low < crossing.image_starts[image + 1] and crossing.question[crossing.by_image[low]] == question:
        return int(crossing.by_image[low])
    return MISSING


@reading
def _fits(found: Int64s, number: int, square: bool, members: Int64s, rows: Rows, tables: FilterTables) -> bool:
    """Whether the targets of a question suit those of the questions before it.

    In a square: the targets of the first question in another order, none twice on an image. In a grid: new ones. No
    target may be correct in another row.
    """
    n_images = found.shape[1]
    for j in range(n_images):
        row = members[found[number, j]]
        known = False
        for i in range(number + 1):
            for other_image in range(n_images if i < number else j):
                other = members[found[i, other_image]]
                if rows.targets[row] != rows.targets[other]:
                    if not may_share(row, other, rows, tables):
                        return False
                elif not square or i == number or other_image == j:
                    return False
                else:
                    known = True
        if square and not known:
            return False
    return True


@njit(cache=True, nogil=True)
def _put(found: Int64s, square: bool, members: Int64s, first: Int64s, partners: Int32s) -> None:
    """Name the set of its rows after the first, and give each row the rows that have its decoys as targets.

    In a square these are the rows with the same question.
    """
    n_questions, n_images = found.shape
    lowest = members[found.ravel()].min()
    for i in range(n_questions):
        for j in range(n_images):
            row, position = members[found[i, j]], 0
            first[row] = lowest
            for other_question in range(n_questions):
                for other_image in range(n_images):
                    same = other_question == i and other_image == j
                    if not same and (not square or other_question == i):
                        partners[row, position] = members[found[other_question, other_image]]
                        position += 1
