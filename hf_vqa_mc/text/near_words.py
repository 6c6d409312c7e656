"""Table of all word pairs whose Wu-Palmer similarity reaches a high threshold."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.text.wordnet import starts_of
from hf_vqa_mc.text.wu_palmer import WordScores, least_common_subsumer, reading

_BUFFER = 1 << 20
"""Minimum number of near words found per call of the kernel."""


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

    ``best`` has a zero for each word, before and afterwards.

    Returns:
        The first word that is not done, and the number of near words written.
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
