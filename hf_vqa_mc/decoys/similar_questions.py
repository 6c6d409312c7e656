"""Exact nearest neighbours of questions: equal to brute force in float64, and about fifty times faster.

The cosine of a query q and a question p is a sum over words: cos(q, p) = sum of q.w over w in p, divided by
|sum of w|. So a query needs one number q.w per word of the vocabulary, and each question then costs a few additions.
Three things make these cheap:

- bags of words are visited in sorted order as a trie: the prefix shared with the previous bag is not added again;
- 256 queries are answered together, one lane each, in 16-bit integers, for which vector units are fastest;
- integers only exclude: their rounding error is bounded (half a unit per word), and questions that may be among the
  best are scored in float64, in a fixed order of additions, so the result depends on neither machine nor threads.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy import uintp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Float64s, Int16s, Int32s, Int64s, starts
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

NO_BAG = -1  # bag of a question without (known) words, which is similar to no other
LANES = 256  # queries answered in one pass over the trie
_KEY = np.dtype(">u4")  # vocabulary index as bytes that sort in the same order
SEGMENT = 4096  # bags after which the trie restarts, so that a pass can begin near its queries


class WordBags:
    """The distinct bags of words of some questions, sorted; questions of a bag have similarity 1.

    Bags with proportional counts are one, as "ha ha" and "ha" have the same direction. Given the distinct words,
    ``same_as`` returns the index of the word that stands for each, or MISSING for words to leave out; by default each
    stands for itself.
    """

    def __init__(self, questions: Sequence[str], same_as: Callable[[list[str]], Int64s] | None = None) -> None:
        encoded = pa.array(questions, pa.large_string()).dictionary_encode()
        number, first, distinct = numbered_words(*comparable_texts(encoded.dictionary))
        vocabulary = np.array(texts_of(distinct), object)
        word = number.astype(np.int64) if same_as is None else same_as(vocabulary.tolist())[number]
        text = np.repeat(np.arange(len(first) - 1), np.diff(first))[word != MISSING]
        word = word[word != MISSING]
        counts = np.bincount(word, minlength=len(vocabulary))
        by_count = np.array(sorted(np.flatnonzero(counts), key=lambda one: (-counts[one], vocabulary[one])), np.int64)
        self.vocabulary: list[str] = vocabulary[by_count].tolist()  # most frequent first
        rank = np.empty(len(vocabulary), np.int64)
        rank[by_count] = np.arange(len(by_count))
        keys = _keys(text, rank[word], len(first) - 1)
        sorted_keys = sorted({key for key in keys if key})
        bag_of = {key: bag for bag, key in enumerate(sorted_keys)}
        bags = np.fromiter((bag_of.get(key, NO_BAG) for key in keys), np.int32, len(keys))
        self.of_question: Int32s = bags[encoded.indices.to_numpy()]  # (questions,): the bag of each, or NO_BAG
        n_without = np.count_nonzero(self.of_question == NO_BAG)
        self.members: Int64s = np.argsort(self.of_question, kind="stable")[n_without:]
        """indices of the questions of all bags, concatenated"""
        of_member = np.bincount(self.of_question[self.members], minlength=len(sorted_keys))
        self.member_starts = starts(of_member)  # (bags + 1,)
        self.words: Int32s = np.frombuffer(b"".join(sorted_keys), _KEY).astype(np.int32)
        """vocabulary indices of all bags' words with repetitions, sorted within each bag, concatenated"""
        self.word_starts = starts([len(key) // _KEY.itemsize for key in sorted_keys])  # (bags + 1,)

    @property
    def size(self) -> int:
        """Number of bags."""
        return len(self.word_starts) - 1

    @cached_property
    def squares(self) -> Int64s:
        """(bags,): the squared norm of each vector of word counts."""
        bag = np.repeat(np.arange(self.size), np.diff(self.word_starts))
        first = np.ones(len(bag), np.bool_)
        first[1:] = (self.words[1:] != self.words[:-1]) | (bag[1:] != bag[:-1])
        counts = np.diff(np.append(np.flatnonzero(first), len(bag)))
        return np.bincount(bag[first], weights=counts * counts, minlength=self.size).astype(np.int64)

    def trie(self) -> "BagTrie":
        """The bags as a trie."""
        sizes = np.diff(self.word_starts)
        shared = _shared_prefixes(self.words, self.word_starts)
        offsets = np.arange(len(self.words)) - np.repeat(self.word_starts[:-1], sizes)
        tail = self.words[offsets >= np.repeat(shared, sizes)]
        return BagTrie(shared, tail, starts(sizes - shared), int(sizes.max(initial=0)))


class BagTrie(NamedTuple):
    """Bags in order, each as a prefix of the previous bag and the words added to it."""

    shared: Int32s  # (bags,): number of words shared with the previous bag
    words: Int32s  # the words that are not shared
    word_starts: Int64s  # (bags + 1,)
    depth: int


def _keys(text: Int64s, rank: Int64s, n_texts: int) -> list[bytes]:
    """The sorted words of each text, their counts divided by the greatest common divisor, as bytes that sort alike.

    ``text`` (words,), ascending, and ``rank`` (words,) are the text and the vocabulary index of each word.
    """
    order = np.lexsort((rank, text))
    text, rank = text[order], rank[order]
    new = np.flatnonzero((np.diff(text, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0))  # first of equal words
    counts, text, rank = np.diff(new, append=len(text)), text[new], rank[new]
    divisors = np.ones(n_texts, np.int64)
    if len(text):
        divisors[np.unique(text)] = np.gcd.reduceat(counts, np.flatnonzero(np.diff(text, prepend=-1)))
    counts //= divisors[text]
    data = np.repeat(rank, counts).astype(_KEY).tobytes()
    ends = starts(np.bincount(text, counts, n_texts).astype(np.int64)) * _KEY.itemsize
    return [data[start:end] for start, end in pairwise(ends.tolist())]


@njit(cache=True)
def _shared_prefixes(words: Int32s, word_starts: Int64s) -> Int32s:
    shared = np.zeros(len(word_starts) - 1, np.int32)
    for bag in range(1, len(shared)):
        if bag % SEGMENT == 0:
            continue
        a, b = word_starts[bag - 1], word_starts[bag]
        while a < word_starts[bag] and b < word_starts[bag + 1] and words[a] == words[b]:
            shared[bag] += 1
            a += 1
            b += 1
    return shared


@reading_inline
def add_words(bag: int, trie: "BagTrie | _Trie", word_scores: NDArray[Any], sums: NDArray[Any]) -> np.uintp:
    """Add the words of a bag to the sums of its prefix, for LANES queries; returns the index of the bag's first sum.

    ``word_scores`` (words * LANES) and ``sums`` ((depth + 1) * LANES) have one type. Indices are unsigned, so that the
    loop over lanes becomes vector instructions.
    """
    lanes = uintp(LANES)
    row = uintp(trie.shared[bag]) * lanes
    for i in range(trie.word_starts[bag], trie.word_starts[bag + 1]):
        word, below = uintp(trie.words[i]) * lanes, row + lanes
        for lane in range(LANES):
            sums[below + uintp(lane)] = sums[row + uintp(lane)] + word_scores[word + uintp(lane)]
        row = below
    return row


class BagVectors(NamedTuple):
    """What the directions of bags are computed from, for kernels."""

    words: Int32s  # see `WordBags`
    word_starts: Int64s
    vectors: Float32s  # (words, dim)
    first: Int32s  # (bags,): the first question of each


class QuestionGroups:
    """The questions of a pool by their words that have a vector (Chao et al. 2018, Sect. 4.1: the average vector)."""

    def __init__(self, questions: Sequence[str], vectors: WordVectors) -> None:
        self.bags = WordBags(questions, partial(_same_vectors, vectors))
        """the groups; questions without any word with a vector belong to none"""
        first = self.bags.members[self.bags.member_starts[:-1]].astype(np.int32)
        of_words = vectors.rows(self.bags.vocabulary)[0]
        self.arrays = BagVectors(self.bags.words, self.bags.word_starts, of_words, first)
        self.lengths: Float64s = _lengths(self.arrays)  # (groups,): norm of the sum of a bag's vectors
        self.size = self.bags.size  # number of groups


def _same_vectors(vectors: WordVectors, words: list[str]) -> Int64s:
    """(words,): the first word with the same vector; MISSING without a vector."""
    rows, found = vectors.rows(words)
    found &= rows.any(axis=1)
    same: dict[bytes, int] = {}
    first = np.full(len(words), MISSING)
    for index in np.flatnonzero(found).tolist():
        first[index] = same.setdefault(rows[index].tobytes(), index)
    return first


@reading_inline
def put_direction(direction: Float64s, group: int, bags: BagVectors) -> float:
    """Put the normalised sum of a group's vectors, added in float64 in the order of its words; returns its norm."""
    direction[:] = 0.0
    for i in range(bags.word_starts[group], bags.word_starts[group + 1]):
        for j in range(len(direction)):
            direction[j] += bags.vectors[bags.words[i], j]
    square = 0.0
    for j in range(len(direction)):
        square += direction[j] * direction[j]
    length = np.sqrt(square)
    if length > 0.0:
        for j in range(len(direction)):
            direction[j] = direction[j] / length
    return float(length)


@njit(cache=True)
def directions(groups: Int32s, bags: BagVectors) -> Float64s:
    """Normalised average word vectors, (groups, dim); zero where the words cancel out."""
    found = np.empty((len(groups), bags.vectors.shape[1]))
    for row in range(len(groups)):
        put_direction(found[row], groups[row], bags)
    return found


@njit(cache=True)
def _lengths(bags: BagVectors) -> Float64s:
    lengths, direction = np.empty(len(bags.first)), np.empty(bags.vectors.shape[1])
    for group in range(len(lengths)):
        lengths[group] = put_direction(direction, group, bags)
    return lengths


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
        bags, lengths, vectors = groups.bags, groups.lengths, groups.arrays.vectors
        usual = (lengths <= _OUTLIER * float(np.median(lengths))) & (lengths > 0)
        largest = float(lengths[usual].max(initial=0.0))
        self._groups, self._libraries = groups, ThreadpoolController()
        self._scale = scale = _FULL_SCALE / largest if largest else 0.0
        # half a unit per word, the error of float32 dot products (Higham 2002, Sect. 3.1; relevant where long vectors
        # cancel out), and a few units for the rounding of norms and thresholds
        word_lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        of_bag = np.add.reduceat(word_lengths[bags.words], bags.word_starts[:-1])
        errors = np.diff(bags.word_starts) / 2 + of_bag * scale * (vectors.shape[1] + 2) * 2.0**-24 + 4
        usual = usual & (errors <= _WIDEST_MARGIN)
        margins = np.where(usual, -np.ceil((np.minimum(errors, _WIDEST_MARGIN) + 1) / 2), np.iinfo(np.int16).min)
        rounded = np.floor(np.where(usual, lengths, 0.0) * scale).astype(np.int16)
        self._trie = _Trie(*bags.trie(), rounded, margins.astype(np.int16))

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
        bags, lanes = self._groups.arrays, slice(first_batch * LANES, last_batch * LANES)
        own = directions(queries[lanes], bags)
        word_scores = bags.vectors @ (own * self._scale).T.astype(np.float32)
        _search(queries[lanes], own, word_scores, self._trie, bags, first[lanes], cosines[lanes])


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

    So that the loops over lanes become vector instructions, only the upper half of a product of two 16-bit integers is
    kept: half the sum that a group needs to reach a threshold.
    """
    thresholds = batch.thresholds
    flags, direction = np.zeros(LANES, np.uint8), np.empty(batch.directions.shape[1], np.float64)
    for group in range(start, end):
        row = add_words(group, trie, word_scores, sums)
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
