"""`comparable` of millions of texts: compiled for ASCII, in Python for others."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.text import comparison
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, comparable, words

_BATCH = 1 << 16  # texts; the output buffer takes up to five times their memory
_LONGEST = max(map(len, SMALL_NUMBERS))  # letters in the longest word for a digit
_SPELT = np.zeros((len(SMALL_NUMBERS), _LONGEST), np.uint8)
for _number, _word in enumerate(SMALL_NUMBERS):
    _SPELT[_number, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)

_NO_WORDS, _HAS_WORDS, _NOT_ASCII = 0, 1, 2


def comparable_texts(texts: Sequence[str] | pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The comparable text of each text, and whether it has words, see `normalisation.comparable`; no nulls.

    Large_string (texts,), with single spaces between words, and bool (texts,).

    >>> comparable_texts(["The man's 2 T-shirts!", "?!"])[0].to_pylist()
    ['the man two t-shirts', '?!']
    """
    given = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    given = given.cast(pa.large_string())
    parts, kinds = [], np.empty(len(given), np.uint8)
    for first in range(0, len(given), _BATCH):
        part = given.slice(first, _BATCH)
        offsets = np.frombuffer(part.buffers()[1], np.int64)[part.offset : part.offset + len(part) + 1]
        buffer = part.buffers()[2]
        data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(1, np.uint8)
        out = np.empty(_LONGEST * int(offsets[-1] - offsets[0]), np.uint8)
        ends = np.zeros(len(part) + 1, np.int64)
        _fold(data, offsets, _SPELT, out, ends, kinds[first : first + len(part)])
        letters = out[: ends[-1]].copy()
        parts.append(pa.LargeStringArray.from_buffers(len(part), pa.py_buffer(ends), pa.py_buffer(letters)))
    folded = pa.concat_arrays(parts) if parts else given
    other = kinds == _NOT_ASCII
    has_words: NDArray[np.bool_] = kinds == _HAS_WORDS
    if other.any():
        as_written = given.filter(pa.array(other)).to_numpy(zero_copy_only=False).tolist()
        slow = pa.array([comparable(text) for text in as_written], pa.large_string())
        folded = pc.replace_with_mask(folded, pa.array(other), slow)
        has_words[other] = [bool(words(text)) for text in as_written]
    return folded, has_words


def numbered_words(
    folded: pa.Array, has_words: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int64], pa.Array]:
    """The words of all texts as numbers, the start of each text's, int64 (texts + 1,), and the distinct words.

    >>> numbers, starts, distinct = numbered_words(*comparable_texts(["a cat", "", "cat?"]))
    >>> numbers.tolist(), starts.tolist(), distinct.to_pylist()
    ([0, 1, 1], [0, 2, 2, 3], ['a', 'cat'])
    """
    lists = pc.split_pattern(folded, " ")
    if not has_words.all():
        lists = pc.if_else(pa.array(has_words), lists, pa.scalar([], lists.type))
    encoded = pc.list_flatten(lists).dictionary_encode()
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(pc.list_value_length(lists).to_numpy(), out=starts[1:])
    return encoded.indices.to_numpy(), starts, encoded.dictionary


def word_lists(texts: Sequence[str] | pa.Array) -> Iterator[list[str]]:
    """Iterate over the words of each text, see `normalisation.words`; no nulls.

    >>> list(word_lists(["The cat's toy", "?"]))
    [['the', 'cat', 'toy'], []]
    """
    given = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    for first in range(0, len(given), _BATCH):
        numbers, starts, distinct = numbered_words(*comparable_texts(given.slice(first, _BATCH)))
        every = np.array(texts_of(distinct), object)[numbers].tolist()
        yield from (every[start:end] for start, end in pairwise(starts.tolist()))


def squeezed_texts(texts: Sequence[str] | pa.Array) -> pa.Array:
    """The comparable texts without spaces, hyphens and apostrophes: "pony tail" and "ponytail" become one; no nulls.

    >>> squeezed_texts(["Pony tail", "T-shirt", "? -", "-"]).to_pylist()
    ['ponytail', 'tshirt', '?', '-']
    """
    folded = comparable_texts(texts)[0]
    short = pc.replace_substring_regex(folded, r"[\s\p{Z}'’-]", "")
    return pc.if_else(pc.equal(short, ""), folded, short)


_MINUS = "[-−–]"
_OPERATOR = re.compile(
    r"</?[A-Za-z][^<>]*>"  # a tag of HTML is no operator
    rf"|(?P<operator>!=|[+<>=≤≥≠≈±×÷*^√%]|(?<=\d)!|(?<=\d)\s?/|/(?=\s?\d)"
    rf"|(?<![^\s(\[{{,;:=<>+*/^×÷√]){_MINUS}(?=[\w.√(])"  # a sign
    rf"|(?:(?<=\b\w)|(?<=\d)|(?<=\)))\s?{_MINUS}\s?(?=\d|\w\b|\())"  # a difference
)
_MAY_HAVE_OPERATORS = r"[-−–+<>=≤≥≠≈±×÷*^√%/]|[0-9]!"
_TUPLE = r"^\s*[(\[]?\s*[^\s,;]+(?:\s*[,;]\s*[^\s,;]+)+\s*[)\]]?\s*$"


