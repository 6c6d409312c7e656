"""Read a benchmark as rows with one schema, for training also in the columns of ``vqa-mc build``."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.benchmark import ROWS, Benchmark, FaultyRow, Split
from hf_vqa_mc.data.cells import as_mask, as_text, flat, is_id, is_text, list_array, text_lists
from hf_vqa_mc.data.choices import TEXTS, choice_kinds
from hf_vqa_mc.data.column_detection import find_spec
from hf_vqa_mc.data.column_spec import ColumnSpec, RowCells
from hf_vqa_mc.data.dataset_images import RowImages, find_row_images
from hf_vqa_mc.data.files import reason
from hf_vqa_mc.data.images import allowed_images
from hf_vqa_mc.data.labels import MOST_FAULTY, HiddenLabels, by_index
from hf_vqa_mc.data.loading import BUILT, NoChoices, Opened, chosen_split, open_tables
from hf_vqa_mc.data.names import ANSWERS, QUESTION_ID, QUESTION_TYPE, VIDEO, columns_in_words, named
from hf_vqa_mc.data.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.result import verb
from hf_vqa_mc.sources.open_ended import open_ended_source


class UnreadableRows(InputError):
    """Rows of a benchmark cannot be read and are not to be skipped."""


@verb(BenchmarkOptions)
def read_benchmark(options: BenchmarkOptions, progress: Progress) -> Benchmark:
    """All splits with known labels, and why others are left out.

    Rows without choices (open questions among multiple-choice ones) are left out and counted.

    Raises:
        InputError: there is no such dataset, config, split or column, a row of the evaluated split cannot be read
            and is not to be skipped, or interpretations of its labels are contradictory; names location, row, column
            and remedy.
        ConnectionError: the Hub cannot be reached.
    """
    return load(options, progress)


def load(options: BenchmarkOptions, progress: Progress) -> Benchmark:
    """Read the benchmark of a verb's options; see `read_benchmark`."""
    progress("opening", 0, 1)
    return read_opened(open_tables(options.dataset, options.config), options, progress)


def read_opened(
    opened: Opened, options: BenchmarkOptions, progress: Progress, *, evaluated_only: bool = False
) -> Benchmark:
    """Read a benchmark, or its evaluated split only, from its tables; see `read_benchmark`."""
    allowed = allowed_images(opened, options.images)
    tables = {name: table for name, table in opened.tables.items() if table.num_rows}
    left_out = {name: "it has no rows" for name in opened.tables if name not in tables}
    if not tables:
        raise InputError(f"{opened.name}: no rows")
    progress("opening", 1, 1)
    evaluated, spec = _spec(opened, tables, options, left_out)
    if evaluated_only:
        tables = {evaluated: tables[evaluated]}
        opened = replace(opened, tables=tables, splits={})  # images are not read, only their ids
    pictures = find_row_images(opened, options, allowed, progress)
    notes = tuple(dict.fromkeys(note for name in pictures for note in pictures[name].notes if name not in left_out))
    splits: dict[str, Split] = {}
    read_as: dict[str, str] = {}
    for done, name in enumerate(tables):
        progress("reading", done, len(tables))
        if name in left_out:
            continue
        try:
            splits[name], read_as[name], more = _split(name, opened, spec, options, pictures.get(name), left_out)
            notes += more
        except InputError as error:
            if name == evaluated:
                raise
            left_out[name] = str(error)
    progress("reading", len(tables), len(tables))
    about = opened.path, read_as[evaluated], notes, allowed, opened.revision, options.how_to_read
    return Benchmark(opened.name, opened.config, evaluated, splits, spec, left_out, *about)


def _spec(
    opened: Opened, tables: Mapping[str, pa.Table], options: BenchmarkOptions, left_out: dict[str, str]
) -> tuple[str, ColumnSpec]:
    """The evaluated split and the columns; a default split with hidden labels is replaced by the next."""
    candidates, wanted = {name: flat(table) for name, table in tables.items()}, options.split
    if wanted in opened.tables and wanted not in tables:
        raise InputError(f"{opened.locations[wanted]}: no rows")
    while True:
        split = chosen_split(list(candidates), wanted, opened.name)
        location = opened.locations[split]
        options.check_columns(candidates[split].column_names, location)
        try:
            return split, find_spec(candidates, split, options, location)
        except HiddenLabels as error:
            if wanted is not None or len(candidates) == 1:
                remedy = "choose another split with --split" if len(tables) > 1 else "a benchmark needs labels"
                raise InputError(f"{error}; {remedy}") from error
            left_out[split] = str(error)
            del candidates[split]


