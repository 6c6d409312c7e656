"""`comparable` of millions of texts: each distinct part between spaces is normalised once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.text.normalisation import comparable, squeezed, words

_BATCH = 1 << 16  # texts whose parts between spaces are held in memory


def comparable_texts(texts: Sequence[str] | pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The comparable text of each text, and whether it has words, see `normalisation.comparable`; no nulls.

    Large_string (texts,), with single spaces between words, and bool (texts,).

    >>> comparable_texts(["The man's 2 T-shirts!", "?!"])[0].to_pylist()
    ['the man two t-shirts', '?!']
    """
    given = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    given = given.cast(pa.large_string())
    folded, has_words = [pa.array([], pa.large_string())], [np.zeros(0, np.bool_)]
    for first in range(0, len(given), _BATCH):
        part = given.slice(first, _BATCH)
        lists = pc.split_pattern(part, " ")
        parts = pc.list_flatten(lists).dictionary_encode()
        forms = pa.array(map(_folded, texts_of(parts.dictionary)), pa.large_string())
        numbers = parts.indices.to_numpy()
        kept = np.asarray(pc.not_equal(forms, ""))[numbers]
        ends = np.append(0, np.cumsum(pc.list_value_length(lists).to_numpy()))
        starts = np.append(0, np.cumsum(kept))[ends]
        words_of = pa.LargeListArray.from_arrays(starts, forms.take(pa.array(numbers[kept])))
        joined = pc.binary_join(words_of, pa.scalar(" ", pa.large_string()))
        has_words.append(np.diff(starts) > 0)
        wordless = pa.array(~has_words[-1])
        slow = pa.array(map(comparable, texts_of(part.filter(wordless))), pa.large_string())
        folded.append(pc.replace_with_mask(joined, wordless, slow))
    return pa.concat_arrays(folded), np.concatenate(has_words)


@lru_cache(maxsize=1 << 16)
def _folded(part: str) -> str:
    """The words of a part of a text, between spaces; most texts consist of few distinct parts."""
    return " ".join(words(part))


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
    """See `normalisation.squeezed`; no nulls.

    >>> squeezed_texts(["Pony tail", "T-shirt", "? -"]).to_pylist()
    ['ponytail', 'tshirt', '?']
    """
    folded, has_words = comparable_texts(texts)
    short = pc.replace_substring_regex(folded, "[ '’-]", "")
    wordless = pa.array(~has_words)
    slow = pa.array([squeezed(text) for text in texts_of(folded.filter(wordless))], pa.large_string())
    return pc.replace_with_mask(short, wordless, slow)


def texts_of(array: pa.Array) -> list[str]:
    """An Arrow array without nulls as a list, several times faster than ``to_pylist``."""
    listed: list[str] = array.to_numpy(zero_copy_only=False).tolist()
    return listed


def lists_of(array: pa.ListArray) -> list[list[str]]:
    """An Arrow array of lists of texts without nulls as lists, several times faster than ``to_pylist``."""
    texts = texts_of(array.flatten())
    ends = np.cumsum(array.value_lengths().to_numpy()).tolist()
    return [texts[start:end] for start, end in pairwise([0, *ends])]