def comparable_keys(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """The keys by which texts count as equal; whether a text has operators; whether it is a tuple, as "no, yes".

    Two tuples of other words, or in another order, never mean the same.

    >>> [column.tolist() for column in map(np.asarray, comparable_keys(pa.array(["-1", "1", "no, yes", "T-shirt"])))]
    [['-1', 'one', 'no yes', 't-shirt'], [True, False, False, False], [False, False, True, False]]
    """
    texts = texts.cast(pa.large_string())
    keys, signed = comparable_texts(texts)[0], np.zeros(len(texts), np.bool_)
    may_have = np.flatnonzero(pc.match_substring_regex(texts, _MAY_HAVE_OPERATORS))
    for number, text in zip(may_have.tolist(), texts_of(texts.take(may_have)), strict=True):
        signed[number] = any(found["operator"] for found in _OPERATOR.finditer(text))
    if signed.any():
        slow = pa.array(list(map(comparison.comparable, texts_of(texts.filter(pa.array(signed))))), pa.large_string())
        keys = pc.replace_with_mask(keys, pa.array(signed), slow)
    return keys, signed, pc.match_substring_regex(texts, _TUPLE).to_numpy(zero_copy_only=False)


def texts_of(array: pa.Array) -> list[str]:
    """An Arrow array without nulls as a list, several times faster than ``to_pylist``."""
    listed: list[str] = array.to_numpy(zero_copy_only=False).tolist()
    return listed


def lists_of(array: pa.ListArray) -> list[list[str]]:
    """An Arrow array of lists of texts without nulls as lists, several times faster than ``to_pylist``."""
    texts = texts_of(array.flatten())
    ends = np.cumsum(array.value_lengths().to_numpy()).tolist()
    return [texts[start:end] for start, end in pairwise([0, *ends])]


@njit(cache=True)
def _fold(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    spelt: NDArray[np.uint8],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    kinds: NDArray[np.uint8],
) -> None:
    """Write the comparable texts to ``out`` and their ends to ``ends``."""
    filled = 0
    for text in range(len(offsets) - 1):
        start, end, before = offsets[text], offsets[text + 1], filled
        if _is_ascii(data, start, end):
            filled = _write_words(data, start, end, spelt, out, filled)
            kinds[text] = _HAS_WORDS if filled > before else _NO_WORDS
            if filled == before:
                while start < end and _is_space(data[start]):
                    start += 1
                while end > start and _is_space(data[end - 1]):
                    end -= 1
                out[filled : filled + end - start] = data[start:end]  # no letters, hence no capitals
                filled += end - start
        else:
            kinds[text] = _NOT_ASCII
        ends[text + 1] = filled


@njit(cache=True)
def _is_ascii(data: NDArray[np.uint8], start: int, end: int) -> bool:
    every = 0
    for i in range(start, end):
        every |= data[i]
    return every < 128


@njit(cache=True)
def _write_words(
    data: NDArray[np.uint8], start: int, end: int, spelt: NDArray[np.uint8], out: NDArray[np.uint8], filled: int
) -> int:
    """Write the words with single spaces between them; return the end."""
    before = filled
    i = start
    while i < end:
        if _is_alnum(data[i]):
            after = _word_end(data, i, end)
            if filled > before:
                out[filled] = 32
                filled += 1
            filled = _write_word(data, i, after, spelt, out, filled)
            i = after
        else:
            i += 1
    return filled


@njit(cache=True)
def _word_end(data: NDArray[np.uint8], start: int, end: int) -> int:
    """The end of the word that starts here; it includes single hyphens and apostrophes between letters or digits."""
    i = start
    while i < end:
        if not _is_alnum(data[i]) and not (
            (data[i] == 45 or data[i] == 39) and i + 1 < end and _is_alnum(data[i + 1])
        ):
            break
        i += 1
    return i


@njit(cache=True)
def _write_word(
    data: NDArray[np.uint8], start: int, end: int, spelt: NDArray[np.uint8], out: NDArray[np.uint8], filled: int
) -> int:
    """Write a word in lower case, without possessive 's and with small numbers as words; return the end."""
    if end - start > 2 and data[end - 2] == 39 and (data[end - 1] == 115 or data[end - 1] == 83):
        end -= 2
    number = -1
    if end - start == 1 and 48 <= data[start] <= 57:
        number = int(data[start]) - 48
    elif end - start == 2 and data[start] == 49 and data[start + 1] == 48:
        number = 10
    if number >= 0:
        for letter in spelt[number]:
            if letter:
                out[filled] = letter
                filled += 1
        return filled
    for i in range(start, end):
        out[filled] = data[i] + 32 if 65 <= data[i] <= 90 else data[i]
        filled += 1
    return filled


@njit(cache=True)
def _is_alnum(letter: int) -> bool:
    return 48 <= letter <= 57 or 65 <= letter <= 90 or 97 <= letter <= 122


@njit(cache=True)
def _is_space(letter: int) -> bool:
    """Whether ``str.strip`` removes the character."""
    return letter == 32 or 9 <= letter <= 13 or 28 <= letter <= 31
