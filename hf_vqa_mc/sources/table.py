"""Columns put together to triplet tables."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import SPLITS, TRIPLETS

Texts: TypeAlias = Sequence[str] | pa.Array


def triplet_table(
    *,
    question_id: Texts,
    image_id: Texts,
    split: Texts,
    question: Texts,
    target: Texts,
    answers: pa.Array | None = None,
    orig_decoys: pa.Array | None = None,
    question_type: Texts | None = None,
    answer_type: Texts | None = None,
    image_file: Texts,
) -> pa.Table:
    """A table ``TRIPLETS``; where nothing is given, answers are the target, decoys are none and types are empty."""
    targets = _text_array(target)
    rows = len(targets)
    columns = {
        "question_id": _text_array(question_id),
        "image_id": _text_array(image_id),
        "split": _text_array(split),
        "question": _text_array(question),
        "target": targets,
        "answers": equal_lists(targets, 1) if answers is None else answers,
        "orig_decoys": _no_lists(rows) if orig_decoys is None else orig_decoys,
        "question_type": _blank(rows) if question_type is None else _text_array(question_type),
        "answer_type": _blank(rows) if answer_type is None else _text_array(answer_type),
        "image_file": _text_array(image_file),
    }
    return pa.Table.from_arrays([columns[name] for name in TRIPLETS.names], schema=TRIPLETS)


def equal_lists(values: pa.Array, length: int) -> pa.ListArray:
    """Lists of so many values each, from the values one after the other."""
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(values) + 1, length, dtype=np.int32)), values)


def text_lists(lists: Sequence[Sequence[str]]) -> pa.ListArray:
    """Lists of text as an Arrow column."""
    return pa.array(lists, TRIPLETS.field("orig_decoys").type)


def lists_of(lists: Sequence[Sequence[object]], values: pa.Array) -> pa.ListArray:
    """Lists as long as the given ones, of the values one list after the other."""
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), values)


def in_split_order(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables: train, then validation, then test, each in the order given."""
    table = pa.concat_tables(tables)
    return pa.concat_tables([table.filter(pc.equal(table["split"], split)) for split in SPLITS]).combine_chunks()


def matching_rows(
    ids: pa.ChunkedArray,
    other_ids: pa.ChunkedArray,
    *,
    field: str,
    places: tuple[str, str],
    lists: tuple[str, str] = ("records", "records"),
) -> pa.Array:
    """For each id its position among the others; both must hold the same ids, each once.

    Args:
        ids: of one file's records, in order.
        other_ids: of another file's records.
        field: the name of the ids, for messages.
        places: the two files, for messages.
        lists: what their records are called, for messages.

    Raises:
        InputError: naming an id that is there twice or in one file only.
    """
    for some, place, name in zip((ids, other_ids), places, lists, strict=True):
        _check_unique(some, field, f"{place}, {name}")
    rows = pc.index_in(ids, value_set=other_ids)
    missing = ids.filter(pc.is_null(rows))
    if not len(missing) and len(other_ids) > len(ids):
        missing = other_ids.filter(pc.invert(pc.is_in(other_ids, value_set=ids)))
        places, lists = (places[1], places[0]), (lists[1], lists[0])
    if len(missing):
        raise InputError(
            f"{places[0]}: {len(missing):,} of the {lists[0]}, such as {field} {missing[0]}, are not among the "
            f"{lists[1]} of {places[1]}; expected the same in both"
        )
    return rows.combine_chunks()


def _check_unique(ids: pa.ChunkedArray, field: str, place: str) -> None:
    counts = pc.value_counts(ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        at = np.flatnonzero(pc.equal(ids, repeated[0]).to_numpy())
        raise InputError(f"{place}[{at[1]}], field {field!r}: {repeated[0]} occurs already in record {at[0]}")


def _text_array(texts: Texts) -> pa.Array:
    return texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())


def _blank(rows: int) -> pa.Array:
    return pa.repeat(pa.scalar("", pa.string()), rows)


def _no_lists(rows: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.zeros(rows + 1, dtype=np.int32)), pa.array([], pa.string()))
