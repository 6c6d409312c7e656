"""The layout of chat data: a user turn with question and lettered options, an assistant turn with the correct one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import ChoiceCells, is_list, is_text
from hf_vqa_mc.benchmarks.columns import named
from hf_vqa_mc.benchmarks.layouts.choices_and_label import ChoicesAndLabel
from hf_vqa_mc.benchmarks.layouts.layout import Layout, Tables, with_columns
from hf_vqa_mc.benchmarks.layouts.text_forms import OptionsInText
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError

MESSAGES = ("messages", "conversations", "conversation")
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant"}


@dataclass(frozen=True)
class ChatMessages(Layout):
    """A column of turns with role and content, or from and value."""

    name: ClassVar[str] = "chat_messages"

    column: str
    turns: ChoicesAndLabel
    """of a table with the text of the user turn and of the assistant turn"""

    @classmethod
    def find(cls, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> "ChatMessages | None":
        """The column of messages, if most user turns hold options."""
        table = tables[split]
        for column in options.choices or named(table.column_names, MESSAGES):
            kind = table.schema.field(column).type
            if column in named([column], MESSAGES) and (is_list(kind) or is_text(kind)):
                texts = _texts(table, column, location)
                form = OptionsInText.of(texts, texts.column_names[0])
                if form is not None:
                    label = BenchmarkOptions("", label=texts.column_names[1])
                    return cls(column, ChoicesAndLabel.with_label({split: texts}, split, form, label, location))
        return None

    @property
    def description(self) -> str:
        """The column, and the form of labels."""
        return f"chat messages; {self.turns.description}"

    @property
    def read_as(self) -> str:
        """Short description of the columns."""
        return self.turns.read_as

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def cells(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        return self.turns.cells(_texts(table, self.column, location), location)

    def labels(self, table: pa.Table, cells: ChoiceCells, location: str) -> NDArray[np.int64]:
        """(rows,): index of the correct choice."""
        return self.turns.labels(_texts(table, self.column, location), cells, location)

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the texts of user turns before the options, without ``<image>``."""
        found = self.turns.questions(_texts(table, self.column, location), location)
        return found and pc.utf8_trim_whitespace(pc.replace_substring(found, "<image>", ""))

    def write(self, table: pa.Table, rows: Mapping[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new options and answers in the turns of some rows."""
        texts = self.turns.write(_texts(table, self.column, location), rows, location)
        cells = table[self.column].to_pylist()
        for row in rows:
            packed = isinstance(cells[row], str)
            turns = json.loads(cells[row]) if packed else cells[row]
            for turn, column in zip(_of_row(turns, f"row {row}"), texts.columns, strict=True):
                holder, key = _text_of(turn, f"row {row}") if turn else ({}, "")
                holder[key] = column[row].as_py()
            cells[row] = json.dumps(turns, ensure_ascii=False) if packed else turns
        return with_columns(table, {self.column: pa.array(cells, table.schema.field(self.column).type)})


def _texts(table: pa.Table, column: str, location: str) -> pa.Table:
    """Texts of the user turn and the assistant turn of all rows, the latter null if there is none."""
    found: list[list[str | None]] = []
    for row, cell in enumerate(table[column].to_pylist()):
        where = f"{location}, row {row}: {column}"
        try:
            turns = _of_row(json.loads(cell) if isinstance(cell, str) else cell, where)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); expected a list of messages") from error
        found.append([None if turn is None else _holder_text(turn, where) for turn in turns])
    names = [f"{column}.user", f"{column}.assistant"]
    return pa.table({name: pa.array([one[index] for one in found], pa.string()) for index, name in enumerate(names)})


def _holder_text(turn: dict[str, Any], where: str) -> str:
    holder, key = _text_of(turn, where)
    return str(holder[key])


def _of_row(turns: Any, where: str) -> tuple[dict[str, Any], dict[str, Any] | None]:  # noqa: ANN401  any cell
    """The user turn and the assistant turn; raises InputError unless there is one user turn."""
    turns = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    by_role: dict[str, list[dict[str, Any]]] = {"user": [], "assistant": []}
    for turn in turns:
        role = str(turn.get("role") or turn.get("from"))
        by_role.get(_ROLES.get(role, ""), []).append(turn)
    users, assistants = by_role.values()
    if len(users) != 1 or len(assistants) > 1:
        raise InputError(
            f"{where} has {len(users)} user and {len(assistants)} assistant turns; expected one of each; write one "
            "question per row"
        )
    return users[0], assistants[0] if assistants else None


def _text_of(turn: dict[str, Any], where: str) -> tuple[dict[str, Any], str]:
    """The record and the key that hold the text of a turn; of a list of parts, the only one with text."""
    key = "content" if "content" in turn else "value"
    parts = turn.get(key)
    if isinstance(parts, str):
        return turn, key
    found = [part for part in parts if isinstance(part, dict) and part.get("text")] if isinstance(parts, list) else []
    if len(found) != 1:
        raise InputError(f"{where}: a turn has {len(found)} texts; expected one")
    return found[0], "text"
