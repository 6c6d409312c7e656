"""The tables that packages exchange: triplets and multiple-choice rows."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError

SPLITS = ("train", "validation", "test")


TRIPLETS = pa.schema(
    [
        ("question_id", pa.string()),  # unique in the dataset
        ("image_id", pa.string()),
        ("split", pa.string()),  # one of SPLITS
        ("question", pa.string()),
        ("target", pa.string()),  # as published
        ("answers", pa.list_(pa.string())),  # all human answers, else [target]
        ("orig_decoys", pa.list_(pa.string())),  # as published; empty where the source has none
        ("question_type", pa.string()),
        ("answer_type", pa.string()),
        ("image_file", pa.string()),  # the publisher's file name of the image, "" if unknown
    ]
)

RELEASED_DECOYS = pa.schema([("iou_decoys", pa.list_(pa.string())), ("qou_decoys", pa.list_(pa.string()))])
"""Additional columns of a triplet table with the authors' released decoys."""


def check_triplets(triplets: pa.Table, location: str) -> pa.Table:
    """Return the table if it is a valid triplet table: the schema, known splits, no empty text, unique question_ids.

    Args:
        triplets: a table with the columns of ``TRIPLETS`` and, optionally, of ``RELEASED_DECOYS``.
        location: the table's origin, for messages.

    Raises:
        InputError: names the location, the record, the field and what was expected.
    """
    expected = list(TRIPLETS) + [field for field in RELEASED_DECOYS if field.name in triplets.column_names]
    if list(triplets.schema) != expected:
        raise InputError(f"{location}: columns {triplets.schema.names} do not match {[f.name for f in expected]}")
    if not triplets.num_rows:
        raise InputError(f"{location}: no questions")
    ids, image_ids, splits, questions, targets = (
        triplets[name].to_pylist() for name in ("question_id", "image_id", "split", "question", "target")
    )

    def wrong(values: list[Any], is_valid: Callable[[Any], Any], problem: str) -> None:
        if not all(map(is_valid, values)):
            at = next(at for at, value in enumerate(values) if not is_valid(value))
            raise InputError(f"{location}, record {at + 1} (question_id {ids[at]!r}): {problem.format(values[at])}")

    wrong(ids, bool, "question_id and image_id must not be empty")
    wrong(image_ids, bool, "question_id and image_id must not be empty")
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        at = next(at for at, one in enumerate(ids) if first.setdefault(one, at) != at)
        raise InputError(
            f"{location}, record {at + 1} (question_id {ids[at]!r}): question_id occurs already in record "
            f"{first[ids[at]] + 1}; it must be unique"
        )
    wrong(splits, SPLITS.__contains__, f"split is {{!r}}, expected one of {', '.join(SPLITS)}")
    wrong(questions, lambda text: text and not text.isspace(), "question is empty")
    wrong(targets, lambda text: text and not text.isspace(), "target is empty")
    return triplets


MULTIPLE_CHOICE = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),  # shuffled, as published
        ("label", pa.int64()),  # index of the target in choices
        ("choice_kinds", pa.list_(pa.int64())),  # indices of decoys.CHOICE_KINDS
        ("choice_fallback", pa.list_(pa.bool_())),  # whether it replaces a decoy of its kind that could not be found
        ("answers", pa.list_(pa.string())),
        ("question_type", pa.string()),
        ("answer_type", pa.string()),
        ("set_id", pa.string()),  # of the row's closed answer set, "" in other configs
        ("set_kind", pa.string()),  # one of decoys.kind.SET_KINDS, "" in other configs
        ("set_leak", pa.float32()),  # what the question reveals, 0 if exactly nothing, null if not estimated
    ]
)
"""The columns of every ``<source>_<variant>`` config; ``dataset.features`` has them for ``datasets``."""

QUESTIONS = {"question": "text", "choices": "lists of text", "label": "whole numbers"}
"""Content type of the columns that multiple-choice questions must have."""


def checked_rows(table: pa.Table, location: str, columns: Mapping[str, str] = QUESTIONS) -> pa.Table:
    """The columns of a split after validation as multiple-choice questions.

    Args:
        table: a split, possibly with other columns.
        location: of the split, for messages.
        columns: column to what it holds: text, whole numbers, text or whole numbers, lists of text, lists of whole
            numbers; with ``choices`` and ``label`` among them.

    Raises:
        InputError: a column is missing, of another type or has nulls, a row has no choices, or its label is not one of
            them; names location, row and column.
    """
    table = checked_columns(table, location, columns)
    lengths, labels = pc.list_value_length(table["choices"]).to_numpy(), table["label"].to_numpy()
    for row in np.flatnonzero((labels < 0) | (labels >= lengths))[:1]:
        raise InputError(
            f"{location}, row {row + 1}: label is {labels[row]}, expected an index of its {lengths[row]} choices"
        )
    texts = pc.list_flatten(table["choices"])
    if texts.null_count:
        row = pc.list_parent_indices(table["choices"])[pc.index(pc.is_null(texts), True).as_py()]
        raise InputError(f"{location}, row {row + 1}: a choice is empty (null), expected text")
    return table


def checked_columns(table: pa.Table, location: str, columns: Mapping[str, str]) -> pa.Table:
    """The columns of a split if they are complete; arguments and errors are those of `checked_rows`."""
    for name, expected in columns.items():
        if name not in table.column_names:
            raise InputError(f"{location}: no column {name!r}, expected {expected}; columns: {table.column_names}")
        column = table[name]
        if not _holds(column.type, expected):
            raise InputError(f"{location}: column {name!r} holds {column.type}, expected {expected}")
        if column.null_count:
            row = pc.index(pc.is_null(column), True).as_py()
            raise InputError(f"{location}, row {row + 1}: {name} is empty (null), expected {expected}")
    if not table.num_rows:
        raise InputError(f"{location}: no rows")
    return table.select(list(columns)).combine_chunks()


def _holds(kind: pa.DataType, expected: str) -> bool:
    if expected.startswith("lists of "):
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        return bool(is_list) and _holds(kind.value_type, expected.removeprefix("lists of "))
    is_text = kind in (pa.string(), pa.large_string())
    return ("text" in expected and is_text) or ("whole numbers" in expected and pa.types.is_integer(kind))