def _split(
    name: str, opened: Opened, spec: ColumnSpec, options: BenchmarkOptions, own: RowImages | None, out: dict[str, str]
) -> tuple[Split, str, tuple[str, ...]]:
    """One split, a description of its columns, and sentences about its ids and rows that are left out."""
    table, location = opened.tables[name], opened.locations[name]
    pictures = own or RowImages(pa.repeat("", table.num_rows))
    try:
        read = spec.read(table, location)
        if (first := spec.index_from) is not None and read.faults and options.label_from is None:
            column = spec.labels[0][0]
            other = replace(spec, labels=((column, by_index(1 - first)),))
            if len(other.read(table, location).faults) < len(read.faults):
                counts = f"{column} counts from {1 - first}, but from {first} in the evaluated split"
                raise InputError(f"{location}: {counts}; count alike in all splits, or add --split {name}")
        kept, faulty = _readable_rows(name, location, read, options, out)
        unread: frozenset[str] = frozenset()
        if len(kept) < table.num_rows:
            numbers = np.arange(table.num_rows)
            every = question_ids(table, options, location, numbers)[0]
            unread = frozenset(every.filter(pa.array(~np.isin(numbers, kept))).to_pylist())
            table, pictures = table.take(pa.array(kept)), pictures.take(kept)
            read = spec.read(table, location)
        ids, question_id, notes = question_ids(table, options, location, kept)
        question_type = options.columns.get("question_type") or next(
            (one for one in named(table.column_names, QUESTION_TYPE)
             if is_text(table.schema.field(one).type) and one not in spec.columns), None)  # fmt: skip
        types = as_text(table[question_type]) if question_type else pa.repeat("", table.num_rows)
        found = {
            "question_id": ids,
            "image_id": pictures.ids,
            "question": read.questions,
            "choices": read.cells.choices,
            "label": pa.array(read.labels),
            "question_type": pc.fill_null(types, ""),
            "answers": human_answers(table, spec.columns),
            "choice_kinds": choice_kinds(table, read.cells, read.labels),
        }
        rows = pa.table(found, schema=ROWS)
    except pa.ArrowInvalid as error:
        raise InputError(f"{location}: {reason(error)}") from error
    if faulty:
        counts = f"{len(faulty)} of {opened.tables[name].num_rows} rows cannot be read and are left out"
        notes += (f"{location}: {counts}, such as row {faulty[0].row + 1}: {faulty[0].message}",)
    if read.cells.padded:
        notes += (f"{location}: {read.cells.padded} rows end with N/A or the like, which is not read as a choice",)
    about = spec.ordered, pictures.missing, faulty, unread, pictures.columns
    columns = {"image_id": pictures.id_column, "question_id": question_id, "question_type": question_type}
    others = [f"{what}={columns_in_words([column])}" for what, column in columns.items() if column]
    others[:0] = [f"image={columns_in_words(pictures.columns)}"] if pictures.cells and pictures.columns else []
    return Split(name, location, rows, table, pictures.source, *about), ", ".join([spec.read_as, *others]), notes


def _readable_rows(
    name: str, location: str, read: RowCells, options: BenchmarkOptions, left_out: dict[str, str]
) -> tuple[NDArray[np.int64], tuple[FaultyRow, ...]]:
    """The rows that are read, and those that cannot be; ``left_out`` counts rows without choices (open questions)."""
    total = len(read.labels)
    faulty = tuple(FaultyRow(name, row, *fault) for row, fault in sorted(read.faults.items()))
    kept = read.cells.has_choices.copy()
    kept[[one.row for one in faulty]] = False
    open_questions = total - int(kept.sum()) - len(faulty)
    if faulty:
        counts = f"{len(faulty)} of {total} rows cannot be read"
        first = f"{location}, row {faulty[0].row + 1}: {faulty[0].message}; {counts}"
        if len(faulty) > MOST_FAULTY * (total - open_questions):
            raise InputError(f"{first} like this; {OPTIONS}")
        if not options.skip_faulty:
            raise UnreadableRows(f"{first}: fix them, or leave them out with --skip-faulty; vqa-mc lint lists them")
    if 0 < open_questions < total:
        left_out[f"{name} (rows without choices)"] = f"{open_questions} of {total} rows"
    elif open_questions:
        raise InputError(f"{location}: no row has choices; {OPTIONS}")
    return np.flatnonzero(kept), faulty


def question_ids(
    table: pa.Table, options: BenchmarkOptions, location: str, rows: NDArray[np.integer]
) -> tuple[pa.Array, str | None, tuple[str, ...]]:
    """(rows,) unique ids as text, their column, and a sentence if a column of ids has others.

    They are the first column of unique ones, else the first column of ids, else row numbers. Ids that are missing or
    occur twice are followed by the row number; in a column named by the user they are an error. ``rows`` are numbers
    in the split.
    """
    problem, numbered = "", None
    given = options.columns.get("question_id")
    for name in [given] if given else named(table.column_names, QUESTION_ID):
        kind = table.schema.field(name).type
        if is_id(kind):
            ids = as_text(table[name])
            if not (why := _not_unique(ids, rows)):
                used = f"{problem}; the ids of the column {shown(name)} are used instead"
                return ids, name, (used,) if problem else ()
            problem = problem or f"{location}: column {name} {why}"
            if not numbered:
                odd = as_mask(pc.is_null(ids))
                odd[repeats(ids)] = True
                numbers = pa.array([f"(row {row + 1})" for row in rows[odd].tolist()], pa.string())
                texts = pc.binary_join_element_wise(pc.fill_null(ids.filter(pa.array(odd)), "no id"), numbers, " ")
                numbered = name, pc.replace_with_mask(ids, pa.array(odd), texts)
        elif given:
            problem = f"{location}: {name} is no column of ids: it holds {kind}, expected text or integers"
    if given:
        raise InputError(f"{problem}; make the ids unique")
    if numbered and (video := ids_of_each_video(table, numbered[0], rows)):
        return video[0], numbered[0], (f"{problem}; the ids of the column {shown(video[1])} are put in front",)
    if numbered and len(numbered[1].unique()) == len(rows):
        return numbered[1], numbered[0], (f"{problem}; they are shown with their row number",)
    return as_text(pa.array(rows)), None, (f"{problem}; row numbers are used instead",) if problem else ()


