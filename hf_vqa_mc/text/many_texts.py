"""`comparable` of many texts: compiled, in a tenth of the time; in Python for few texts and some others."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.text import comparison
from hf_vqa_mc.text.normalisation import comparable, words

_BATCH = 1 << 16  # texts
_FEW = 10_000  # texts that Python compares before numba is loaded


def comparable_texts(texts: Sequence[str] | pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The comparable text of each text, and whether it has words, see `normalisation.comparable`; no nulls.

    Large_string (texts,), with single spaces between words, and bool (texts,).

    >>> comparable_texts(["The man's 2 T-shirts!", "?!"])[0].to_pylist()
    ['the man two t-shirts', '?!']
    """
    given = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    given = given.cast(pa.large_string())
    parts, slow = [], np.full(len(given), 0 < len(given) <= _FEW)
    for first in range(0, 0 if slow.any() else len(given), _BATCH):
        part = given.slice(first, _BATCH)
        offsets = np.frombuffer(part.buffers()[1], np.int64)[part.offset : part.offset + len(part) + 1]
        buffer = part.buffers()[2]
        data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(1, np.uint8)
        out, ends = np.empty(int(offsets[-1] - offsets[0]), np.uint8), np.zeros(len(part) + 1, np.int64)
        _fold(data, offsets, out, ends, slow[first : first + len(part)])
        letters = out[: ends[-1]].copy()
        parts.append(pa.LargeStringArray.from_buffers(len(part), pa.py_buffer(ends), pa.py_buffer(letters)))
    folded, has_words = pa.concat_arrays(parts) if parts else given, ~slow
    if slow.any():
        as_written = texts_of(given.filter(pa.array(slow)))
        in_python = pa.array([comparable(text) for text in as_written], pa.large_string())
        folded = pc.replace_with_mask(folded, pa.array(slow), in_python)
        has_words[slow] = [bool(words(text)) for text in as_written]
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
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    slow: NDArray[np.bool_],
) -> None:
    """Write the comparable texts to ``out`` and their ends to ``ends``; mark those that are left to Python."""
    filled = 0
    for text in range(len(offsets) - 1):
        end = _write_words(data, offsets[text], offsets[text + 1], out, filled)
        slow[text] = end <= filled
        filled = max(end, filled)
        ends[text + 1] = filled


@njit(cache=True)
def _write_words(data: NDArray[np.uint8], start: int, end: int, out: NDArray[np.uint8], filled: int) -> int:
    """Write the words in lower case, without possessive 's, with single spaces between them; return the end.

    A word includes single hyphens and apostrophes between letters or digits. -1 for texts that are left to Python: not
    ASCII, or with an integer from 0 to 10, which is written as a word.
    """
    before, i = filled, start
    while i < end:
        if data[i] >= 128:
            return -1
        if not _is_alnum(data[i]):
            i += 1
            continue
        first = i
        while i < end and (_is_alnum(data[i]) or (data[i] in (39, 45) and i + 1 < end and _is_alnum(data[i + 1]))):
            i += 1
        last = i
        if last - first > 2 and data[last - 2] == 39 and data[last - 1] in (83, 115):
            last -= 2
        is_ten = last - first == 2 and data[first] == 49 and data[first + 1] == 48
        if is_ten or (last - first == 1 and data[first] < 58):
            return -1
        if filled > before:
            out[filled] = 32
            filled += 1
        for k in range(first, last):
            out[filled] = data[k] + 32 if 65 <= data[k] <= 90 else data[k]
            filled += 1
    return filled


@njit(cache=True)
def _is_alnum(letter: int) -> bool:
    return 48 <= letter <= 57 or 65 <= letter <= 90 or 97 <= letter <= 122
