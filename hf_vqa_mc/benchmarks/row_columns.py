"""The columns other than choices and label: question, ids, type, human answers, and choice_kinds of vqa-mc."""

import json
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import (
    ChoiceCells,
    as_array,
    as_lists,
    as_mask,
    as_text,
    is_list,
    is_text,
    unpacked_lists,
)
from hf_vqa_mc.benchmarks.columns import ANSWERS, QUESTION, QUESTION_ID, QUESTION_TYPE, named
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError, shown

KINDS = "choice_kinds"
"""Column of vqa-mc with the kind of each choice."""
TEXTS = pa.list_(pa.string())


def question_column(table: pa.Table, options: BenchmarkOptions, location: str) -> str:
    """The column of questions; raises InputError if there is none, it is not text, or a row is empty."""
    names = [options.question] if options.question else named(table.column_names, QUESTION)
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    if not texts:
        found = f"--question {names[0]} holds {table.schema.field(names[0]).type}" if names else "no question column"
        raise InputError(
            f"{location}: {found}, expected text; columns: {', '.join(map(shown, table.column_names))}; {OPTIONS}"
        )
    column = as_text(table[texts[0]])
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(
            f"{location}, row {row}: {texts[0]} is empty (null), expected a question; fix or leave out such rows "
            f"({column.null_count} of {len(column)})"
        )
    return texts[0]


def id_column(table: pa.Table, options: BenchmarkOptions, location: str) -> str | None:
    """The first column of unique ids, or None; raises InputError if the one named by the user is not unique."""
    for name in [options.question_id] if options.question_id else named(table.column_names, QUESTION_ID):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            found = as_text(table[name])
            if not found.null_count and pc.count_distinct(found).as_py() == len(found):
                return name
        if options.question_id:
            raise InputError(f"{location}: {name} is not an id: expected unique texts or integers, none empty")
    return None


def type_column(table: pa.Table, options: BenchmarkOptions, other: Iterable[str]) -> str | None:
    """The column of question types, or None; ``other`` columns are excluded unless named by the user."""
    names = [name for name in named(table.column_names, QUESTION_TYPE) if name not in other]
    return options.question_type or next((name for name in names if is_text(table.schema.field(name).type)), None)


def human_answers(table: pa.Table) -> pa.Array:
    """(rows,): human answers, from lists of text, lists of records with an answer, or texts with such lists."""
    for name in named(table.column_names, ANSWERS):
        kind = table.schema.field(name).type
        if is_text(kind):
            lists = unpacked_lists(table[name].to_pylist())
            if all(found is not None for found in lists):
                return pa.array([[text for text in found or () if text is not None] for found in lists], TEXTS)
        elif is_list(kind) and is_text(kind.value_type):
            lists = as_array(table[name]).cast(TEXTS)
            texts, lengths = as_lists(lists)
            return ChoiceCells(texts, lengths).choices if lists.null_count or texts.null_count else lists
        elif is_list(kind) and pa.types.is_struct(kind.value_type):
            fields = {field.name: field.type for field in kind.value_type}
            if is_text(fields.get("answer", pa.null())):
                cells = table[name].to_pylist()
                return pa.array(
                    [[one["answer"] for one in cell or () if one and one["answer"]] for cell in cells], TEXTS
                )
    return no_lists(table.num_rows)


def no_lists(rows: int) -> pa.ListArray:
    """(rows,): empty lists of text."""
    return pa.ListArray.from_arrays(pa.array(np.zeros(rows + 1, np.int32)), pa.array([], pa.string()))


def choice_kinds(table: pa.Table, cells: ChoiceCells, labels: NDArray[np.int64]) -> pa.Array:
    """(rows,): names of the column choice_kinds; empty in rows whose kinds do not match their choices."""
    rows = table.num_rows
    lists = _lists_of(table, KINDS)
    if lists is None:
        return no_lists(rows)
    flat, lengths = as_lists(lists)
    if pa.types.is_integer(flat.type):
        names = pa.array(_class_names(table.schema, KINDS))
        flat = names.take(pc.if_else(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, len(names))), flat, None))
    elif not is_text(flat.type):
        return no_lists(rows)
    flat = flat.cast(pa.string())
    if not len(flat):
        return no_lists(rows)
    fits = (lengths == cells.counts) & (cells.counts == cells.lengths)
    fits &= as_mask(pc.equal(flat, TARGET.name))[np.where(fits, np.cumsum(lengths) - lengths + labels, 0)]
    unknown = ~as_mask(pc.is_in(flat, pa.array(list(CHOICE_KINDS))))
    fits &= np.bincount(np.repeat(np.arange(rows), lengths)[unknown], minlength=rows) == 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(np.where(fits, lengths, 0))]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, flat.filter(pa.array(np.repeat(fits, lengths))))


def _lists_of(table: pa.Table, name: str) -> pa.Array | None:
    """A column of lists, or of texts with lists as in CSV files; None for other columns."""
    if name not in table.column_names:
        return None
    kind = table.schema.field(name).type
    if is_text(kind):
        found = unpacked_lists(table[name].to_pylist())
        return None if any(one is None for one in found) else pa.array(found, TEXTS)
    return as_array(table[name]) if is_list(kind) else None


def _class_names(schema: pa.Schema, column: str) -> list[str]:
    """The names of a list of ClassLabel in the metadata of ``datasets``; by default those of CHOICE_KINDS."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature["feature"]
        return [str(name) for name in inner["names"]]
    except (KeyError, ValueError, TypeError, IndexError):
        return list(CHOICE_KINDS)
