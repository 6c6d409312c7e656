"""Wu-Palmer similarity (WUP) of words and phrases, bit for bit equal to NLTK's and fast enough for every candidate.

Chao et al. 2018, Supplement B, eq. 3 and 4. Number the words of many phrases, compute `word_scores` once and call
`phrase_score` in a numba kernel.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.text.wordnet import load_wordnet, starts_of

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
NEAR_TABLE_FROM = 0.8
"""From this threshold on pairs are looked up in a table: 2d/(2d + s) >= 0.8 only for path lengths s <= d/2."""
_BUFFER = 1 << 20  # minimum number of near words found per call of the kernel


def reading(kernel: Kernel, forceinline: bool = False) -> Kernel:
    """numba.njit for kernels without arrays of their own, not counting references: nine tenths of the time."""
    return njit(cache=True, forceinline=forceinline, _nrt=False)(kernel)


def reading_inline(kernel: Kernel) -> Kernel:
    """`reading`, inlined: for kernels that are called in inner loops."""
    return reading(kernel, forceinline=True)


class WordScores(NamedTuple):
    """The lookup tables of `phrase_score`; words and synsets are numbers.

    Scores come from a table of near pairs if near_starts is not empty, else from the words' synsets.
    """

    near_starts: NDArray[np.int32]  # (words + 1,) or (0,)
    near_words: NDArray[np.int32]  # (pairs,): the words near word w, ascending, at near_starts[w]:near_starts[w + 1]
    near_scores: NDArray[np.float64]  # (pairs,): wup(w, near word)
    near_masks: NDArray[np.uint64]  # (words,) or (0,): bit n % 64 is set for each near word n
    sense_starts: NDArray[np.int32]  # (words + 1,)
    senses: NDArray[np.int32]  # (senses,): the synsets of word w at sense_starts[w]:sense_starts[w + 1]
    depths: NDArray[np.uint8]  # this and the following: see WordNet
    min_depths: NDArray[np.uint8]
    reaches: NDArray[np.uint8]
    ancestor_starts: NDArray[np.int32]
    ancestors: NDArray[np.int32]
    distances: NDArray[np.uint8]


def word_scores(vocabulary: Sequence[str], threshold: float, *, nouns_only: bool = False) -> WordScores:
    """The similarity of any two words of a vocabulary, exact for phrases that score at least ``threshold``, in [0, 1].

    The words are distinct; a word's number is its index. From a threshold of 0.8 on, word pairs are looked up in a
    table (milliseconds to prepare); below, they are computed on demand (some hundred times slower). With
    ``nouns_only``, as in WUPS, a word that is only an adjective has no synsets.
    """
    wordnet = load_wordnet()
    senses = [wordnet.senses(word, nouns_only=nouns_only) for word in vocabulary]
    exact = WordScores(
        near_starts=np.empty(0, np.int32),
        near_words=np.empty(0, np.int32),
        near_scores=np.empty(0, np.float64),
        near_masks=np.empty(0, np.uint64),
        sense_starts=starts_of(list(map(len, senses))),
        senses=np.array(list(chain.from_iterable(senses)), np.int32),
        depths=wordnet.depths,
        min_depths=wordnet.min_depths,
        reaches=wordnet.reaches,
        ancestor_starts=wordnet.ancestor_starts,
        ancestors=wordnet.ancestors,
        distances=wordnet.distances,
    )
    return exact if threshold < NEAR_TABLE_FROM else with_near_words(exact, threshold)


@reading_inline
def phrase_score(
    tokens: NDArray[np.int32], a_start: int, a_end: int, b_start: int, b_end: int, scores: WordScores
) -> float:
    """Eq. 4 (garbled in the paper's text): the larger of the directed scores of two phrases, in [0, 1].

    The phrases are tokens[a_start:a_end] and tokens[b_start:b_end]. Phrases without words score 1 with each other and
    0 with others. With a table of near pairs, small scores are 0.
    """
    if a_start == a_end or b_start == b_end:
        return 1.0 if a_start == a_end and b_start == b_end else 0.0
    forth = directed_score(tokens, a_start, a_end, b_start, b_end, scores)
    if forth == 1.0:
        return forth
    return max(forth, directed_score(tokens, b_start, b_end, a_start, a_end, scores))


@reading_inline
def directed_score(
    tokens: NDArray[np.int32], a_start: int, a_end: int, b_start: int, b_end: int, scores: WordScores
) -> float:
    """Eq. 4 in one direction: the product, over the words of phrase a in order, of the best score with one of b."""
    if scores.near_starts.size > 0 and not _all_near(tokens, a_start, a_end, b_start, b_end, scores):
        return 0.0
    product = 1.0
    for i in range(a_start, a_end):
        best = 0.0
        for j in range(b_start, b_end):
            best = max(best, _word_score(tokens[i], tokens[j], scores))
        product *= best
        if product == 0.0:
            break
    return product


@reading_inline
def _all_near(
    tokens: NDArray[np.int32], a_start: int, a_end: int, b_start: int, b_end: int, scores: WordScores
) -> bool:
    """False if the bit masks show a word of phrase a that is near no word of b, as they do for most phrases."""
    words = np.uint64(0)
    for j in range(b_start, b_end):
        words |= np.uint64(1) << np.uint64(tokens[j] & 63)
    for i in range(a_start, a_end):
        if scores.near_masks[tokens[i]] & words == 0:
            return False
    return True


@reading
def _word_score(word: int, other: int, scores: WordScores) -> float:
    if scores.near_starts.size == 0:
        return exact_word_score(word, other, scores)
    low, high = scores.near_starts[word], scores.near_starts[word + 1]
    while high - low > 8:  # linear search is faster within a cache line or so
        middle = (low + high) // 2
        if scores.near_words[middle] <= other:
            low = middle
        else:
            high = middle
    for i in range(low, high):
        if scores.near_words[i] == other:
            return float(scores.near_scores[i])
    return 0.0


@reading
def exact_word_score(word: int, other: int, scores: WordScores) -> float:
    """Eq. 3: the best s.wup_similarity(o) of NLTK over the noun and adjective synsets s of a word and o of another.

    In [0, 1], not always symmetric, and below 1 for some words with themselves (NLTK's path to an ancestor that is
    deeper than the synset itself). A word without synsets scores 1 with itself and 0 with others.
    """
    if scores.sense_starts[word] == scores.sense_starts[word + 1]:
        return 1.0 if word == other else 0.0
    best = 0.0
    for i in range(scores.sense_starts[word], scores.sense_starts[word + 1]):
        for j in range(scores.sense_starts[other], scores.sense_starts[other + 1]):
            best = max(best, _synset_score(scores.senses[i], scores.senses[j], scores))
    return best


@reading
def _synset_score(synset: int, other: int, scores: WordScores) -> float:
    """NLTK's synset.wup_similarity(other)."""
    i, j = least_common_subsumer(synset, other, scores)
    if i < 0:  # NLTK adds a root above an adjective and above a noun's farthest ancestor
        return 2.0 / (int(scores.reaches[synset]) + int(scores.reaches[other]) + 4)
    depth = int(scores.depths[scores.ancestors[i]])
    return (2.0 * depth) / (int(scores.distances[i]) + depth + int(scores.distances[j]) + depth)


@reading
def least_common_subsumer(synset: int, other: int, scores: WordScores) -> tuple[int, int]:
    """Indices in scores.ancestors of the common ancestor that NLTK chooses, for both synsets; (-1, -1) if none.

    It is the deepest by min_depth; if tied, ``synset``, else the first name.
    """
    ancestors, min_depths = scores.ancestors, scores.min_depths
    i, i_end = scores.ancestor_starts[synset], scores.ancestor_starts[synset + 1]
    j, j_end = scores.ancestor_starts[other], scores.ancestor_starts[other + 1]
    if ancestors[i_end - 1] != ancestors[j_end - 1]:  # the roots: all nouns share one, an adjective is its own
        return -1, -1
    while ancestors[i] != ancestors[j]:
        step = ancestors[i] < ancestors[j]  # arithmetic instead of unpredictable branches
        i += step
        j += not step
    k = j + 1  # the first in common is the deepest of smallest name; is the synset itself among the equally deep?
    while k < j_end and min_depths[ancestors[k]] == min_depths[synset] == min_depths[ancestors[i]]:
        if ancestors[k] == synset:
            while ancestors[i] != synset:
                i += 1
            return i, k
        k += 1
    return i, j


def with_near_words(exact: WordScores, threshold: float) -> WordScores:
    """Add a table of the pairs with a score of at least ``threshold``.

    Both synsets of a near pair are a few links below their least common subsumer. So the near descendants of every
    subsumer are listed, nearest first, and a synset's partners are searched among those of its near ancestors.
    """
    n_synsets, n_words = len(exact.depths), len(exact.sense_starts) - 1
    word_starts = starts_of(np.bincount(exact.senses, minlength=n_synsets))
    words = np.repeat(np.arange(n_words, dtype=np.int32), np.diff(exact.sense_starts))
    words = words[np.argsort(exact.senses, kind="stable")]

    descendants = np.repeat(np.arange(n_synsets, dtype=np.int32), np.diff(exact.ancestor_starts))
    depths = exact.depths[exact.ancestors].astype(np.int64)
    near = (2.0 * depths) / (2 * depths + exact.distances) >= threshold
    near &= np.diff(word_starts)[descendants] > 0
    descendants, distances, ancestors = descendants[near], exact.distances[near], exact.ancestors[near]
    order = np.lexsort((distances, ancestors))
    index = _Descendants(
        word_starts=word_starts,
        words=words,
        starts=starts_of(np.bincount(ancestors, minlength=n_synsets)),
        synsets=descendants[order],
        distances=distances[order],
    )

    counts, best = np.zeros(n_words, np.int32), np.zeros(n_words, np.float64)
    buffers = np.empty(_BUFFER + 4 * n_words, np.int32), np.empty(_BUFFER + 4 * n_words, np.float64)
    found = [(buffers[0][:0], buffers[1][:0])]
    done = 0
    while done < n_words:
        done, filled = _fill_near(exact, index, threshold, done, counts, *buffers, best)
        found.append((buffers[0][:filled].copy(), buffers[1][:filled].copy()))
    near_words, near_scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rows = np.repeat(np.arange(n_words), counts)
    order = np.argsort(rows * n_words + near_words)
    masks = np.zeros(n_words, np.uint64)
    np.bitwise_or.at(masks, rows, np.uint64(1) << (near_words & 63).astype(np.uint64))
    return exact._replace(
        near_starts=starts_of(counts),
        near_words=near_words[order],
        near_scores=near_scores[order],
        near_masks=masks,
    )


class _Descendants(NamedTuple):
    """Maps the vocabulary's synsets to its words, and ancestors to the vocabulary's near synsets below them."""

    word_starts: NDArray[np.int32]  # (synsets + 1,)
    words: NDArray[np.int32]
    starts: NDArray[np.int32]  # (synsets + 1,)
    synsets: NDArray[np.int32]
    distances: NDArray[np.uint8]  # ascending below each ancestor


@reading
def _fill_near(
    scores: WordScores,
    below: _Descendants,
    threshold: float,
    first: int,
    counts: NDArray[np.int32],
    near_words: NDArray[np.int32],
    near_scores: NDArray[np.float64],
    best: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the near words of the words from ``first`` on, each word's unsorted, until the buffers are full.

    ``best`` has a zero for each word, before and afterwards. Returns the first word that is not done, and the end.
    """
    start = 0
    for word in range(first, len(counts)):
        if start + len(counts) > len(near_words):
            return word, start
        end = start
        if scores.sense_starts[word] == scores.sense_starts[word + 1]:
            best[word], near_words[end] = 1.0, word
            end += 1
        for i in range(scores.sense_starts[word], scores.sense_starts[word + 1]):
            end = _add_near(scores.senses[i], scores, below, threshold, best, near_words, end)
        for n in range(start, end):
            near_scores[n] = best[near_words[n]]
            best[near_words[n]] = 0.0
        counts[word] = end - start
        start = end
    return len(counts), start


@reading
def _add_near(
    synset: int,
    scores: WordScores,
    below: _Descendants,
    threshold: float,
    best: NDArray[np.float64],
    near_words: NDArray[np.int32],
    end: int,
) -> int:
    """Raise ``best`` for the words near a synset, append new ones to near_words[:end], return the new end."""
    for a in range(scores.ancestor_starts[synset], scores.ancestor_starts[synset + 1]):
        ancestor = scores.ancestors[a]
        depth = int(scores.depths[ancestor])
        for d in range(below.starts[ancestor], below.starts[ancestor + 1]):
            score = (2.0 * depth) / (int(scores.distances[a]) + depth + int(below.distances[d]) + depth)
            if score < threshold:
                break
            other = below.synsets[d]
            if least_common_subsumer(synset, other, scores)[0] != a:
                continue
            for w in range(below.word_starts[other], below.word_starts[other + 1]):
                if best[below.words[w]] == 0.0:
                    near_words[end] = below.words[w]
                    end += 1
                best[below.words[w]] = max(best[below.words[w]], score)
    return end
