"""A benchmark as rows of one kind, whoever made it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks.benchmark import ROWS, Benchmark, Progress, Split
from hf_vqa_mc.benchmarks.columns import (
    ANSWERS,
    OPTIONS,
    QUESTION,
    QUESTION_ID,
    QUESTION_TYPE,
    Columns,
    is_list,
    is_text,
    named,
)
from hf_vqa_mc.benchmarks.detection import find_layout
from hf_vqa_mc.benchmarks.layouts import HiddenLabels, Layout
from hf_vqa_mc.benchmarks.offered import Offered, as_text
from hf_vqa_mc.benchmarks.opening import Opened, open_tables
from hf_vqa_mc.benchmarks.row_images import Pictures, find_pictures
from hf_vqa_mc.benchmarks.spelled_lists import unpacked_lists
from hf_vqa_mc.builder.loading import chosen_split
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.schema import CHOICE_KINDS


def read_benchmark(
    dataset: str,
    config: str | None = None,
    *,
    split: str | None = None,
    columns: Columns = Columns(),  # noqa: B008  it is frozen
    images: Path | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Benchmark:
    """Reads the splits of a multiple-choice benchmark in whichever of the usual layouts it is.

    Args:
        dataset: a .parquet, .jsonl, .json, .csv or .tsv file, plain or .gz, a folder, or a name on the Hub.
        config: needed where there are several with questions.
        split: the one that is audited; by default test, else validation, else the only one, those with hidden labels
            left out.
        columns: those that the user names; the others are recognised by their names and content.
        images: a folder with the image files, where the rows hold only names of them.
        progress: told (step, done, total).

    Returns:
        Every split that says which choices are right; of the others, why they are left out. Rows that offer no choices
        at all (open questions among multiple-choice ones) are left out and told too.

    Raises:
        InputError: there is no such dataset, config, split or column, no layout fits all rows of the asked split, or
            several contradict each other; names place, row, column and remedy.
        ConnectionError: it lies on the Hub, which cannot be reached.
    """
    if images is not None and not images.is_dir():
        raise InputError(f"--images {images}: no such folder")
    progress("opening", 0, 1)
    opened = open_tables(dataset, config)
    left_out = dict(opened.left_out)
    tables = {name: table for name, table in opened.tables.items() if table.num_rows}
    left_out.update({name: "it has no rows" for name in opened.tables if name not in tables})
    if not tables:
        raise InputError(f"{dataset}: no rows at all")
    progress("opening", 1, 1)
    asked, layout = _asked(dataset, opened, tables, split, columns, left_out)
    pictures = find_pictures(dataset, opened, columns, images, lambda done, total: progress("images", done, total))
    splits: dict[str, Split] = {}
    for done, (name, table) in enumerate(tables.items()):
        progress("reading", done, len(tables))
        try:
            if name not in left_out:
                splits[name] = _split(name, table, opened.places[name], layout, columns, pictures.get(name), left_out)
        except InputError as error:
            if name == asked:
                raise
            left_out[name] = str(error)
    progress("reading", len(tables), len(tables))
    return Benchmark(dataset, opened.config, asked, splits, layout, left_out)


def _asked(
    dataset: str,
    opened: Opened,
    tables: Mapping[str, pa.Table],
    split: str | None,
    columns: Columns,
    left_out: dict[str, str],
) -> tuple[str, Layout]:
    """The split that is audited, and the layout; a usual split with hidden labels gives way to the next."""
    there = dict(tables)
    while True:
        if split is not None and split in opened.tables and split not in tables:
            raise InputError(f"{opened.places[split]}: no rows at all")
        asked = chosen_split(list(there), split, dataset)
        columns.check(tables[asked].column_names, opened.places[asked])
        try:
            return asked, find_layout(there, asked, columns, opened.places[asked])
        except HiddenLabels as error:
            if split is not None or len(there) == 1:
                remedy = "name another split with --split" if len(tables) > 1 else "without labels nothing can be told"
                raise InputError(f"{error}; {remedy}") from error
            left_out[asked] = str(error)
            del there[asked]


def _split(
    name: str,
    table: pa.Table,
    place: str,
    layout: Layout,
    columns: Columns,
    pictures: Pictures | None,
    left_out: dict[str, str],
) -> Split:
    """One split, read."""
    missing = [column for column in layout.columns if column not in table.column_names]
    if missing:
        raise InputError(f"{place}: no column {missing[0]!r}, which the other splits have")
    try:
        offered = layout.offered(table, place)
        rows = np.flatnonzero(offered.counts > (0 if layout.placed else 1))
        if 0 < len(rows) < table.num_rows:
            left_out[f"{name} (rows without choices)"] = f"{table.num_rows - len(rows)} of {table.num_rows} rows"
            table, pictures = table.take(pa.array(rows)), pictures and pictures.take(rows)
            offered = layout.offered(table, place)
        labels = layout.labels(table, offered, place)
        _check_counts(offered, place)
        found = {
            "question_id": _ids(table, columns, place),
            "image_id": pictures.ids if pictures else pa.repeat("", table.num_rows).cast(pa.string()),
            "question": _question(table, columns, place),
            "choices": offered.choices,
            "label": pa.array(labels),
            "question_type": _question_type(table, columns, layout),
            "answers": _answers(table),
            "choice_kinds": _kinds(table, offered, labels),
        }
        for column, values in found.items():
            try:
                values.validate(full=True)
            except pa.ArrowInvalid as error:
                raise InputError(f"{place}: {column} is no UTF-8 text ({error}); write the file again") from error
        return Split(
            name, place, pa.table(found, schema=ROWS), table, pictures if pictures and pictures.source else None,
            layout.placed,
        )  # fmt: skip
    except pa.ArrowInvalid as error:
        raise InputError(f"{place}: {str(error).strip()[:300]}") from error


def _check_counts(offered: Offered, place: str) -> None:
    few = np.flatnonzero(offered.counts < 2)  # choices
    for row in few[:1]:
        raise InputError(
            f"{place}, row {row}: {offered.counts[row]} choice(s), expected two or more; leave out such rows "
            f"({len(few)} of {len(offered.counts)})"
        )


def _question(table: pa.Table, columns: Columns, place: str) -> pa.Array:
    names = [columns.question] if columns.question else named(table.column_names, QUESTION)
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    if not texts:
        held = (
            f"--question {names[0]} holds {table.schema.field(names[0]).type}" if names else "no column of questions"
        )
        raise InputError(
            f"{place}: {held}, expected text; columns: {', '.join(map(shown, table.column_names))}; {OPTIONS}"
        )
    column = as_text(table[texts[0]])
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(
            f"{place}, row {row}: {texts[0]} is empty (null), expected a question; mend or leave out such rows "
            f"({column.null_count} of {len(column)})"
        )
    return column


def _ids(table: pa.Table, columns: Columns, place: str) -> pa.Array:
    """Unique texts: the first column of ids that is one, else the rows' numbers."""
    for name in [columns.question_id] if columns.question_id else named(table.column_names, QUESTION_ID):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            found = as_text(table[name])
            if not found.null_count and pc.count_distinct(found).as_py() == len(found):
                return found
        if columns.question_id:
            raise InputError(f"{place}: {name} is no id: expected text or whole numbers, each once and none empty")
    return pa.array(np.arange(table.num_rows)).cast(pa.string())


