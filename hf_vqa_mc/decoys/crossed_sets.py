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
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets, LeftOut
from hf_vqa_mc.decoys.kind import GRID, LATIN, SET_KINDS, SetKind
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash
from hf_vqa_mc.decoys.set_rows import Rows, fill, may_share, rows_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.wu_palmer import reading

TRIES = 10  # maximum number of combinations of images that are tried for each first row
QUESTION_SETS, IMAGE_SETS = 16, 50
"""Maximum number of sets with the same question, or about the same image, so that sets are diverse."""
FIRST_WORDS = 2  # questions of a grid begin with the same words: "what color ..."


class _Crossing(NamedTuple):
    """The rows of a split by question and by image; a row is named by its position in `members`."""

    square: bool  # Latin squares, or grids
    starts: Int64s  # positions of rows whose answer is not the most frequent one to their question
    members: Int64s  # (rows,): in the order in which sets are started
    by_question: Int64s  # (rows,): positions sorted by question
    question_starts: Int64s  # (questions + 1,)
    by_image: Int64s  # (rows,): positions sorted by image, then question
    image_starts: Int64s  # (images + 1,)
    question: Int64s  # (rows,): number of the row's question
    image: Int64s  # (rows,)
    beginning: Int64s  # (rows,): equal for questions that a grid may combine
    question_uses: Int64s  # (questions,): sets so far
    image_uses: Int64s  # (images,)
    first: Int64s  # (all rows,): the first row of each row's set; this and `partners` are filled in place
    partners: Int32s  # (all rows, decoys): rows that have a row's decoys as targets
    rows: Rows


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
    rows, targets, size = rows_of(indexed), indexed.triplets.targets, indexed.settings.set_size
    order = order_keys(purpose_hash(indexed.settings.seed, "closed sets"), 0, indexed.triplets.hashes)
    splits = indexed.table["split"].to_numpy()[pool]
    questions = comparable_texts(indexed.table["question"].combine_chunks())[0]
    begin = [" ".join(text.split(" ", FIRST_WORDS)[:FIRST_WORDS]) for text in questions.to_pylist()]
    types = (indexed.table[name].combine_chunks() for name in ("question_type", "answer_type"))
    names = pc.binary_join_element_wise(pa.array(begin, pa.string()), *types, "\n")
    beginnings = np.array(names.dictionary_encode().indices, np.int64)
    spelled = np.isin(targets, indexed.candidates.most_frequent(targets))
    first = np.full(indexed.size, MISSING, np.int64)
    decoys.closed.left_out[pool] = LeftOut.NO_PARTNER
    partners = np.full((indexed.size, size - 1), MISSING, np.int32)
    done = 0
    for split in dict.fromkeys(splits.tolist()):
        own = pool[(splits == split) & spelled[pool]]
        # no set has a question, in a grid a beginning, that has fewer answers in the split than the set
        asked = (rows.questions if kind.square else beginnings)[own]
        own = own[np.bincount(np.unique(np.stack([asked, targets[own]]), axis=1)[0])[asked] >= size]
        rows_per_question = np.bincount(rows.questions)[rows.questions[own]]
        own = own[np.lexsort((order[own], rows_per_question))]  # rare questions first, as they fit fewest sets
        question, image = (np.unique(one[own], return_inverse=True)[1] for one in (rows.questions, rows.images))
        of_question, of_image = np.bincount(question), np.bincount(image)
        crossing = _Crossing(
            square=kind.square,
            starts=np.flatnonzero(~_most_frequent(question, rows.targets[own])),
            members=own,
            by_question=np.argsort(question, kind="stable"),
            question_starts=starts(of_question),
            by_image=np.lexsort((question, image)),
            image_starts=starts(of_image),
            question=question,
            image=image,
            beginning=beginnings[own],
            question_uses=np.zeros_like(of_question),
            image_uses=np.zeros_like(of_image),
            first=first,
            partners=partners,
            rows=rows,
        )
        for n_images, n_questions in shapes:
            crossing.question_uses[:] = crossing.image_uses[:] = 0
            _form(np.empty((n_questions, n_images), np.int64), crossing, indexed.tables)
        # whose question is asked about other images, and whose image has other questions
        decoys.closed.left_out[own[(of_question[question] > 1) & (of_image[image] > 1)]] = LeftOut.SURPLUS
        done += len(own)
        report(done)
    decoys.closed.left_out[first != MISSING] = LeftOut.NONE
    fill(decoys, pool, partners[pool], first[pool], list(SET_KINDS).index(kind.name), targets)


def _most_frequent(groups: Int64s, values: Int32s) -> Bools:
    """(rows,): whether a row's value is the most frequent one of its group; of equally frequent ones, the first."""
    pairs, of_row, counts = np.unique(np.stack([groups, values]), axis=1, return_inverse=True, return_counts=True)
    order = np.lexsort((-counts, pairs[0]))
    first = order[np.unique(pairs[0][order], return_index=True)[1]]
    return np.isin(of_row.ravel(), first)


