"""The rows of any multiple-choice dataset in numbers: who counts compares no texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.schema import checked_rows
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of

NO_BEGINNING = -1
"""Stands where a question has fewer words."""
MOST_WORDS = 40
"""Of a question's beginnings, so that one endless question does not make all others long."""


class Worded(NamedTuple):
    """The words of the comparable texts and, after them, of the questions."""

    tokens: NDArray[np.int32]
    """the word numbers of all texts, one after the other"""
    starts: NDArray[np.int64]
    """(keys + questions + 1,): where each text's begin"""
    words: pa.Array
    """large_string"""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All different texts of the splits that were numbered together; a text's number is its place."""

    choices: list[str]
    """as written"""
    keys: NDArray[np.int32]
    """(choices,): the number of the comparable text, the same for choices that count as the same text"""
    key_texts: list[str]
    """(keys,): the comparable texts"""
    questions: list[str]
    """as written"""

    @cached_property
    def worded(self) -> Worded:
        """Every comparable text and every question in words."""
        keys = pa.array(self.key_texts, pa.large_string())
        questions, has_words = comparable_texts(self.questions)
        texts = pa.concat_arrays([keys, questions])
        return Worded(*numbered_words(texts, np.concatenate([comparable_texts(keys)[1], has_words])))

    @cached_property
    def beginnings(self) -> NDArray[np.int32]:
        """(questions, most words): the number of each question's first word, its first two words and so on.

        NO_BEGINNING where a question has fewer words, and after its first MOST_WORDS.
        """
        numbers, starts = self.worded.tokens, self.worded.starts[len(self.key_texts) :]
        lengths = np.minimum(np.diff(starts), MOST_WORDS)
        padded = np.full((len(lengths), max(int(lengths.max()), 1)), NO_BEGINNING, np.int32)
        so_far, n_found = np.zeros(len(lengths), np.int64), 0
        for place in range(int(lengths.max())):
            longer = np.flatnonzero(lengths > place)
            pairs = so_far[longer] * (len(numbers) + 1) + numbers[starts[longer] + place]
            different, found = np.unique(pairs, return_inverse=True)
            padded[longer, place] = found + n_found
            so_far[longer] = found
            n_found += len(different)
        return padded


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a split, the target first; who uses them must not take anything from that place."""

    texts: NDArray[np.int32]
    """(rows, places): the number of each choice in ``vocabulary.choices``, MISSING where there is none"""
    places: NDArray[np.int32]
    """(rows, places): where each choice stands in the dataset's own order, MISSING where there is none"""
    questions: NDArray[np.int32]
    """(rows,): the number of each question in ``vocabulary.questions``"""
    vocabulary: Vocabulary
    """of all splits that were numbered together"""

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.questions)

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """(rows, places): whether there is a choice."""
        there: NDArray[np.bool_] = self.texts != MISSING
        return there

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """(rows, places): the number of each choice's comparable text, MISSING where there is none."""
        return np.where(self.there, self.vocabulary.keys[self.texts], MISSING).astype(np.int32)

    @cached_property
    def chance(self) -> NDArray[np.float64]:
        """(rows,): how often who picks at random picks the target."""
        chance: NDArray[np.float64] = 1.0 / self.there.sum(axis=1)
        return chance

    def beginning(self, length: int) -> NDArray[np.int32]:
        """The number of each row's first words, int32 (rows,); NO_BEGINNING where there are fewer than ``length``."""
        numbers: NDArray[np.int32] = self.vocabulary.beginnings[self.questions, length - 1]
        return numbers

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Rows":
        """Some of the rows, with the same vocabulary."""
        return Rows(self.texts[rows], self.places[rows], self.questions[rows], self.vocabulary)


def number_rows(splits: Mapping[str, pa.Table]) -> dict[str, Rows]:
    """Numbers the texts of a dataset's splits.

    Args:
        splits: split name to rows with the columns ``question`` (text), ``choices`` (lists of text) and ``label`` (the
            place of the correct choice); any others are left alone.

    Raises:
        InputError: a column is missing or of another type, a row has no choices, or its label is not one of them;
            names split, row and column.
    """
    tables = {name: checked_rows(table, name) for name, table in splits.items()}
    choices, of_choices = _numbers([pc.list_flatten(table["choices"]) for table in tables.values()])
    questions, of_questions = _numbers([table["question"] for table in tables.values()])
    comparable = comparable_texts(choices)[0].dictionary_encode()
    vocabulary = Vocabulary(
        texts_of(choices), comparable.indices.to_numpy(), texts_of(comparable.dictionary), texts_of(questions)
    )
    return {
        name: Rows(*_target_first(table, flat), asked, vocabulary)
        for (name, table), flat, asked in zip(tables.items(), of_choices, of_questions, strict=True)
    }


def _target_first(table: pa.Table, flat: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Text numbers and places of the choices."""
    lengths = pc.list_value_length(table["choices"]).to_numpy()
    there = np.arange(int(lengths.max())) < lengths[:, None]
    texts = np.full(there.shape, MISSING, np.int32)
    texts[there] = flat
    places = np.where(there, np.arange(there.shape[1]), MISSING).astype(np.int32)
    everyone, labels = np.arange(len(there)), table["label"].to_numpy()
    for array in (texts, places):
        targets = array[everyone, labels]
        array[everyone, labels] = array[:, 0]
        array[:, 0] = targets
    return texts, places


def _numbers(columns: list[pa.ChunkedArray]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """The different texts of several columns, and each column as their numbers."""
    parts = [column.cast(pa.large_string()).combine_chunks() for column in columns]
    encoded = pa.concat_arrays(parts).dictionary_encode()
    ends = np.cumsum([len(part) for part in parts])
    return encoded.dictionary, np.split(encoded.indices.to_numpy(), ends[:-1])
