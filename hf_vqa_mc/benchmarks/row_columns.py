"""What a row says beside its choices: the question, its id and type, human answers, and our own choice_kinds."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.columns import (
    ANSWERS,
    QUESTION,
    QUESTION_ID,
    QUESTION_TYPE,
    is_list,
    is_text,
    named,
)
from hf_vqa_mc.benchmarks.layouts import Layout
from hf_vqa_mc.benchmarks.offered import Offered, as_text
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.benchmarks.spelled_lists import unpacked_lists
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError, shown

KINDS = "choice_kinds"
"""Our own column with the kind of each choice."""


def question_column(table: pa.Table, columns: BenchmarkOptions, place: str) -> str:
    """The column of questions.

    Raises:
        InputError: there is none, or the one that the user names holds no text.
    """
    names = [columns.question] if columns.question else named(table.column_names, QUESTION)
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    if not texts:
        held = (
            f"--question {names[0]} holds {table.schema.field(names[0]).type}" if names else "no column of questions"
        )
        raise InputError(
            f"{place}: {held}, expected text; columns: {', '.join(map(shown, table.column_names))}; {OPTIONS}"
        )
    return texts[0]


def questions(table: pa.Table, columns: BenchmarkOptions, place: str) -> pa.Array:
    """(rows,): the questions.

    Raises:
        InputError: there is no such column, or a row has none.
    """
    name = question_column(table, columns, place)
    column = as_text(table[name])
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(
            f"{place}, row {row}: {name} is empty (null), expected a question; mend or leave out such rows "
            f"({column.null_count} of {len(column)})"
        )
    return column


def id_column(table: pa.Table, columns: BenchmarkOptions, place: str) -> str | None:
    """The first column of ids in which each is there once; None if there is none.

    Raises:
        InputError: the one that the user names is none.
    """
    for name in [columns.question_id] if columns.question_id else named(table.column_names, QUESTION_ID):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            found = as_text(table[name])
            if not found.null_count and pc.count_distinct(found).as_py() == len(found):
                return name
        if columns.question_id:
            raise InputError(f"{place}: {name} is no id: expected text or whole numbers, each once and none empty")
    return None


def question_ids(table: pa.Table, columns: BenchmarkOptions, place: str) -> pa.Array:
    """(rows,): unique texts: the column of ids, else the rows' numbers."""
    name = id_column(table, columns, place)
    return pa.array(np.arange(table.num_rows)).cast(pa.string()) if name is None else as_text(table[name])


def type_column(table: pa.Table, columns: BenchmarkOptions, layout: Layout) -> str | None:
    """The column of question types, None if there is none."""
    if columns.question_type is not None:
        return columns.question_type
    names = named(table.column_names, QUESTION_TYPE)
    texts = (name for name in names if name not in layout.columns and is_text(table.schema.field(name).type))
    return next(texts, None)


def question_types(table: pa.Table, columns: BenchmarkOptions, layout: Layout) -> pa.Array:
    """(rows,): the questions' types, "" where there are none."""
    name = type_column(table, columns, layout)
    if name is None:
        return pa.repeat("", table.num_rows).cast(pa.string())
    return pc.fill_null(as_text(table[name]), "")


def human_answers(table: pa.Table) -> pa.Array:
    """(rows,): the human answers: lists of text, of records with an answer, or texts that spell a list."""
    for name in named(table.column_names, ANSWERS):
        kind = table.schema.field(name).type
        if is_text(kind):
            lists = unpacked_lists(table[name].to_pylist())
            if all(found is not None for found in lists):
                return pa.array([[text for text in found or () if text is not None] for found in lists], _TEXTS)
        elif is_list(kind) and is_text(kind.value_type):
            column = table[name].combine_chunks()
            column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
            return _without_nulls(column.cast(_TEXTS))
        elif is_list(kind) and pa.types.is_struct(kind.value_type):
            if "answer" in [field.name for field in kind.value_type] and is_text(kind.value_type.field("answer").type):
                cells = table[name].to_pylist()
                return pa.array(
                    [[one["answer"] for one in cell or () if one and one["answer"]] for cell in cells], _TEXTS
                )
    return _no_lists(table.num_rows)


_TEXTS = pa.list_(pa.string())


def _no_lists(rows: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.zeros(rows + 1, np.int32)), pa.array([], pa.string()))


def _without_nulls(lists: pa.ListArray) -> pa.ListArray:
    """The lists without null entries; a null list is empty."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return Offered(pc.list_flatten(lists), lengths).choices if lists.null_count or _has_nulls(lists) else lists


def _has_nulls(lists: pa.ListArray) -> bool:
    return bool(pc.list_flatten(lists).null_count)


def choice_kinds(table: pa.Table, offered: Offered, labels: NDArray[np.int64]) -> pa.Array:
    """(rows,): our own column choice_kinds by name; a row whose kinds do not fit its choices has none."""
    rows = table.num_rows
    lists = _lists_of(table, KINDS)
    if lists is None:
        return _no_lists(rows)
    flat = pc.list_flatten(lists)
    known = pa.array(_class_names(table.schema, KINDS))
    if pa.types.is_integer(flat.type):
        flat = known.take(pc.if_else(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, len(known))), flat, None))
    elif not is_text(flat.type):
        return _no_lists(rows)
    flat = flat.cast(pa.string())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    fits = (lengths == offered.counts) & (offered.counts == offered.lengths)
    cells = np.where(fits, starts + labels, 0)
    if len(flat):
        targets = pc.fill_null(pc.equal(flat, TARGET.name), False).to_numpy(zero_copy_only=False)
        fits &= targets[cells]
        known_kinds = pc.is_in(flat, pa.array(list(CHOICE_KINDS))).to_numpy(zero_copy_only=False)
        unknown = np.bincount(np.repeat(np.arange(rows), lengths)[~known_kinds], minlength=rows)
        fits &= unknown == 0
    else:
        fits &= False
    kept = np.where(fits, lengths, 0)
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, flat.filter(pa.array(np.repeat(fits, lengths))))


def _lists_of(table: pa.Table, name: str) -> pa.ListArray | None:
    """A column of lists, or of texts that spell them as csv files do; None if it is none."""
    if name not in table.column_names:
        return None
    kind = table.schema.field(name).type
    if is_text(kind):
        found = unpacked_lists(table[name].to_pylist())
        return None if any(one is None for one in found) else pa.array(found, _TEXTS)
    if not is_list(kind):
        return None
    lists = table[name].combine_chunks()
    return pa.concat_arrays(lists.chunks) if isinstance(lists, pa.ChunkedArray) else lists


def _class_names(schema: pa.Schema, column: str) -> list[str]:
    """The names of a list of ClassLabel, as datasets stores them beside the rows; else those of our kinds."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature["feature"]
        return [str(name) for name in inner["names"]]
    except (KeyError, ValueError, TypeError, IndexError):
        return list(CHOICE_KINDS)
