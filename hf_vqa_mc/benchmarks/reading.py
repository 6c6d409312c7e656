"""A benchmark as rows of one kind, whoever made it."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from hf_vqa_mc.benchmarks.benchmark import ROWS, Benchmark, Split
from hf_vqa_mc.benchmarks.columns import names_told
from hf_vqa_mc.benchmarks.detection import find_layout
from hf_vqa_mc.benchmarks.layouts import HiddenLabels, Layout
from hf_vqa_mc.benchmarks.offered import Offered
from hf_vqa_mc.benchmarks.opening import Opened, check_text, open_tables
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.benchmarks.row_columns import (
    choice_kinds,
    human_answers,
    id_column,
    question_column,
    question_ids,
    question_types,
    questions,
    type_column,
)
from hf_vqa_mc.benchmarks.row_images import Pictures, find_pictures
from hf_vqa_mc.dataset.loading import chosen_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import verb


def run_read_benchmark(options: BenchmarkOptions, progress: Progress) -> Benchmark:
    """Read a benchmark.

    Returns:
        Every split whose labels are known; why others are left out. Rows without choices (open questions among
        multiple-choice ones) are left out and counted.

    Raises:
        InputError: there is no such dataset, config, split or column, no layout fits all rows of the evaluated split,
            or several contradict each other; names location, row, column and remedy.
        ConnectionError: the Hub cannot be reached.
    """
    images = options.images
    if images is not None and not images.is_dir():
        raise InputError(f"--images {images}: no such folder")
    progress("opening", 0, 1)
    opened = open_tables(options.dataset, options.config)
    left_out: dict[str, str] = {}
    tables = {name: table for name, table in opened.tables.items() if table.num_rows}
    left_out.update({name: "it has no rows" for name in opened.tables if name not in tables})
    if not tables:
        raise InputError(f"{opened.name}: no rows at all")
    for name, table in tables.items():
        check_text(table, opened.places[name])
    progress("opening", 1, 1)
    asked, layout = _asked(opened, tables, options, left_out)
    pictures = find_pictures(opened, options, lambda done, total: progress("images", done, total))
    splits: dict[str, Split] = {}
    for done, (name, table) in enumerate(tables.items()):
        progress("reading", done, len(tables))
        try:
            if name not in left_out:
                splits[name] = _split(name, table, opened.places[name], layout, options, pictures.get(name), left_out)
        except InputError as error:
            if name == asked:
                raise
            left_out[name] = str(error)
    progress("reading", len(tables), len(tables))
    read_as = _read_as(splits[asked], layout, options, pictures.get(asked))
    return Benchmark(opened.name, opened.config, asked, splits, layout, left_out, opened.path, read_as)


read_benchmark = verb("read_benchmark", BenchmarkOptions, run_read_benchmark, examples=())


def _asked(
    opened: Opened, tables: Mapping[str, pa.Table], columns: BenchmarkOptions, left_out: dict[str, str]
) -> tuple[str, Layout]:
    """The split that is audited, and the layout; a usual split with hidden labels gives way to the next."""
    there, split = dict(tables), columns.split
    while True:
        if split is not None and split in opened.tables and split not in tables:
            raise InputError(f"{opened.places[split]}: no rows at all")
        asked = chosen_split(list(there), split, opened.name)
        columns.check_columns(tables[asked].column_names, opened.places[asked])
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
    columns: BenchmarkOptions,
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
            "question_id": question_ids(table, columns, place),
            "image_id": pictures.ids if pictures else pa.repeat("", table.num_rows).cast(pa.string()),
            "question": questions(table, columns, place),
            "choices": offered.choices,
            "label": pa.array(labels),
            "question_type": question_types(table, columns, layout),
            "answers": human_answers(table),
            "choice_kinds": choice_kinds(table, offered, labels),
        }
        return Split(
            name,
            place,
            pa.table(found, schema=ROWS),
            table,
            pictures if pictures and pictures.source else None,
            layout.placed,
            pictures.missing if pictures else "",
        )
    except pa.ArrowInvalid as error:
        raise InputError(f"{place}: {str(error).strip()[:300]}") from error


def _check_counts(offered: Offered, place: str) -> None:
    few = np.flatnonzero(offered.counts < 2)  # choices
    for row in few[:1]:
        raise InputError(
            f"{place}, row {row}: {offered.counts[row]} choice(s), expected two or more; leave out such rows "
            f"({len(few)} of {len(offered.counts)})"
        )


def _read_as(split: Split, layout: Layout, columns: BenchmarkOptions, pictures: Pictures | None) -> str:
    """Which column was read as what, in a sentence."""
    table = split.original
    images, image_id = (pictures.columns, pictures.id_column) if pictures else ((), None)
    question_id, question_type = id_column(table, columns, split.place), type_column(table, columns, layout)
    told = [
        f"question={names_told([question_column(table, columns, split.place)])}",
        layout.read_as,
        *([f"image={names_told(images)}"] if images else []),
        *([f"image_id={names_told([image_id])}"] if image_id else []),
        *([f"question_id={names_told([question_id])}"] if question_id else []),
        *([f"type={names_told([question_type])}"] if question_type else []),
    ]
    return ", ".join(told)
