"""Exact nearest neighbours of questions: equal to brute force in float64, and about fifty times faster.

The cosine of a query q and a question p is a sum over words: cos(q, p) = sum of q.w over w in p, divided by
|sum of w|. So a query needs one number q.w per word of the vocabulary, and each question then costs a few additions.
Three things make these cheap:

- bags of words are visited in sorted order as a trie: the prefix shared with the previous bag is not added again;
- 256 queries are answered together, one lane each, in 16-bit integers, for which vector units are fastest;
- integers only exclude: their rounding error is bounded (half a unit per word), and questions that may be among the
  best are scored in float64, in a fixed order of additions, so the result depends on neither machine nor threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy import uintp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import Bools, Float32s, Float64s, Int16s, Int32s, Int64s
from hf_vqa_mc.decoys.word_bags import LANES, SEGMENT, BagVectors, QuestionGroups, directions, put_direction
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

_BATCHES = 4  # passes over the trie per yielded result
_FULL_SCALE = 30_000.0  # 16-bit integer that represents the norm of the longest sum of word vectors
_OUTLIER = 4.0
"""Sums of vectors longer than this multiple of the median are always scored in float64; they need all 16 bits."""
_WIDEST_MARGIN = 300.0
"""Bags with a larger possible rounding error, in integer units, are also scored in float64: many or long words."""


class Neighbours(NamedTuple):
    """The k groups most similar to each query, most similar first; ties in the order of the groups."""

    groups: Int32s  # (queries, k)
    cosines: Float64s  # (queries, k), in [-1, 1]


class _Batch(NamedTuple):
    """LANES queries that are answered together."""

    queries: Int32s  # (lanes,)
    directions: Float64s  # (lanes, dim)
    first: Int32s  # (lanes, k): heaps of the first questions of the best groups so far
    cosines: Float64s  # (lanes, k)
    thresholds: Int16s  # (lanes,): cosines that a group needs, in units of 1 / 32767


class _Trie(NamedTuple):
    """A `BagTrie` with the norm and rounding error of each bag."""

    shared: Int32s
    words: Int32s
    word_starts: Int64s
    depth: int
    lengths: Int16s  # (groups,): norm of the sum of vectors, rounded down
    margins: Int16s  # (groups,): the largest rounding error of half a score, negative


class SimilarQuestions:
    """An index of one or more question groups."""

    def __init__(self, groups: QuestionGroups) -> None:
        """Build the trie."""
        longest = _OUTLIER * float(np.median(groups.lengths))
        usual = (groups.lengths <= longest) & (groups.lengths > 0)
        largest = float(groups.lengths[usual].max(initial=0.0))
        self._scale = _FULL_SCALE / largest if largest else 0.0
        self._groups = groups
        self._libraries = ThreadpoolController()
        self._trie = _make_trie(groups, usual, self._scale)

    def nearest(self, queries: Int32s, k: int) -> Iterator[tuple[Int32s, Neighbours]]:
        """The k groups with the largest cosine to each query, except itself.

        ``queries`` are ascending; k is from 1 to the number of other groups. Yields some of the queries and their
        neighbours.
        """
        groups = self._groups
        for start in range(0, len(queries), LANES * _BATCHES):
            chunk = queries[start : start + LANES * _BATCHES]
            padded = np.resize(chunk, -(-len(chunk) // LANES) * LANES)
            first = np.full((len(padded), k), np.iinfo(np.int32).max, np.int32)
            cosines = np.full((len(padded), k), -np.inf)
            # each thread multiplies alone: threads of the BLAS library would spin and compete with them
            with self._libraries.limit(limits=1, user_api="blas"):
                over_ranges(self._answer, len(padded) // LANES, 1, padded, first, cosines)
            yield chunk, Neighbours(groups.bags.of_question[first[: len(chunk)]], cosines[: len(chunk)])

    def _answer(self, first_batch: int, last_batch: int, queries: Int32s, first: Int32s, cosines: Float64s) -> None:
        """Answer some batches of LANES queries."""
        bags, lanes = self._groups.arrays, slice(first_batch * LANES, last_batch * LANES)
        own = directions(queries[lanes], bags)
        word_scores = bags.vectors @ (own * self._scale).T.astype(np.float32)
        _search(queries[lanes], own, word_scores, self._trie, bags, first[lanes], cosines[lanes])


def _make_trie(groups: QuestionGroups, usual: Bools, scale: float) -> _Trie:
    bags = groups.bags
    sizes = np.diff(bags.word_starts)
    # half a unit per word, the error of float32 dot products (Higham 2002, Sect. 3.1; relevant where long vectors
    # cancel out), and a few units for the rounding of norms and thresholds
    word_lengths = np.linalg.norm(groups.arrays.vectors.astype(np.float64), axis=1)
    of_bag = np.add.reduceat(word_lengths[bags.words], bags.word_starts[:-1])
    errors = sizes / 2 + of_bag * scale * (groups.arrays.vectors.shape[1] + 2) * 2.0**-24 + 4
    usual = usual & (errors <= _WIDEST_MARGIN)
    margins = np.where(usual, -np.ceil((np.minimum(errors, _WIDEST_MARGIN) + 1) / 2), np.iinfo(np.int16).min)
    lengths = np.floor(np.where(usual, groups.lengths, 0.0) * scale)
    return _Trie(*bags.trie(), lengths.astype(np.int16), margins.astype(np.int16))


@reading_inline
def _cosine(a: Float64s, b: Float64s) -> float:
    """Dot product of two unit vectors in a fixed order of additions: four independent sums."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = len(a) - len(a) % 4
    for j in range(0, whole, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(whole, len(a)):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@reading_inline
def _sift(cosines: Float64s, first: Int32s, size: int, cosine: float, question: int) -> None:
    """Replace a heap's root, its worst group: the one with the smallest cosine; if tied, the last question's."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            cosines[right] < cosines[child] or (cosines[right] == cosines[child] and first[right] > first[child])
        ):
            child = right
        if cosines[child] > cosine or (cosines[child] == cosine and first[child] < question):
            break
        cosines[hole], first[hole] = cosines[child], first[child]
        hole = child
    cosines[hole], first[hole] = cosine, question


@reading
def _consider(group: int, flags: NDArray[np.uint8], batch: _Batch, bags: BagVectors, direction: Float64s) -> None:
    """Score a group in float64 for the queries of the flagged lanes; each keeps it if it is among its k best.

    ``direction`` (dim,) is overwritten.
    """
    question = bags.first[group]
    put_direction(direction, group, bags)
    flags_by_eight = flags.view(np.uint64)
    for eight in range(len(flags_by_eight)):
        if not flags_by_eight[eight]:
            continue
        for lane in range(8 * eight, 8 * eight + 8):
            if not flags[lane] or group == batch.queries[lane]:
                continue
            heap, first = batch.cosines[lane], batch.first[lane]
            cosine = _cosine(batch.directions[lane], direction)
            if cosine > heap[0] or (cosine == heap[0] and question < first[0]):
                _sift(heap, first, len(heap), cosine, question)
                batch.thresholds[lane] = np.int16(np.floor(max(min(heap[0], 1.0), -1.0) * 32767.0))


@njit(cache=True)
def _scan(
    start: int, end: int, trie: _Trie, word_scores: Int16s, sums: Int16s, batch: _Batch, bags: BagVectors
) -> None:
    """Visit the groups from ``start`` to ``end``.

    So that the loops over lanes become vector instructions, indices are unsigned, and only the upper half of a product
    of two 16-bit integers is kept: half the sum that a group needs to reach a threshold.
    """
    lanes, thresholds = uintp(LANES), batch.thresholds
    flags, direction = np.zeros(LANES, np.uint8), np.empty(batch.directions.shape[1], np.float64)
    for group in range(start, end):
        row = uintp(trie.shared[group]) * lanes
        for i in range(trie.word_starts[group], trie.word_starts[group + 1]):
            word = uintp(trie.words[i]) * lanes
            below = row + lanes
            for lane in range(LANES):
                sums[below + uintp(lane)] = sums[row + uintp(lane)] + word_scores[word + uintp(lane)]
            row = below
        length = np.int32(trie.lengths[group])
        margin = np.int16(trie.margins[group])
        reached = np.int16(0)
        for lane in range(LANES):
            needed = np.int16((length * np.int32(thresholds[uintp(lane)])) >> 16)
            reached |= np.int16((sums[row + uintp(lane)] >> 1) >= np.int16(needed + margin))
        if reached:
            for lane in range(LANES):
                needed = np.int16((length * np.int32(thresholds[uintp(lane)])) >> 16)
                flags[uintp(lane)] = np.uint8((sums[row + uintp(lane)] >> 1) >= np.int16(needed + margin))
            _consider(group, flags, batch, bags, direction)


@njit(cache=True, nogil=True)
def _search(
    queries: Int32s, units: Float64s, scores: Float32s, trie: _Trie, bags: BagVectors, first: Int32s, cosines: Float64s
) -> None:
    """Find the neighbours of LANES queries at a time: the first questions of their groups and the cosines.

    ``units`` (queries, dim) are the queries' directions, ``scores`` (words, queries) those of words.
    """
    n_groups = len(trie.shared)
    n_segments = (n_groups + SEGMENT - 1) // SEGMENT
    for lane0 in range(0, len(queries), LANES):
        some = slice(lane0, lane0 + LANES)
        thresholds = np.full(LANES, -32767, np.int16)
        batch = _Batch(queries[some], units[some], first[some], cosines[some], thresholds)
        rounded = np.empty(len(scores) * LANES, np.int16)
        for word in range(len(scores)):
            for lane in range(LANES):
                # intermediate sums may overflow 16 bits as long as the result does not, and so may each part
                rounded[word * LANES + lane] = np.int16(np.int32(np.rint(scores[word, lane0 + lane])))
        sums = np.zeros((trie.depth + 1) * LANES, np.int16)
        # the queries' own segment first: it sets thresholds that few groups of other segments reach
        own = batch.queries[LANES // 2] // SEGMENT
        for step in range(n_segments):
            segment = own if step == 0 else (step - 1 if step <= own else step)
            start, end = segment * SEGMENT, min((segment + 1) * SEGMENT, n_groups)
            _scan(start, end, trie, rounded, sums, batch, bags)
        for lane in range(LANES):  # sort the heaps, best first
            heap, questions = batch.cosines[lane], batch.first[lane]
            for size in range(len(heap) - 1, 0, -1):
                cosine, question = heap[size], questions[size]
                heap[size], questions[size] = heap[0], questions[0]
                _sift(heap, questions, size, cosine, question)
