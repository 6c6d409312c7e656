"""Triplet tables from columns."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.schema import SPLITS, TRIPLETS
from hf_vqa_mc.sources.files import PublishedFile

ROWS = 10_000  # maximum number of rows processed together

Texts: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray


@contextlib.contextmanager
def plain_errors(location: str) -> Iterator[None]:
    """Raise InputError with a location for values that are no valid texts or numbers, wherever they are found."""
    try:
        yield
    except (pa.ArrowException, UnicodeError) as error:
        raise InputError(f"{location}: a value has another type than the publisher's ({error})") from error


def triplet_table(
    *,
    question_id: Texts,
    image_id: Texts,
    split: Texts,
    question: Texts,
    target: Texts,
    answers: pa.Array | pa.ChunkedArray | None = None,
    orig_decoys: pa.Array | None = None,
    question_type: Texts | None = None,
    answer_type: Texts | None = None,
    image_file: Texts,
) -> pa.Table:
    """A table ``TRIPLETS``; by default answers are the target, and decoys and types are empty."""
    targets = _array(target)
    blank = pa.repeat(pa.scalar("", pa.string()), len(targets))
    columns = [
        *map(_array, (question_id, image_id, split, question)),
        targets,
        equal_lists(targets, 1) if answers is None else _array(answers),
        lists_of([()] * len(targets), blank[:0]) if orig_decoys is None else orig_decoys,
        *(blank if texts is None else _array(texts) for texts in (question_type, answer_type)),
        _array(image_file),
    ]
    return pa.Table.from_arrays(columns, schema=TRIPLETS)


def _array(values: Texts) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    return values if isinstance(values, pa.Array) else pa.array(values, pa.string())


def equal_lists(values: pa.Array, length: int) -> pa.ListArray:
    """Lists of ``length`` values each, from the concatenated values."""
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(values) + 1, length, dtype=np.int32)), values)


def text_lists(lists: Sequence[Sequence[str]]) -> pa.ListArray:
    """Lists of text as an Arrow array."""
    return pa.array(lists, TRIPLETS.field("orig_decoys").type)


def lists_of(lists: Sequence[Sequence[object]], values: pa.Array) -> pa.ListArray:
    """Lists of the same lengths as the given ones, from the concatenated values."""
    return pa.ListArray.from_arrays(pa.array(np.cumsum([0, *map(len, lists)], dtype=np.int32)), values)


def regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of ``ROWS`` rows; the last may be smaller."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        while sum(part.num_rows for part in waiting) >= ROWS:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, ROWS).combine_chunks()
            waiting = [whole.slice(ROWS)]
    if any(part.num_rows for part in waiting):
        yield pa.concat_tables(waiting).combine_chunks()


def in_split_order(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables: train, validation, test, each in the given order."""
    table = pa.concat_tables(tables)
    return pa.concat_tables([table.filter(pc.equal(table["split"], split)) for split in SPLITS]).combine_chunks()


def read_annotated(
    questions_file: PublishedFile,
    annotations_file: PublishedFile,
    question_columns: Callable[[Records], pa.Table],
    annotation_columns: Callable[[Records], pa.Table],
) -> pa.Table:
    """Questions with their annotations in VQA's file layout: one row per question, in the file's order."""
    both = (questions_file, "questions", question_columns), (annotations_file, "annotations", annotation_columns)
    parts = [[columns(records) for records in read_records(file, key)] for file, key, columns in both]
    questions, annotations = (pa.concat_tables(part).combine_chunks() for part in parts)
    ids, files = (questions["question_id"], annotations["question_id"]), (questions_file, annotations_file)
    locations = files[0].location, files[1].location
    rows = matching_rows(*ids, "question_id", locations, ("questions", "annotations"))
    annotations = annotations.take(rows).combine_chunks()
    for name in set(annotations.column_names).difference(questions.column_names):
        questions = questions.append_column(name, annotations[name])
    return questions


def matching_rows(
    ids: pa.ChunkedArray, other_ids: pa.ChunkedArray, field: str, locations: tuple[str, str], lists: tuple[str, str]
) -> pa.Array:
    """The index of each id among another file's same unique ids; the other arguments are for messages."""
    for some, location, name in zip((ids, other_ids), locations, lists, strict=True):
        counts = pc.value_counts(some)
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        if len(repeated):
            at = np.flatnonzero(pc.equal(some, repeated[0]).to_numpy())
            again = f"{repeated[0]} occurs already in {name}[{at[0]}]"
            raise InputError(f"{location}, {name}[{at[1]}], field {field!r}: {again}")
    rows = pc.index_in(ids, value_set=other_ids)
    missing = ids.filter(pc.is_null(rows))
    if not len(missing) and len(other_ids) > len(ids):
        missing = other_ids.filter(pc.invert(pc.is_in(other_ids, value_set=ids)))
        locations, lists = (locations[1], locations[0]), (lists[1], lists[0])
    if len(missing):
        lost = f"{len(missing):,} of the {lists[0]}, such as {field} {missing[0]}"
        among = f"are not among the {lists[1]} of {locations[1]}"
        raise InputError(f"{locations[0]}: {lost}, {among}; expected the same in both")
    return rows.combine_chunks()
