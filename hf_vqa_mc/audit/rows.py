"""The rows of any multiple-choice dataset in numbers: who counts compares no texts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.language.text import comparable, words
from hf_vqa_mc.schema import checked_rows

NO_BEGINNING = -1
"""Stands where a question has fewer words."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a split; numbers of texts mean the same in all splits that were numbered together."""

    keys: NDArray[np.int32]
    """(rows, places): the number of each choice's comparable text, the target first, MISSING where there is none"""
    questions: NDArray[np.int32]
    """(rows,): which question is asked, a row of ``beginnings``"""
    beginnings: NDArray[np.int32]
    """(questions, most words): the number of each question's first word, its first two words and so on"""

    def beginning(self, length: int) -> NDArray[np.int32]:
        """The number of each row's first words, int32 (rows,); NO_BEGINNING where there are fewer than ``length``."""
        numbers: NDArray[np.int32] = self.beginnings[self.questions, length - 1]
        return numbers


def number_rows(splits: Mapping[str, pa.Table]) -> dict[str, Rows]:
    """Numbers the texts of a dataset's splits.

    Args:
        splits: split name to rows with the columns ``question`` (text), ``choices`` (lists of text) and ``label`` (the
            place of the correct choice); any others are left alone.

    Raises:
        InputError: a column is missing or of another type, a row has no choices, or its label is not one of them;
            names split, row and column.
    """
    keys: dict[str, int] = {}
    beginnings: dict[tuple[int, str], int] = {}
    return {
        name: Rows(_target_first(rows, keys), *_questions(rows, beginnings))
        for name, rows in ((name, checked_rows(table, name)) for name, table in splits.items())
    }


def _target_first(table: pa.Table, keys: dict[str, int]) -> NDArray[np.int32]:
    flat = pc.list_flatten(table["choices"]).combine_chunks().dictionary_encode()
    key_of = [keys.setdefault(comparable(text), len(keys)) for text in flat.dictionary.to_pylist()]
    lengths = pc.list_value_length(table["choices"]).to_numpy()
    placed = np.full((table.num_rows, int(lengths.max())), MISSING, np.int32)
    placed[np.arange(placed.shape[1]) < lengths[:, None]] = np.array(key_of, np.int32)[flat.indices.to_numpy()]
    everyone, labels = np.arange(len(placed)), table["label"].to_numpy()
    targets = placed[everyone, labels]
    placed[everyone, labels] = placed[:, 0]
    placed[:, 0] = targets
    return placed


def _questions(table: pa.Table, beginnings: dict[tuple[int, str], int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    encoded = table["question"].combine_chunks().dictionary_encode()
    found = []
    for question in encoded.dictionary.to_pylist():
        chain = [NO_BEGINNING]
        for word in words(question):
            chain.append(beginnings.setdefault((chain[-1], word), len(beginnings)))
        found.append(chain[1:])
    padded = np.full((len(found), max(map(len, found))), NO_BEGINNING, np.int32)
    for place, chain in enumerate(found):
        padded[place, : len(chain)] = chain
    return encoded.indices.to_numpy(), padded