def ids_of_each_video(table: pa.Table, ids: str, rows: NDArray[np.integer]) -> tuple[pa.Array, str] | None:
    """Unique ids with a video's id in front, as in NExT-QA's official results, and the video's column."""
    for name in named(table.column_names, VIDEO):
        if is_id(table.schema.field(name).type):
            joined = pc.binary_join_element_wise(as_text(table[name]), as_text(table[ids]), "_")
            if not _not_unique(joined, rows):
                return joined, name
    return None


def _not_unique(ids: pa.Array, rows: NDArray[np.integer]) -> str:
    """What is wrong with texts as ids: an empty one, or one that occurs twice; "" if nothing."""
    if ids.null_count:
        return f"has empty ids (first: row {rows[pc.index(pc.is_null(ids), True).as_py()] + 1})"
    for first, again in repeats(ids)[:1].tolist():
        return f"has repeated ids (first: {shown(ids[again].as_py())} in rows {rows[first] + 1} and {rows[again] + 1})"
    return ""


def repeats(ids: pa.Array) -> NDArray[np.int64]:
    """(repetitions, 2): for each text that occurs earlier, the row where it occurs first and its own; without null."""
    encoded = ids.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    if len(encoded.dictionary) == len(codes):
        return np.zeros((0, 2), np.int64)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    again = np.flatnonzero((first[inverse] != np.arange(len(codes))) & (codes >= 0))
    return np.stack([first[inverse[again]], again], axis=1)


def human_answers(table: pa.Table, other: Collection[str]) -> pa.Array:
    """(rows,): human answers, from lists of text or of records with an answer, or texts with such lists.

    The columns ``other`` hold choices or labels.
    """
    for name in named((name for name in table.column_names if name not in other), ANSWERS):
        texts, lengths = text_lists(table[name]) or (pa.nulls(0), np.zeros(table.num_rows, np.int64))
        if pa.types.is_struct(texts.type) and texts.type.get_field_index("answer") >= 0:
            texts = pc.struct_field(texts, "answer")
        if is_text(texts.type):
            valid = as_mask(pc.is_valid(texts))
            rows = np.repeat(np.arange(len(lengths)), lengths)
            return list_array(as_text(texts).filter(valid), np.bincount(rows[valid], minlength=len(lengths)))
    return pa.array([[]] * table.num_rows, TEXTS)


NEEDED = frozenset({"question_id", "image_id", "question", "choices", "label"})
"""Columns of multiple-choice rows that training reads."""


def training_tables(dataset: str, config: str) -> tuple[str, dict[str, pa.Table]]:
    """The name of a config or file, and its splits with the columns that training reads."""
    opened = open_tables(dataset, config or None, open_ended=True, expected=BUILT)
    columns = next(iter(opened.tables.values())).column_names
    name, tables = opened.config or Path(dataset).stem, opened.tables
    if opened.splits and (NEEDED <= set(columns) or open_ended_source(columns, opened.config) is not None):
        return name, tables
    try:
        benchmark = read_opened(opened, BenchmarkOptions(opened.name, opened.config), silent)
    except NoChoices:
        if not opened.splits:  # a file
            raise
        return name, tables
    return name, {split: _table(rows) for split, rows in benchmark.splits.items()}


def _table(split: Split) -> pa.Table:
    """The rows in the columns of ``vqa-mc build``; a row without image has its unit as ``image_id``."""
    names = {name: number for number, name in enumerate(CHOICE_KINDS)}
    images = zip(split.rows["image_id"].to_pylist(), split.units, strict=True)
    columns = {name: split.rows[name] for name in ("question_id", "question", "choices", "label", "question_type")}
    columns["image_id"] = pa.array([image or unit for image, unit in images], pa.string())
    if all(kinds := split.rows["choice_kinds"].to_pylist()):
        columns["choice_kinds"] = pa.array([[names[kind] for kind in of_row] for of_row in kinds])
    if any(split.rows["answers"].to_pylist()):
        columns["answers"] = split.rows["answers"]
    if "set_id" in split.original.column_names:
        columns["set_id"] = split.original["set_id"]
    return pa.table(columns)