def _question_type(table: pa.Table, columns: Columns, layout: Layout) -> pa.Array:
    names = [columns.question_type] if columns.question_type else named(table.column_names, QUESTION_TYPE)
    for name in names:
        if (columns.question_type or name not in layout.columns) and is_text(table.schema.field(name).type):
            return pc.fill_null(as_text(table[name]), "")
    if columns.question_type:
        return pc.fill_null(as_text(table[columns.question_type]), "")
    return pa.repeat("", table.num_rows).cast(pa.string())


def _answers(table: pa.Table) -> pa.Array:
    """The human answers: lists of text, of records with an answer, or texts that spell a list."""
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


def _kinds(table: pa.Table, offered: Offered, labels: Any) -> pa.Array:  # noqa: ANN401  int64 (rows,)
    """Our own column choice_kinds by name; a row whose kinds do not fit its choices has none."""
    rows = table.num_rows
    name = "choice_kinds"
    if name not in table.column_names or not is_list(table.schema.field(name).type):
        return _no_lists(rows)
    lists = table[name].combine_chunks()
    lists = pa.concat_arrays(lists.chunks) if isinstance(lists, pa.ChunkedArray) else lists
    flat = pc.list_flatten(lists)
    known = pa.array(_class_names(table.schema, name))
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
        targets = pc.fill_null(pc.equal(flat, CHOICE_KINDS[0]), False).to_numpy(zero_copy_only=False)
        fits &= targets[cells]
        known_kinds = pc.is_in(flat, pa.array(CHOICE_KINDS)).to_numpy(zero_copy_only=False)
        unknown = np.bincount(np.repeat(np.arange(rows), lengths)[~known_kinds], minlength=rows)
        fits &= unknown == 0
    else:
        fits &= False
    kept = np.where(fits, lengths, 0)
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, flat.filter(pa.array(np.repeat(fits, lengths))))


def _class_names(schema: pa.Schema, column: str) -> list[str]:
    """The names of a list of ClassLabel, as datasets stores them beside the rows; else those of our kinds."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature["feature"]
        return [str(name) for name in inner["names"]]
    except (KeyError, ValueError, TypeError, IndexError):
        return list(CHOICE_KINDS)
