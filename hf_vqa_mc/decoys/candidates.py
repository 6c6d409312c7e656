"""Every text that may become a choice, numbered once, and the filters that reject ambiguous decoys.

Filters: Chao et al. 2018, Sect. 4.1, "Resolving ambiguous decoys" and "Other details". They are numba functions on
text keys: a build calls them hundreds of millions of times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.text.many_texts import (
    comparable_keys,
    comparable_texts,
    numbered_words,
    squeezed_texts,
    texts_of,
    word_lists,
)
from hf_vqa_mc.text.normalisation import unaccented
from hf_vqa_mc.text.relations import Relations, exclusive, related
from hf_vqa_mc.text.wordnet import wordnet_covers
from hf_vqa_mc.text.wu_palmer import WordScores, phrase_score, reading_inline, word_scores

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Int16s = NDArray[np.int16]
Bools = NDArray[np.bool_]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Ints = NDArray[np.integer]

SHORT = 2
"""Maximum number of letters of fillers that WordNet lists as symbols and abbreviations, such as "as" (arsenic)."""
MISSING = -1  # text number of a decoy that could not be found


class FilterTables(NamedTuple):
    """Lookup tables of the filters, for numba kernels. A key numbers a comparable text; texts may share one."""

    letters: NDArray[np.uint8]  # the squeezed texts of all keys in UTF-8, concatenated
    letter_starts: Int64s  # (keys + 1,)
    tokens: Int32s  # the word numbers of all keys, concatenated
    token_starts: Int64s  # (keys + 1,)
    scores: WordScores
    threshold: float
    reject_at_threshold: bool
    all_pairs: bool  # whether decoys of a row, of all sets, are filtered like target and decoy; and relations are used
    relations: Relations  # of all keys; of none unless all_pairs


@dataclass(frozen=True, eq=False)
class NumberedTexts:
    """Distinct texts in order of first occurrence; equivalent ones share a key."""

    texts: list[str]  # distinct texts, as published; the index of a text is its number
    keys: Int32s  # (texts,): the number of the comparable text, the same for "2" and "two"
    key_texts: list[str]  # (keys,): the comparable texts
    signs: bool  # whether texts with other signs and operators are different, see `comparable_keys`; not in the papers

    @classmethod
    def number(cls, columns: Sequence[pa.Array], signs: bool = False) -> "tuple[NumberedTexts, list[Int32s]]":
        """The numbered texts of some columns, and the text numbers of each column, int32 (values,)."""
        together = pa.chunked_array(columns, pa.string()).dictionary_encode().combine_chunks()
        if isinstance(together, pa.ChunkedArray):
            together = together.chunk(0)
        keys = (comparable_keys if signs else comparable_texts)(together.dictionary)[0].dictionary_encode()
        ends = np.cumsum([len(column) for column in columns])
        found = cls(texts_of(together.dictionary), np.array(keys.indices), texts_of(keys.dictionary), signs)
        return found, np.split(np.array(together.indices), ends[:-1])  # writable, as kernels are compiled for

    def most_frequent(self, given: Int32s) -> Int32s:
        """The most frequent spelling of each key among text numbers; frequent keys first, ties ordered by text."""
        counts = np.bincount(given, minlength=len(self.texts))
        of_key = np.bincount(self.keys, weights=counts, minlength=len(self.key_texts))

        def rank(text: int) -> tuple[float, str, int, str]:
            key = self.keys[text]
            return -of_key[key], self.key_texts[key], -counts[text], self.texts[text]

        first: dict[int, int] = {}
        for text in sorted(np.flatnonzero(counts).tolist(), key=rank):
            first.setdefault(int(self.keys[text]), text)
        return np.array(list(first.values()), np.int32)


def filter_tables(
    numbered: NumberedTexts, wup_threshold: float, reject_at_threshold: bool, all_pairs: bool = False
) -> FilterTables:
    """What the filters look up; with ``all_pairs``, fillers and accents do not count in what contains what."""
    folded, has_words = comparable_texts(numbered.key_texts)
    keys = pa.array(numbered.key_texts, pa.large_string())
    signed = pc.and_(pc.not_equal(keys, folded), numbered.signs)
    whole = pc.if_else(signed, pc.replace_substring(keys, " ", ""), folded)  # operators are not in WordNet
    tokens, token_starts, vocabulary = numbered_words(whole, has_words)
    texts = list(map(unaccented, without_fillers(numbered.key_texts))) if all_pairs else numbered.key_texts
    # texts with operators are written so that they contain no others
    apart = pc.replace_substring_regex(pc.utf8_upper(keys), "(.)", "\\1\0")
    letters = pc.if_else(signed, apart, squeezed_texts(texts))
    return FilterTables(
        letters=np.frombuffer("".join(texts_of(letters)).encode(), np.uint8),
        letter_starts=starts(pc.binary_length(letters).to_numpy()),
        tokens=np.array(tokens),
        token_starts=token_starts,
        scores=word_scores(texts_of(vocabulary), wup_threshold),
        threshold=wup_threshold,
        reject_at_threshold=reject_at_threshold,
        all_pairs=all_pairs,
        relations=Relations.of(numbered.key_texts if all_pairs else []),
    )


class KeyLists(NamedTuple):
    """A list of text keys for each triplet, for kernels; such as correct answers, which never become decoys."""

    keys: Int32s  # of all triplets, concatenated; MISSING for texts that are no candidates
    starts: Int64s  # (triplets + 1,)

    @classmethod
    def of(cls, texts: pa.ListArray, numbered: NumberedTexts) -> "KeyLists":
        """The keys of a list of texts per triplet; null is an empty list."""
        known = pa.array(numbered.key_texts, pa.large_string())
        compared = comparable_keys if numbered.signs else comparable_texts
        encoded = pc.list_flatten(texts).dictionary_encode()
        keys = pc.index_in(compared(encoded.dictionary)[0], known).take(encoded.indices)
        sizes = pc.fill_null(pc.list_value_length(texts), 0).to_numpy()
        return cls(pc.fill_null(keys, MISSING).to_numpy().astype(np.int32), starts(sizes))


@reading_inline
def holds(lists: KeyLists, triplet: int, key: int) -> bool:
    """Whether a triplet's list contains a key."""
    for i in range(lists.starts[triplet], lists.starts[triplet + 1]):
        if lists.keys[i] == key:
            return True
    return False


