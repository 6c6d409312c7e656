"""Checks of texts: empty, read as missing, marked up, damaged, lettered, equal to another choice."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.checks.check import ERROR, NOTE, ROW, WARNING, Check, Issues, Linted
from hf_vqa_mc.audits.texts import Column, official_texts, pairs
from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.errors import shown
from hf_vqa_mc.text.comparison import differ_in_case

NOT_AVAILABLE = ("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
                 "NA", "NULL", "NaN", "None", "n/a", "nan", "null")  # fmt: skip
"""Texts that ``pandas.read_csv`` reads as missing by default."""
MISSING_TEXT = f"^(?:{'|'.join(map(re.escape, NOT_AVAILABLE))})$"
LETTER = r"^\s*\(?(?P<letter>[A-Za-z])[.):]\s*\S"
MARKUP = r"</?[A-Za-z][^<>]{0,200}>|&(?:[A-Za-z]{2,8}|#[0-9]{1,6}|#x[0-9A-Fa-f]{1,6});"
IMAGE_MARK = r"<image[^<>]{0,20}>"
"""Where the image belongs, as in MMMU; no HTML."""
CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]"
SPACES = r"^\s|\s$|\s\s"
Hits = Callable[[Column], NDArray[np.bool_]]


def matches(pattern: str, column: Column) -> NDArray[np.bool_]:
    """(distinct,): whether a regular expression is found in each text."""
    found: NDArray[np.bool_] = pc.match_substring_regex(column.distinct, pattern).to_numpy(zero_copy_only=False)
    return found.astype(bool)


def in_texts(hits: Hits, where: tuple[str, ...], linted: Linted) -> Issues:
    """The questions and choices whose text is hit."""
    rows, details = [], list[str]()
    for what, column, of_rows in (
        ("question", linted.data.questions, np.arange(len(linted.data))),
        ("choice", linted.data.choices.flat, linted.data.choices.rows),
    ):
        if what in where:
            at = np.flatnonzero(np.append(hits(column), False)[column.codes])
            rows.append(linted.rows[of_rows[at]])
            names = {code: f"{what} {shown(column.texts[code])}" for code in np.unique(column.codes[at]).tolist()}
            details += [names[code] for code in column.codes[at].tolist()]
    return Issues(np.concatenate(rows), details)


def _blank_texts(linted: Linted) -> Issues:
    """White space only, and empty questions, which have no code."""
    found = in_texts(partial(matches, r"^\s*$"), BOTH, linted)
    empty = linted.rows[linted.data.questions.codes < 0]
    return Issues(np.concatenate([found.rows, empty]), [*(found.details or ()), *["question ''"] * len(empty)])


def _marked_up(column: Column) -> NDArray[np.bool_]:
    without = pc.replace_substring_regex(column.distinct, IMAGE_MARK, "")
    found: NDArray[np.bool_] = pc.match_substring_regex(without, MARKUP).to_numpy(zero_copy_only=False)
    return found


def _mojibake(column: Column) -> NDArray[np.bool_]:
    """Texts that were UTF-8 and were read as Windows-1252, or with replacement characters."""
    found = matches("\ufffd", column)
    for index in np.flatnonzero(~pc.string_is_ascii(column.distinct).to_numpy(zero_copy_only=False)).tolist():
        found[index] |= is_mojibake(column.texts[index])
    return found


def is_mojibake(text: str) -> bool:
    """Whether a text is UTF-8 that was read as Windows-1252.

    >>> is_mojibake("cafÃ©"), is_mojibake("café")
    (True, False)
    """
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except UnicodeError:
        return False


def _empty_cells(linted: Linted) -> Issues:
    """Empty cells before a row's last choice."""
    rows, details = [], list[str]()
    for split in linted.splits:
        cells = linted.benchmark.spec.read(split.original, split.location).cells
        empty = np.flatnonzero(~cells.filled)
        position = empty - cells.starts[cells.rows[empty]]
        inside = position < cells.ends[cells.rows[empty]]
        rows.append(split.original[ROW].to_numpy()[cells.rows[empty[inside]]])
        details += [f"choice {letter(index)}" for index in position[inside].tolist()]
    return Issues(np.concatenate(rows), details)


def _letters(linted: Linted) -> Issues:
    """Rows whose choices begin with their own letters."""
    listed = linted.data.choices
    flat = listed.flat
    found = pc.struct_field(pc.extract_regex(flat.distinct, LETTER), "letter")
    numbers = np.array([-1 if letter is None else ord(letter.upper()) - ord("A") for letter in found.to_pylist()], int)
    position = np.arange(len(flat.codes)) - listed.starts[listed.rows]
    lettered = np.add.reduceat(numbers[flat.codes] == position, listed.starts)
    rows = np.flatnonzero(lettered == listed.lengths)
    first = flat.codes[listed.starts[rows]].tolist()
    return Issues(linted.rows[rows], [shown(flat.texts[code]) for code in first])


def _equal(linted: Linted) -> Issues:
    """Rows with choices that the official VQA program counts as equal, unless signs, operators or case differ."""
    flat, of_rows = linted.data.choices.flat, linted.data.choices.rows
    both = pairs(of_rows, official_texts(flat.distinct).dictionary_encode().indices.to_numpy()[flat.codes])
    order = np.argsort(both, kind="stable")
    again = np.flatnonzero(both[order][1:] == both[order][:-1]) + 1
    rows, details = list[int](), list[str]()
    for first, later in zip(order[again - 1].tolist(), order[again].tolist(), strict=True):
        one, other = (flat.texts[flat.codes[cell]] for cell in (first, later))
        if not differ_in_case(one, other):
            rows.append(int(linted.rows[of_rows[later]]))
            details.append(f"{shown(one)} and {shown(other)}")
    return Issues(rows, details)


BOTH, CHOICE = ("question", "choice"), ("choice",)
TEXTS = (
    Check("equal_choices", ERROR,
          "two choices of a row are equal after the official VQA normalisation (punctuation, articles, numbers)",
          "remove one; vqa-mc remedy replaces decoys", _equal),
    Check("empty_choices", WARNING, "a choice is empty and others follow it; it keeps its letter",
          "write the choice, or remove it and correct the label", _empty_cells),
    Check("blank_texts", ERROR, "a question is empty, or a question or choice white space only", "write the text",
          _blank_texts),
    Check("read_as_missing", WARNING, "pandas.read_csv reads this text as missing",
          'read with keep_default_na=False, or write another word, such as "none"',
          partial(in_texts, partial(matches, MISSING_TEXT), BOTH)),
    Check("lettered_choices", WARNING, "choices contain their own letters, which prompts add again",
          "remove the letters from the texts", _letters),
    Check("markup", WARNING, "HTML tags or entities", "convert to plain text", partial(in_texts, _marked_up, BOTH)),
    Check("mojibake", WARNING, "UTF-8 text that was read in another encoding",
          'text.encode("cp1252").decode("utf-8") restores most', partial(in_texts, _mojibake, BOTH)),
    Check("control_characters", WARNING, "control characters, zero-width spaces or bidirectional overrides",
          "remove them", partial(in_texts, partial(matches, CONTROL), BOTH)),
    Check("spaces", NOTE, "leading, trailing or double spaces, which may distinguish choices", "strip the texts",
          partial(in_texts, partial(matches, SPACES), CHOICE)),
)  # fmt: skip
"""In the order of the table."""
