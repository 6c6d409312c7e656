"""Read a benchmark as rows with one schema."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.benchmark import ROWS, Benchmark, Split
from hf_vqa_mc.benchmarks.cells import as_text
from hf_vqa_mc.benchmarks.columns import (
    choice_kinds,
    columns_in_words,
    human_answers,
    question_column,
    question_ids,
    type_column,
)
from hf_vqa_mc.benchmarks.faulty_rows import FaultyRows
from hf_vqa_mc.benchmarks.files import reason
from hf_vqa_mc.benchmarks.layouts import find_layout
from hf_vqa_mc.benchmarks.layouts.layout import HiddenLabels, Layout
from hf_vqa_mc.benchmarks.opening import Opened, check_text, open_tables
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.benchmarks.row_images import Pictures, find_pictures
from hf_vqa_mc.dataset.allowed_images import allowed_images
from hf_vqa_mc.dataset.loading import at_revision, chosen_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import verb

MOST_FAULTY = 0.5
"""If more rows of a split cannot be read, its columns were not understood."""


class Faulty(NamedTuple):
    """A row that cannot be read."""

    fault: str
    """see `FaultyRows`"""
    split: str
    row: int
    cell: str | None
    """the faulty cell as text; None for an empty one"""


@verb(BenchmarkOptions)
def read_benchmark(options: BenchmarkOptions, progress: Progress) -> Benchmark:
    """Read a benchmark.

    Returns:
        All splits with known labels, and why others are left out. Rows without choices (open questions among
        multiple-choice ones) are left out and counted.

    Raises:
        InputError: there is no such dataset, config, split or column, no layout fits all rows of the evaluated split,
            or several are contradictory; names location, row, column and remedy.
        ConnectionError: the Hub cannot be reached.
    """
    progress("opening", 0, 1)
    return read_opened(open_tables(options.dataset, options.config), options, progress)


def read_readable(opened: Opened, options: BenchmarkOptions, progress: Progress) -> tuple[Benchmark, list[Faulty]]:
    """Read a benchmark again without the rows that cannot be read, until all can be.

    Raises:
        InputError: it is no benchmark, or most rows of a split cannot be read.
    """
    whole, opened = opened.tables, replace(opened, tables=dict(opened.tables))
    rows = {name: np.arange(table.num_rows) for name, table in whole.items()}
    faulty: list[Faulty] = []
    while True:
        try:
            return read_opened(opened, options, progress, rows), faulty
        except FaultyRows as error:
            name, table = error.split, opened.tables[error.split]
            kept = np.ones(table.num_rows, bool)
            kept[error.rows] = False
            if kept.sum() < (1 - MOST_FAULTY) * whole[name].num_rows:
                raise InputError(f"{error.message}; most rows of this split cannot be read") from None
            cells = table[error.column].take(pa.array(error.rows)).to_pylist() if error.column else [None] * sum(~kept)
            texts = (None if cell is None else str(cell) for cell in cells)
            of_rows = zip(rows[name][error.rows].tolist(), texts, strict=True)
            faulty += [Faulty(error.fault, name, *of_row) for of_row in of_rows]
            opened.tables[name], rows[name] = table.filter(pa.array(kept)), rows[name][kept]


def read_opened(
    opened: Opened,
    options: BenchmarkOptions,
    progress: Progress,
    rows: Mapping[str, NDArray[np.integer]] | None = None,
) -> Benchmark:
    """Read a benchmark from its tables.

    Args:
        opened: the tables.
        options: columns, split and images.
        progress: called with (step, done, total).
        rows: row numbers of each split, if some rows are left out; then a row of any split that cannot be read is an
            error, not only one of the evaluated split.

    Raises:
        InputError: as `read_benchmark`; FaultyRows names all rows with the same fault.
    """
    notes: tuple[str, ...] = ()
    hub = at_revision(opened.location)[0] if opened.base is None and opened.location else None
    allowed = allowed_images(opened.rows, opened.base, hub, options.images)
    tables = {name: table for name, table in opened.tables.items() if table.num_rows}
    left_out = {name: "it has no rows" for name in opened.tables if name not in tables}
    if not tables:
        raise InputError(f"{opened.name}: no rows")
    for name, table in tables.items():
        check_text(table, opened.locations[name])
    progress("opening", 1, 1)
    evaluated, layout = _layout(opened, tables, options, left_out)
    pictures = find_pictures(opened, options, allowed, lambda done, total: progress("images", done, total))
    notes += tuple(dict.fromkeys(note for name in pictures for note in pictures[name].notes if name not in left_out))
    splits: dict[str, Split] = {}
    read_as: dict[str, str] = {}
    for done, (name, table) in enumerate(tables.items()):
        progress("reading", done, len(tables))
        if name in left_out:
            continue
        location = opened.locations[name]
        try:
            splits[name], read_as[name], more = _split(
                name, table, location, layout, options, pictures.get(name), left_out, rows[name] if rows else None
            )
            notes += more
        except InputError as error:
            if name == evaluated or (rows and isinstance(error, FaultyRows)):
                raise
            left_out[name] = str(error)
    progress("reading", len(tables), len(tables))
    about = opened.path, read_as[evaluated], notes, allowed, opened.revision, options.how_to_read
    return Benchmark(opened.name, opened.config, evaluated, splits, layout, left_out, *about)


def _layout(
    opened: Opened, tables: Mapping[str, pa.Table], options: BenchmarkOptions, left_out: dict[str, str]
) -> tuple[str, Layout]:
    """The evaluated split and the layout; a default split with hidden labels is replaced by the next."""
    candidates, wanted = dict(tables), options.split
    if wanted in opened.tables and wanted not in tables:
        raise InputError(f"{opened.locations[wanted]}: no rows")
    while True:
        split = chosen_split(list(candidates), wanted, opened.name)
        location = opened.locations[split]
        options.check_columns(tables[split].column_names, location)
        try:
            return split, find_layout(candidates, split, options, location)
        except FaultyRows as error:
            error.split = split
            raise
        except HiddenLabels as error:
            if wanted is not None or len(candidates) == 1:
                remedy = "choose another split with --split" if len(tables) > 1 else "a benchmark needs labels"
                raise InputError(f"{error}; {remedy}") from error
            left_out[split] = str(error)
            del candidates[split]


def _split(
    name: str,
    table: pa.Table,
    location: str,
    layout: Layout,
    options: BenchmarkOptions,
    pictures: Pictures | None,
    left_out: dict[str, str],
    numbers: NDArray[np.integer] | None,
) -> tuple[Split, str, tuple[str, ...]]:
    """One split, a description of its columns, and a sentence if its ids are not unique."""
    for column in layout.columns:
        if column not in table.column_names:
            raise InputError(f"{location}: no column {column!r}, which the other splits have")
    pictures = pictures or Pictures(pa.repeat("", table.num_rows), None)
    kept = np.arange(table.num_rows)
    try:
        cells = layout.cells(table, location)
        with_choices = np.flatnonzero(cells.counts > (0 if layout.ordered else 1))
        if 0 < len(with_choices) < table.num_rows:
            kept = with_choices
            left_out[f"{name} (rows without choices)"] = f"{table.num_rows - len(kept)} of {table.num_rows} rows"
            table, pictures = table.take(pa.array(kept)), pictures.take(kept)
            cells = layout.cells(table, location)
        labels = layout.labels(table, cells, location)
        for row in np.flatnonzero(cells.counts < 2)[:1]:
            raise FaultyRows(
                f"{location}, row {row}: {cells.counts[row]} choice(s), expected two or more; remove such rows "
                f"({(cells.counts < 2).sum()} of {len(cells.counts)})",
                "choices",
                np.flatnonzero(cells.counts < 2),
            )
        questions, question = layout.questions(table, location), layout.columns[0]
        if questions is None:
            question = question_column(table, options, location)
            questions = as_text(table[question])
        ids, question_id, notes = question_ids(table, options, location, kept if numbers is None else numbers[kept])
        question_type = type_column(table, options, layout.columns)
        types = as_text(table[question_type]) if question_type else pa.repeat("", table.num_rows)
        found = {
            "question_id": ids,
            "image_id": pictures.ids,
            "question": questions,
            "choices": cells.choices,
            "label": pa.array(labels),
            "question_type": pc.fill_null(types, ""),
            "answers": human_answers(table),
            "choice_kinds": choice_kinds(table, cells, labels),
        }
        rows = pa.table(found, schema=ROWS)
    except FaultyRows as error:
        error.split, error.rows = name, kept[error.rows]
        raise
    except pa.ArrowInvalid as error:
        raise InputError(f"{location}: {reason(error)}") from error
    split = Split(name, location, rows, table, pictures.source, layout.ordered, pictures.missing)
    columns = {"image": pictures.columns, "image_id": [pictures.id_column], "question_id": [question_id]}
    named = {what: [*filter(None, names)] for what, names in {**columns, "type": [question_type]}.items()}
    others = (f"{what}={columns_in_words(names)}" for what, names in named.items() if names)
    return split, ", ".join([f"question={columns_in_words([question])}", layout.read_as, *others]), notes
