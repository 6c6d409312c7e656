"""The interface of a form in which columns hold the choices of a row."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.cells import ChoiceCells
from hf_vqa_mc.data.names import columns_in_words
from hf_vqa_mc.errors import InputError

NewRows = Mapping[int, tuple[Sequence[str], int]]
"""New choices, and the index of the correct one, by row; for changed rows only."""


@dataclass(frozen=True)
class ChoiceForm(ABC):
    """A form of columns with choices; tables are those of `nested.flat`."""

    name: ClassVar[str]

    columns: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self | None:
        """The form of a column; None if the column does not have it."""
        return None

    @abstractmethod
    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, and what is wrong with some."""

    @abstractmethod
    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices, new columns last; raises InputError if the form cannot represent them."""

    @property
    def column(self) -> str:
        """The only column."""
        return self.columns[0]

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"choices={columns_in_words(self.columns)}"

    def widened(self, columns: tuple[str, ...]) -> "ChoiceForm":
        """The form of the columns that `write` returned."""
        return replace(self, columns=columns)

    def questions(self, table: pa.Table) -> pa.Array | None:
        """(rows,): the questions, if a column of choices holds them too; else None."""
        return None


def typed(texts: pa.Array, kind: pa.DataType, column: str, what: str) -> pa.Array:
    """Texts as a column of another type; raises InputError if a text cannot be converted."""
    if pa.types.is_null(kind):
        return texts  # a column without values has no type to keep
    try:
        return (pc.utf8_lower(texts) if pa.types.is_boolean(kind) else texts).cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(f"column {column!r}: new {what} does not fit {kind} ({error}); store it as text") from error
