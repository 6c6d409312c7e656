"""Columns of a benchmark by commonly used names; question, ids, type, human answers and choice_kinds."""

import json
import re
from collections.abc import Iterable, Sequence

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
    is_cell,
    is_list,
    is_text,
    unpacked_lists,
)
from hf_vqa_mc.benchmarks.faulty_rows import FaultyRows
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError, shown

QUESTION = ("question", "questiontext", "questionstem", "query", "problem", "stem", "prompt")
CHOICES = ("choices", "options", "multiplechoices", "answerchoices", "answeroptions", "multiplechoice", "candidates",
           "candidateanswers", "answercandidates", "mcchoices", "endings")  # fmt: skip
DECOYS = ("distractors", "decoys", "wronganswers", "incorrectanswers", "falseanswers", "incorrectchoices",
          "wrongchoices", "negatives", "multiplechoices")  # fmt: skip
LABEL = ("label", "correctchoiceidx", "correctchoiceindex", "correctidx", "correctindex", "correctansweridx",
         "correctanswerindex", "answeridx", "answerindex", "answerid", "answerkey", "correctchoice", "correctoption",
         "correctanswer", "answer", "gold", "goldindex", "goldidx", "groundtruth", "gt", "correct", "target",
         "bestanswer", "mcanswer", "multiplechoiceanswer")  # fmt: skip
IMAGE = ("image", "img", "picture", "images", "decodedimage", "imagebytes", "imagebase64")
IMAGE_PATH = ("imagepath", "imgpath", "imagefile", "imagefilename", "filename", "imagename", "imageurl")
IMAGE_ID = ("imageid", "imgid", "imgidx", "imageidx", "imageindex", "pictureid")
QUESTION_ID = ("questionid", "qid", "qaid", "id", "index", "pid", "uid", "idx", "questionindex", "questionidx",
               "sampleid", "exampleid")  # fmt: skip
QUESTION_TYPE = ("questiontype", "qtype", "type", "category", "l2category", "subject", "subfield", "topic", "task")
ANSWERS = ("answers", "directanswers", "humananswers")
KINDS = "choice_kinds"
"""Column of vqa-mc with the kind of each choice."""
TEXTS = pa.list_(pa.string())
MAX_NAME_LENGTH = 60
"""Longer column names are shortened in messages."""

_LETTERED = re.compile(r"(?i:(option|choice|opt|answer|ans|candidate)[\s_.-]*)?([A-Z]|[a-z])")
_NUMBERED = re.compile(r"(?i)(option|choice|opt|ending|answer|ans|candidate)[\s_.-]*(\d{1,2})")
_DECOY = re.compile(r"(?i)(distractor|decoy|wrong[\s_-]*answer|incorrect[\s_-]*answer|incorrect|false[\s_-]*answer)"
                    r"[\s_.-]*(\d{1,2})")  # fmt: skip
_PICTURE = re.compile(r"(?i)(image|img)[\s_.-]*(\d{1,2})")


