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
_ROLES = ("user", "human"), ("assistant", "gpt")


@dataclass(frozen=True)
class ChatMessages(Layout):
    """A column of turns with role and content, or from and value."""

    name: ClassVar[str] = "chat_messages"

    column: str
    turns: ChoicesAndLabel
    """layout of a table with the text of the user turn and of the assistant turn"""

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
            turns, fields = _parsed(cells[row], f"row {row}: {self.column}")
            for (record, key), column in zip(fields, texts.columns, strict=False):
                record[key] = column[row].as_py()
            cells[row] = json.dumps(turns, ensure_ascii=False) if isinstance(cells[row], str) else turns
        return with_columns(table, {self.column: pa.array(cells, table.schema.field(self.column).type)})


def _texts(table: pa.Table, column: str, location: str) -> pa.Table:
    """Texts of the user turn and the assistant turn of all rows, the latter null if there is none."""
    cells = enumerate(table[column].to_pylist())
    found = [_parsed(cell, f"{location}, row {row}: {column}")[1] for row, cell in cells]
    texts = [[record[key] for record, key in fields] for fields in found]
    users, assistants = [one[0] for one in texts], [one[1] if one[1:] else None for one in texts]
    return pa.table({f"{column}.user": pa.array(users), f"{column}.assistant": pa.array(assistants, pa.string())})


def _parsed(cell: Any, where: str) -> tuple[Any, list[tuple[dict[str, Any], str]]]:  # noqa: ANN401  any cell
    """The turns of a row, and record and key of the text of its user turn and of its assistant turn, if any.

    Raises:
        InputError: there is not one user turn, or a turn has several texts.
    """
    try:
        turns = json.loads(cell) if isinstance(cell, str) else cell
    except ValueError as error:
        raise InputError(f"{where} is not JSON ({error}); expected a list of messages") from error
    records = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    users, assistants = ([one for one in records if (one.get("role") or one.get("from")) in some] for some in _ROLES)
    if len(users) != 1 or len(assistants) > 1:
        raise InputError(
            f"{where} has {len(users)} user and {len(assistants)} assistant turns; expected one of each: write one "
            "question per row"
        )
    fields: list[tuple[dict[str, Any], str]] = []
    for turn in (*users, *assistants):
        key = "content" if "content" in turn else "value"
        content = turn.get(key)
        parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        texts = [(turn, key)] if isinstance(content, str) else [(one, "text") for one in parts if one.get("text")]
        if len(texts) != 1:
            raise InputError(f"{where}: a turn has {len(texts)} texts; expected one")
        fields += texts
    return turns, fields
