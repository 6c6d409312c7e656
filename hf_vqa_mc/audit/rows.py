"""The rows of any multiple-choice dataset in numbers: who counts compares no texts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.language.text import comparable, words

NO_BEGINNING = -1
"""Stands where a question has fewer words."""

_COLUMNS = {"question": "text", "choices": "lists of text", "label": "whole numbers"}


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
        for name, rows in ((name, _checked(table, name)) for name, table in splits.items())
    }


def _checked(table: pa.Table, split: str) -> pa.Table:
    for name, expected in _COLUMNS.items():
        if name not in table.column_names:
            raise InputError(f"{split}: no column {name!r}, expected {expected}; columns: {table.column_names}")
        column = table[name]
        if not _holds(column.type, expected):
            raise InputError(f"{split}: column {name!r} holds {column.type}, expected {expected}")
        if column.null_count:
            row = pc.index(pc.is_null(column), True).as_py()
            raise InputError(f"{split}, row {row}: {name} is empty (null), expected {expected}")
    if not table.num_rows:
        raise InputError(f"{split}: no rows at all")
    lengths, labels = pc.list_value_length(table["choices"]).to_numpy(), table["label"].to_numpy()
    for row in np.flatnonzero((labels < 0) | (labels >= lengths))[:1]:
        raise InputError(
            f"{split}, row {row}: label is {labels[row]}, expected one of its {lengths[row]} choices' places"
        )
    texts = pc.list_flatten(table["choices"])
    if texts.null_count:
        row = pc.list_parent_indices(table["choices"])[pc.index(pc.is_null(texts), True).as_py()]
        raise InputError(f"{split}, row {row}: a choice is empty (null), expected text")
    return table.select(list(_COLUMNS)).combine_chunks()


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


def _holds(kind: pa.DataType, expected: str) -> bool:
    if expected == "whole numbers":
        return bool(pa.types.is_integer(kind))
    if expected == "lists of text":
        return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _holds(kind.value_type, "text")
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