@njit(cache=True, nogil=True)
def _form(found: Int64s, crossing: _Crossing, tables: FilterTables) -> None:
    """Start a set with each free row of ``starts`` in turn; ``found`` (questions, images) is overwritten.

    Every set has such a row for each question, as its answers to a question differ.
    """
    for start in crossing.starts:
        question = crossing.question[start]
        group = crossing.question_starts[question]
        size = crossing.question_starts[question + 1] - group
        for attempt in range(min(TRIES, size)):
            taken = crossing.first[crossing.members[start]] != MISSING
            if taken or crossing.question_uses[question] >= QUESTION_SETS:
                break
            found[0, 0] = start
            offset = (start + attempt * (1 + size // TRIES)) % size
            if not _other_images(found, group, size, offset, crossing, tables):
                break
            if _other_questions(found, start + attempt, crossing, tables):
                _put(found, crossing)


@reading
def _other_images(
    found: Int64s, group: int, size: int, offset: int, crossing: _Crossing, tables: FilterTables
) -> bool:
    """Complete the first question's rows with those on other images, from an offset on; False if there are too few."""
    if crossing.image_uses[crossing.image[found[0, 0]]] >= IMAGE_SETS:
        return False
    targets, n_found = crossing.rows.targets, 1
    for step in range(size):
        if n_found == found.shape[1]:
            break
        at = crossing.by_question[group + (offset + step) % size]
        row = crossing.members[at]
        if crossing.first[row] != MISSING or crossing.image_uses[crossing.image[at]] >= IMAGE_SETS:
            continue
        joins = True
        for j in range(n_found):
            other = crossing.members[found[0, j]]
            joins = joins and crossing.image[at] != crossing.image[found[0, j]]
            joins = joins and targets[row] != targets[other] and may_share(row, other, crossing.rows, tables)
        if joins:
            found[0, n_found] = at
            n_found += 1
    return bool(n_found == found.shape[1])


@reading
def _other_questions(found: Int64s, offset: int, crossing: _Crossing, tables: FilterTables) -> bool:
    """Complete a set with other questions about all its images; False if there are too few."""
    last, targets, members = found.shape[1] - 1, crossing.rows.targets, crossing.members
    begin = crossing.image_starts[crossing.image[found[0, last]]]
    size = crossing.image_starts[crossing.image[found[0, last]] + 1] - begin
    n_found = 1
    for step in range(size):
        if n_found == len(found):
            break
        at = crossing.by_image[begin + (offset + step) % size]
        question = crossing.question[at]
        used = crossing.question_uses[question] >= QUESTION_SETS
        for i in range(n_found):
            used = used or targets[members[at]] == targets[members[found[i, last]]]
            used = used or crossing.question[found[i, last]] == question
        if used or (not crossing.square and crossing.beginning[at] != crossing.beginning[found[0, 0]]):
            continue
        complete = False
        for j in range(found.shape[1]):
            found[n_found, j] = at if j == last else _row_about(crossing.image[found[0, j]], question, crossing)
            complete = found[n_found, j] != MISSING and crossing.first[members[found[n_found, j]]] == MISSING
            if not complete:
                break
        if complete and _fits(found, n_found, crossing, tables):
            n_found += 1
    return n_found == len(found)


@reading
def _row_about(image: int, question: int, crossing: _Crossing) -> int:
    """The position of the first row with a question about an image, MISSING if there is none."""
    low, end = crossing.image_starts[image], crossing.image_starts[image + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        before = crossing.question[crossing.by_image[middle]] < question
        low, high = (middle + 1, high) if before else (low, middle)
    found = low < end and crossing.question[crossing.by_image[low]] == question
    return int(crossing.by_image[low]) if found else MISSING


@reading
def _fits(found: Int64s, number: int, crossing: _Crossing, tables: FilterTables) -> bool:
    """Whether the targets of a question suit those of the questions before it.

    In a square: the targets of the first question in another order, none twice on an image. In a grid: new ones. No
    target may be correct in another row.
    """
    n_images, targets = found.shape[1], crossing.rows.targets
    for j in range(n_images):
        row = crossing.members[found[number, j]]
        known = False
        for i in range(number + 1):
            for other_image in range(n_images if i < number else j):
                other = crossing.members[found[i, other_image]]
                if targets[row] != targets[other]:
                    if not may_share(row, other, crossing.rows, tables):
                        return False
                elif not crossing.square or i == number or other_image == j:
                    return False
                else:
                    known = True
        if crossing.square and not known:
            return False
    return True


@njit(cache=True, nogil=True)
def _put(found: Int64s, crossing: _Crossing) -> None:
    """Name the set of its rows after the first, and give each row the rows that have its decoys as targets.

    In a square these are the rows with the same question.
    """
    n_questions, n_images = found.shape
    lowest = crossing.members[found.ravel()].min()
    for i in range(n_questions):
        crossing.question_uses[crossing.question[found[i, 0]]] += 1
        for j in range(n_images):
            row, position = crossing.members[found[i, j]], 0
            crossing.first[row] = lowest
            for other_question in range(n_questions):
                for other_image in range(n_images):
                    same = other_question == i and other_image == j
                    if not same and (not crossing.square or other_question == i):
                        crossing.partners[row, position] = crossing.members[found[other_question, other_image]]
                        position += 1
    for j in range(n_images):
        crossing.image_uses[crossing.image[found[0, j]]] += 1
