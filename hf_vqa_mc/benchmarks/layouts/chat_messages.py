"""The layout of LLaVA's conversations: a human turn with question and lettered options, and one with the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import ChoiceCells, is_list
from hf_vqa_mc.benchmarks.layouts.choices_and_label import ChoicesAndLabel
from hf_vqa_mc.benchmarks.layouts.layout import Layout, Tables, with_columns
from hf_vqa_mc.benchmarks.layouts.text_forms import OptionsInText
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError

COLUMN = "conversations"


@dataclass(frozen=True)
class ChatMessages(Layout):
    """A column of turns with ``from`` (human or gpt) and ``value``."""

    name: ClassVar[str] = "chat_messages"

    turns: ChoicesAndLabel
    """layout of a table with the text of the human turn and of the other turn"""
    columns: ClassVar[tuple[str, ...]] = (COLUMN,)

    @classmethod
    def find(cls, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> "ChatMessages | None":
        """The layout, if most human turns hold options."""
        table = tables[split]
        if COLUMN not in (options.choices or table.column_names) or not _has_turns(table.schema.field(COLUMN).type):
            return None
        texts = _texts(table, location)
        form = OptionsInText.of(texts, texts.column_names[0])
        if form is None:
            return None
        label = BenchmarkOptions("", label=texts.column_names[1])
        return cls(ChoicesAndLabel.with_label({split: texts}, split, form, label, location))

    @property
    def description(self) -> str:
        """The form of labels."""
        return f"chat messages; {self.turns.description}"

    @property
    def read_as(self) -> str:
        """Short description of the columns."""
        return self.turns.read_as

    def cells(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        return self.turns.cells(_texts(table, location), location)

    def labels(self, table: pa.Table, cells: ChoiceCells, location: str) -> NDArray[np.int64]:
        """(rows,): index of the correct choice."""
        return self.turns.labels(_texts(table, location), cells, location)

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the texts of human turns before the options, without ``<image>``."""
        found = self.turns.questions(_texts(table, location), location)
        return found and pc.utf8_trim_whitespace(pc.replace_substring(found, "<image>", ""))

    def write(self, table: pa.Table, rows: Mapping[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new options and answers in the turns of some rows."""
        texts = self.turns.write(_texts(table, location), rows, location)
        cells = table[COLUMN].to_pylist()
        for row in rows:
            for turn, column in zip(_turns(cells[row], f"row {row}"), texts.columns, strict=False):
                turn["value"] = column[row].as_py()
        return with_columns(table, {COLUMN: pa.array(cells, table.schema.field(COLUMN).type)})


def _has_turns(kind: pa.DataType) -> bool:
    struct = kind.value_type if is_list(kind) else kind
    return is_list(kind) and pa.types.is_struct(struct) and {"from", "value"} <= {field.name for field in struct}


def _texts(table: pa.Table, location: str) -> pa.Table:
    """Texts of the human turn and the other turn of all rows, the latter null if there is none."""
    turns = [_turns(cell, f"{location}, row {row}") for row, cell in enumerate(table[COLUMN].to_pylist())]
    columns = [[one[at]["value"] if one[at:] else None for one in turns] for at in range(2)]
    return pa.table({f"{COLUMN}.{name}": pa.array(column, pa.string())
                     for name, column in zip(("human", "gpt"), columns, strict=True)})  # fmt: skip


def _turns(cell: list[dict[str, Any]] | None, where: str) -> list[dict[str, Any]]:
    """The human turn of a row and the other one, if any; raises InputError if a turn occurs twice."""
    humans, others = ([turn for turn in cell or () if turn and turn["from"] == name] for name in ("human", "gpt"))
    if len(humans) != 1 or len(others) > 1:
        raise InputError(
            f"{where}: {COLUMN} has {len(humans)} human and {len(others)} gpt turns; expected one of each: write one "
            "question per row"
        )
    return [*humans, *others]