def without_fillers(texts: Sequence[str]) -> list[str]:
    """Comparable texts without fillers; texts of fillers alone are unchanged.

    Fillers are words of letters that are no answer by themselves, and that WordNet does not list as noun or adjective
    or that have at most SHORT letters.

    >>> without_fillers(["duck as shown", "duck mostly", "on left", "on", "of"])
    ['duck', 'duck', 'on left', 'on', 'of']
    """
    answers = set(texts)

    @cache
    def is_filler(word: str) -> bool:
        return word.isalpha() and word not in answers and (len(word) <= SHORT or not wordnet_covers([word]))

    lists = word_lists(pa.array(texts, pa.large_string()))
    kept = (" ".join(word for word in words if not is_filler(word)) for words in lists)
    return [short or text for short, text in zip(kept, texts, strict=True)]


def starts(lengths: list[int] | Ints) -> Int64s:
    """Start of each part when parts of these lengths are concatenated, and the end of the last.

    >>> starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])


class Reason(IntEnum):
    """Reasons to reject a candidate."""

    SAME_TEXT = 0  # it equals the target, or a decoy already taken of the same set
    CONTAINS = 1
    """it contains the target or is contained in it, spaces ignored ("pony tail", "ponytail"); with ``all_pairs``, also
    a decoy already taken of the same set"""
    WUP_TARGET = 2  # its Wu-Palmer similarity to the target reaches the threshold
    WUP_TAKEN = 3  # its Wu-Palmer similarity to a decoy already taken of the same set reaches the threshold
    REPEATS_OTHER_SET = 4  # an earlier set of the same row holds it (combined variants with ``combine="distinct"``)
    NAMED = 5  # an annotator gave it as an answer to the question (``preset="plausible"``)
    VERDICT = 6  # people or a model judged that it is correct, too (``vqa-mc remedy --reject``)
    RELATED = 7  # it and the target, or a decoy already taken, are related in WordNet, see `related` (``all_pairs``)

    @property
    def in_paper(self) -> bool:
        """Whether it is a filter of Chao et al. 2018; others are counted only where they reject something."""
        return self < Reason.NAMED


REASONS = tuple(reason.name.lower() for reason in Reason)
ACCEPTED = -1

_SAME_TEXT, _CONTAINS, _WUP_TARGET, _WUP_TAKEN = (int(reason) for reason in list(Reason)[:4])
_RELATED = int(Reason.RELATED)


@reading_inline
def contains(key: int, other: int, tables: FilterTables) -> bool:
    """Whether the squeezed text of one key contains that of the other."""
    start, end = tables.letter_starts[key], tables.letter_starts[key + 1]
    other_start, other_end = tables.letter_starts[other], tables.letter_starts[other + 1]
    if end - start > other_end - other_start:
        start, end, other_start, other_end = other_start, other_end, start, end
    length = end - start
    for offset in range(other_start, other_end - length + 1):
        same = 0
        while same < length and tables.letters[start + same] == tables.letters[offset + same]:
            same += 1
        if same == length:
            return True
    return False


@reading_inline
def too_similar(key: int, other: int, tables: FilterTables) -> bool:
    """Whether the WUP score of two texts reaches the threshold (exceeds it for ``wup_boundary="accept"``).

    With ``all_pairs``, texts that exclude one another, such as two numbers, are never too similar.
    """
    score = phrase_score(
        tables.tokens,
        tables.token_starts[key],
        tables.token_starts[key + 1],
        tables.token_starts[other],
        tables.token_starts[other + 1],
        tables.scores,
    )
    reached = score > tables.threshold or (tables.reject_at_threshold and score == tables.threshold)
    return reached and not (tables.all_pairs and exclusive(key, other, tables.relations))


@reading_inline
def ambiguous(key: int, other: int, tables: FilterTables) -> bool:
    """Whether two different texts may mean the same."""
    return contains(key, other, tables) or too_similar(key, other, tables) or includes(key, other, tables)


@reading_inline
def includes(key: int, other: int, tables: FilterTables) -> bool:
    """Whether one text includes the other in WordNet; only with ``all_pairs``."""
    return tables.all_pairs and related(key, other, tables.relations)


@reading_inline
def reason_against(key: int, target: int, taken: Int32s, n_taken: int, wup: bool, tables: FilterTables) -> int:
    """The reason why a candidate, given by its key, cannot join a set; or ACCEPTED.

    ``taken[:n_taken]`` are the keys of the decoys already taken of the same set; ``wup`` switches on the WUP filters.
    """
    if key == target:
        return _SAME_TEXT
    for i in range(n_taken):
        if key == taken[i]:
            return _SAME_TEXT
    if contains(key, target, tables):
        return _CONTAINS
    if tables.all_pairs:
        for i in range(n_taken):
            if contains(key, taken[i], tables):
                return _CONTAINS
    return _reason_of_wup(key, target, taken, n_taken, tables) if wup else ACCEPTED


@reading_inline
def _reason_of_wup(key: int, target: int, taken: Int32s, n_taken: int, tables: FilterTables) -> int:
    if too_similar(key, target, tables):
        return _WUP_TARGET
    for i in range(n_taken):
        if too_similar(key, taken[i], tables):
            return _WUP_TAKEN
    if includes(key, target, tables):
        return _RELATED
    for i in range(n_taken):
        if includes(key, taken[i], tables):
            return _RELATED
    return ACCEPTED
