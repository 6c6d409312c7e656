"""Columns of a benchmark by commonly used names; question, ids, type, human answers and choice_kinds."""

import json
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_lists, as_mask, as_text, is_id, is_list, is_text, list_array, unpacked_lists
from hf_vqa_mc.data.choice_form import ChoiceCells
from hf_vqa_mc.data.names import ANSWERS, QUESTION, QUESTION_ID, QUESTION_TYPE, VIDEO, named
from hf_vqa_mc.data.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError, shown

KINDS = "choice_kinds"  # column of vqa-mc with the kind of each choice
TEXTS = pa.list_(pa.string())


def question_column(table: pa.Table, others: Sequence[str], options: BenchmarkOptions, location: str) -> str:
    """The column of questions; raises InputError if there is none, or it is not text or one of ``others``."""
    if options.question in others:
        raise InputError(f"{location}: --question {options.question}: holds choices or labels; name another column")
    names = [options.question] if options.question else named(table.column_names, QUESTION)
    within = {other.rpartition(".")[0] for other in table.column_names}  # texts with objects
    names = [name for name in names if options.question or name not in within]
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    if texts:
        return min(texts, key=lambda name: _unlike_questions(table, name)) if texts[1:] else texts[0]
    found = f"--question {names[0]} holds {table.schema.field(names[0]).type}" if names else "no question column"
    raise InputError(
        f"{location}: {found}, expected text; columns: {', '.join(map(shown, table.column_names))}; {OPTIONS}; "
        "if all rows ask the same, add a column question"
    )


def _unlike_questions(table: pa.Table, name: str) -> tuple[bool, bool]:
    """Whether all texts are empty; whether most are one word, or all are the same instruction."""
    texts = as_text(table[name])
    words = as_mask(pc.match_substring_regex(texts, r"[^!-~]")).sum()  # blanks, or letters of other scripts
    constant = not named([name], QUESTION[:3]) and len(texts.unique()) == 1
    return not as_mask(pc.not_equal(texts, "")).any(), bool(2 * words < len(texts)) or constant


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
    if numbered and (video := _of_each_video(table, numbered[0], rows)):
        return video[0], numbered[0], (f"{problem}; the ids of the column {shown(video[1])} are put in front",)
    if numbered and len(numbered[1].unique()) == len(rows):
        return numbered[1], numbered[0], (f"{problem}; they are shown with their row number",)
    return as_text(pa.array(rows)), None, (f"{problem}; row numbers are used instead",) if problem else ()


def _of_each_video(table: pa.Table, ids: str, rows: NDArray[np.integer]) -> tuple[pa.Array, str] | None:
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


def type_column(table: pa.Table, options: BenchmarkOptions, other: Iterable[str]) -> str | None:
    """The column of question types, or None; ``other`` columns are excluded unless named by the user."""
    names = (name for name in named(table.column_names, QUESTION_TYPE) if is_text(table.schema.field(name).type))
    return options.columns.get("question_type") or next((name for name in names if name not in other), None)


def human_answers(table: pa.Table, other: Collection[str]) -> pa.Array:
    """(rows,): human answers, from lists of text, lists of records with an answer, or texts with such lists.

    The columns ``other`` hold choices or labels.
    """
    for name in named((name for name in table.column_names if name not in other), ANSWERS):
        kind = table.schema.field(name).type
        if is_text(kind):
            lists = unpacked_lists(table[name].to_pylist())
            if all(found is not None for found in lists):
                return pa.array([[text for text in found or () if text is not None] for found in lists], TEXTS)
        elif is_list(kind) and is_text(kind.value_type):
            lists = table[name].combine_chunks().cast(TEXTS)
            texts, lengths = as_lists(lists)
            return ChoiceCells(texts, lengths).choices if lists.null_count or texts.null_count else lists
        elif is_list(kind) and pa.types.is_struct(kind.value_type):
            fields = {field.name: field.type for field in kind.value_type}
            if is_text(fields.get("answer", pa.null())):
                records, lengths = as_lists(table[name])
                return ChoiceCells(as_text(pc.struct_field(records, "answer")), lengths).choices
    return pa.array([[]] * table.num_rows, TEXTS)


def choice_kinds(table: pa.Table, cells: ChoiceCells, labels: NDArray[np.int64]) -> pa.Array:
    """(rows,): names of the column choice_kinds; empty in rows whose kinds do not match their choices."""
    rows = table.num_rows
    lists = table[KINDS] if KINDS in table.column_names else pa.nulls(rows)
    if is_text(lists.type):  # of CSV files
        found = unpacked_lists(lists.to_pylist())
        lists = pa.nulls(rows) if None in found else pa.array(found, TEXTS)
    flat, lengths = as_lists(lists) if is_list(lists.type) else (pa.nulls(0), np.zeros(rows, np.int64))
    if pa.types.is_integer(flat.type):
        names = pa.array(class_names(table.schema, KINDS) or list(CHOICE_KINDS))
        flat = names.take(pc.if_else(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, len(names))), flat, None))
    if not len(flat) or not is_text(flat.type):
        return pa.array([[]] * rows, TEXTS)
    flat = flat.cast(pa.string())
    fits = (lengths == cells.counts) & (cells.counts == cells.lengths)
    fits &= as_mask(pc.equal(flat, TARGET.name))[np.where(fits, np.cumsum(lengths) - lengths + labels, 0)]
    unknown = ~as_mask(pc.is_in(flat, pa.array(list(CHOICE_KINDS))))
    fits &= np.bincount(np.repeat(np.arange(rows), lengths)[unknown], minlength=rows) == 0
    return list_array(flat.filter(pa.array(np.repeat(fits, lengths))), np.where(fits, lengths, 0))


def class_names(schema: pa.Schema, column: str) -> list[str] | None:
    """The names of a column of ClassLabel, or of lists of ClassLabel, in the metadata of ``datasets``; else None."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
        return [str(name) for name in inner["names"]] if column in schema.names else None
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        return None