def named(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The columns with known names, in the order of these; case and punctuation are ignored.

    >>> named(["Answer", "correct_choice_idx", "hint"], LABEL)
    ['correct_choice_idx', 'Answer']
    """
    ranks = {name: rank for rank, name in enumerate(known)}
    keys = {name: re.sub(r"[^a-z0-9]", "", name.lower()) for name in names}
    return sorted((name for name in keys if keys[name] in ranks), key=lambda name: ranks[keys[name]])


def choice_columns(names: Sequence[str]) -> list[list[str]]:
    """Runs of columns with one choice each, such as A, B, C, D or option1, option2.

    >>> choice_columns(["index", "A", "B", "C", "question"])
    [['A', 'B', 'C']]
    >>> choice_columns(["ending1", "ending0", "a"])
    [['ending0', 'ending1']]
    """
    return [*_runs(names, _LETTERED, letters=True), *_runs(names, _NUMBERED)]


def decoy_columns(names: Sequence[str]) -> list[list[str]]:
    """Runs of one or more columns with one decoy each, such as distractor1, distractor2, distractor3."""
    return _runs(names, _DECOY, least=1)


def picture_columns(names: Sequence[str]) -> list[str]:
    """The run image_1, image_2 and so on, if there is one."""
    return next(iter(_runs(names, _PICTURE, least=1)), [])


def cell_columns(table: pa.Table) -> list[str]:
    """The columns of short texts or numbers."""
    return [name for name in table.column_names if is_cell(table.schema.field(name).type)]


def next_name(last: str, more: int) -> str:
    """The name of the column ``more`` positions after the last of a run.

    >>> next_name("D", 1), next_name("option_b", 2), next_name("choice9", 1)
    ('E', 'option_d', 'choice10')

    Raises:
        InputError: there are no letters left.
    """
    digits = re.search(r"\d+$", last)
    if digits:
        return f"{last[: digits.start()]}{int(digits[0]) + more:0{len(digits[0])}d}"
    letter = chr(ord(last[-1]) + more)
    if not letter.isascii() or not letter.isalpha() or letter.isupper() != last[-1].isupper():
        raise InputError(f"no letter is left for a column {more} after {last!r}; use fewer choices per row")
    return last[:-1] + letter


def columns_in_words(names: Sequence[str]) -> str:
    """Column names for messages; a run by its first and last.

    >>> columns_in_words(["alt1", "alt2", "alt3"]), columns_in_words(["A", "C", "D"])
    ('alt1 to alt3', 'A, C and D')
    """
    shortened = [name if name.isprintable() and len(name) <= MAX_NAME_LENGTH else shown(name) for name in names]
    if len(names) > 2 and _is_run(names):
        return f"{shortened[0]} to {shortened[-1]}"
    return " and ".join([*([", ".join(shortened[:-1])] if shortened[1:] else []), *shortened[-1:]])


def _is_run(names: Sequence[str]) -> bool:
    """Whether the names are consecutive."""
    try:
        return all(names) and all(name == next_name(names[0], more) for more, name in enumerate(names))
    except InputError:
        return False


def _runs(names: Sequence[str], pattern: re.Pattern[str], *, letters: bool = False, least: int = 2) -> list[list[str]]:
    """Columns whose names differ only in a letter or number that increases from 0, 1 or A without a gap."""
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        found = pattern.fullmatch(name)
        if found:
            end = found[2]
            stem = name[: len(name) - len(end)] + (("A" if end.isupper() else "a") if letters else "")
            stems.setdefault(stem, {})[ord(end.upper()) - ord("A") if letters else int(end)] = name
    runs = []
    for indices in stems.values():
        first = 0 if 0 in indices else 1
        run: list[str] = []
        while first + len(run) in indices and not (letters and first):
            run.append(indices[first + len(run)])
        if len(run) >= least:
            runs.append(run)
    return sorted(runs, key=len, reverse=True)


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
        raise FaultyRows(
            f"{location}, row {row}: {texts[0]} is empty (null), expected a question; fix or remove such rows "
            f"({column.null_count} of {len(column)})",
            "question",
            np.flatnonzero(as_mask(pc.is_null(column))),
            texts[0],
        )
    return texts[0]


def question_ids(
    table: pa.Table, options: BenchmarkOptions, location: str, rows: NDArray[np.integer]
) -> tuple[pa.Array, str | None, tuple[str, ...]]:
    """The question ids: the first column of unique ones, else the first column of ids, else row numbers.

    Ids that are missing or occur twice are followed by the row number.

    Args:
        table: some rows of a split.
        options: may name the column.
        location: of the split, for messages.
        rows: number of each row in the split, for messages.

    Returns:
        (rows,) unique ids as text; their column, if there is one; a sentence if a column of ids has others.

    Raises:
        InputError: the column named by the user has an id twice, or is empty in a row.
    """
    problem, numbered = "", None
    given = options.columns.get("question_id")
    for name in [given] if given else named(table.column_names, QUESTION_ID):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            ids = as_text(table[name])
            if not (why := _not_unique(ids, rows)):
                used = f"{problem}; the ids of the column {shown(name)} are used instead"
                return ids, name, (used,) if problem else ()
            problem = problem or f"{location}: column {name} {why}"
            numbered = numbered or (name, _numbered(ids, rows))
        elif given:
            problem = f"{location}: {name} is no column of ids: it holds {kind}, expected text or integers"
    if given:
        raise InputError(f"{problem}; make the ids unique")
    if numbered and len(numbered[1].unique()) == len(rows):
        return numbered[1], numbered[0], (f"{problem}; they are shown with their row number",)
    return as_text(pa.array(rows)), None, (f"{problem}; row numbers are used instead",) if problem else ()


def _not_unique(ids: pa.Array, rows: NDArray[np.integer]) -> str:
    """What is wrong with texts as ids: an empty one, or one that occurs twice; "" if nothing."""
    if ids.null_count:
        return f"has empty ids (first: row {rows[pc.index(pc.is_null(ids), True).as_py()]})"
    for first, again in repeats(ids)[:1].tolist():
        return f"has repeated ids (first: {shown(ids[again].as_py())} in rows {rows[first]} and {rows[again]})"
    return ""


def _numbered(ids: pa.Array, rows: NDArray[np.integer]) -> pa.Array:
    """The ids; those that are missing or occur twice with their row numbers."""
    odd = as_mask(pc.is_null(ids))
    odd[repeats(ids)] = True
    numbers = pa.array([f"(row {row})" for row in rows[odd].tolist()], pa.string())
    texts = pc.fill_null(ids.filter(pa.array(odd)), "no id")
    return pc.replace_with_mask(ids, pa.array(odd), pc.binary_join_element_wise(texts, numbers, " "))


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
    names = [name for name in named(table.column_names, QUESTION_TYPE) if name not in other]
    return options.columns.get("question_type") or next(
        (name for name in names if is_text(table.schema.field(name).type)), None
    )


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
                records, lengths = as_lists(table[name])
                return ChoiceCells(as_text(pc.struct_field(records, "answer")), lengths).choices
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
        names = pa.array(class_names(table.schema, KINDS) or list(CHOICE_KINDS))
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
    kind = table.schema.field(name).type if name in table.column_names else pa.null()
    if is_text(kind):
        found = unpacked_lists(table[name].to_pylist())
        return None if any(one is None for one in found) else pa.array(found, TEXTS)
    return as_array(table[name]) if is_list(kind) else None


def class_names(schema: pa.Schema, column: str) -> list[str] | None:
    """The names of a column of ClassLabel, or of lists of ClassLabel, in the metadata of ``datasets``; else None."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
        return [str(name) for name in inner["names"]] if column in schema.names else None
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        return None
