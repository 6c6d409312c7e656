"""Verdicts of people and models on choices: which decoys are correct, too, and which questions cannot be answered."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.files import file_form, read_file
from hf_vqa_mc.data.shards import file_content
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.atomic import write_bytes
from hf_vqa_mc.text.counted import counted

WRONG, CORRECT, UNSURE, BAD_QUESTION = VERDICTS = ("wrong", "correct", "unsure", "bad_question")
"""A choice is wrong, correct (also if it is not the target), or uncertain; or the question is bad (choice "")."""
COLUMNS = ("question_id", "choice", "verdict", "judge")
WRITTEN = ("parquet", "csv", "jsonl")  # formats of written files


@dataclass(frozen=True)
class Verdict:
    """One judge's verdict on one choice, or on a question."""

    question_id: str
    choice: str  # text of the choice; "" for a verdict on the question
    verdict: str  # of VERDICTS
    judge: str = ""  # name of the model, or id of the annotator


@dataclass(frozen=True)
class Rejected:
    """What the verdicts reject."""

    choices: dict[str, frozenset[str]]  # question id to texts that are correct
    questions: frozenset[str]  # ids of bad questions


def read_verdicts(path: Path) -> list[Verdict]:
    """Read a table of verdicts: a Parquet, jsonl, json, csv or tsv file with `COLUMNS`; ``judge`` is optional."""
    table = read_file(path)
    if missing := [name for name in COLUMNS[:3] if name not in table.column_names]:
        raise InputError(f"{path}: no column {missing[0]!r}; expected {', '.join(COLUMNS)} (judge is optional)")
    empty = pa.nulls(table.num_rows, pa.string())
    columns = [as_text(table[name] if name in table.column_names else empty).to_pylist() for name in COLUMNS]
    found = [Verdict(*(cell or "" for cell in cells)) for cells in zip(*columns, strict=True)]
    for row, one in enumerate(found, 1):
        if one.verdict not in VERDICTS:
            raise InputError(f"{path}, row {row}: verdict is {shown(one.verdict)}; expected {', '.join(VERDICTS)}")
        if not one.question_id or bool(one.choice) is (one.verdict == BAD_QUESTION):
            expected = f"expected a question_id, and a choice unless the verdict is {BAD_QUESTION}"
            raise InputError(f"{path}, row {row}: {expected}; found {shown(one.question_id)} and {shown(one.choice)}")
    return found


def write_verdicts(path: Path, verdicts: Iterable[Verdict], overwrite: bool = True) -> None:
    """Write verdicts as a table that `read_verdicts` reads."""
    if file_form(path) not in WRITTEN:
        raise InputError(f"{path}: verdicts are written as .{', .'.join(WRITTEN)}; use one of these endings")
    rows = list(verdicts)
    table = pa.table({name: pa.array([getattr(one, name) for one in rows], pa.string()) for name in COLUMNS})
    write_bytes(path, file_content(path, table, path), overwrite)


def rejected(verdicts: Iterable[Verdict]) -> Rejected:
    """What at least half of the judges reject, of those who are not unsure.

    A judge who finds the question bad has no verdict on its choices.

    >>> rejected([Verdict("7", "cat", "correct"), Verdict("7", "dog", "wrong")]).choices
    {'7': frozenset({'cat'})}
    """
    votes: dict[str, dict[str, Counter[str]]] = {}
    judges: dict[str, set[str]] = {}
    for one in verdicts:
        votes.setdefault(one.question_id, {}).setdefault(one.choice, Counter())[one.verdict] += 1
        judges.setdefault(one.question_id, set()).add(one.judge)
    bad = (name for name, counts in votes.items()
           if "" in counts and 2 * counts[""][BAD_QUESTION] >= len(judges[name]))  # fmt: skip
    correct = {
        name: frozenset(text for text, of in counts.items() if text and of[CORRECT] and of[CORRECT] >= of[WRONG])
        for name, counts in votes.items()
    }
    return Rejected({name: texts for name, texts in correct.items() if texts}, frozenset(bad))


def read_rejections(path: Path) -> Rejected:
    """What a table of verdicts rejects.

    Raises:
        InputError: the table cannot be read, or rejects nothing.
    """
    verdicts = read_verdicts(path)
    found = rejected(verdicts)
    if not found.choices and not found.questions:
        none = f"none of its {counted(len(verdicts), 'verdict')} rejects a choice or a question"
        raise InputError(f"--reject {path}: {none}; remove the option")
    return found
