"""Columns of questions and answers, one row per question, validated once so that schemes only count."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, shown

Column = Sequence[Any] | NDArray[Any]  # one value per question
ById = Iterable[Mapping[str, Any]] | Mapping[str, Any] | Mapping[int, Any]
"""A list of records, each with its question's id, or a mapping from id to value."""
EXACT = 2**53  # whole numbers up to this one are exact as floating-point numbers
ID_FIELDS = ("question_id", "questionId")
RECORD = (dict, Mapping)
"""Types of a record; dict first, because isinstance with it is four times as fast as with Mapping."""


class Columns:
    """The columns of a scheme's input by name, as lists of the same length; ``question_ids`` are for messages.

    Raises InputError if a column is not a list, lengths differ, there are no questions, or an id occurs twice.
    """

    def __init__(
        self, needed: Mapping[str, Column], question_ids: Column | None = None, **optional: Column | None
    ) -> None:
        given = {"question_ids": question_ids, **optional}
        self._columns = {name: as_list(name, column) for name, column in needed.items()}
        self._columns |= {name: as_list(name, column) for name, column in given.items() if column is not None}
        check_lengths(self._columns)
        self.count = len(next(iter(self._columns.values())))  # number of questions
        if not self.count:
            raise InputError("no questions to score")
        ids = self.groups("question_ids") or []
        if len(set(ids)) < len(ids):
            (twice, times), *_ = Counter(ids).most_common(1)
            raise InputError(f"question {twice!r} occurs {times} times in question_ids; expected once")

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def where(self, row: int) -> str:
        """A question's name in messages."""
        return f"question {shown(self._columns['question_ids'][row])}" if "question_ids" in self else f"row {row + 1}"

    def wrong(self, row: int, field: str, expected: str) -> InputError:
        """The error for an invalid value."""
        return InputError(f"{self.where(row)}: {field} is {shown(self._columns[field][row])}, expected {expected}")

    def check(self, name: str, is_valid: Callable[[Any], object], expected: str) -> None:
        """Raise InputError unless all values of a column are valid; ``expected`` describes valid ones."""
        for row, value in enumerate(self._columns[name]):
            if not is_valid(value):
                raise self.wrong(row, name, expected)

    def texts(self, name: str) -> list[str]:
        """A column of text; raises InputError if a value is not text."""
        column = self._columns[name]
        if not set(map(type, column)) <= {str}:
            self.check(name, lambda value: isinstance(value, str), "text")
        return column

    def lists(self, name: str, what: str, of_text: bool = True) -> list[list[Any]]:
        """A column of lists, of text unless it may be anything; raises InputError if one is empty or no such list."""
        column, expected = self._columns[name], f"a list of {what}, at least one"
        self.check(name, lambda values: isinstance(values, list | tuple) and values, expected)
        if of_text and not set(map(type, chain.from_iterable(column))) <= {str}:
            self.check(name, lambda values: all(isinstance(one, str) for one in values), expected)
        return column

    def groups(self, name: str) -> list[str] | None:
        """A column of names or whole numbers by which to group (types, images), as text; None if it was not given.

        Raises InputError if a value is neither.
        """
        column = self._columns.get(name)
        if column is None or set(map(type, column)) <= {str}:
            return column
        self.check(name, lambda value: isinstance(value, str) or is_whole(value), "a name or a whole number")
        return list(map(str, column))


def check_lengths(columns: Mapping[str, list[Any]]) -> None:
    """Raise InputError unless all columns have the same length."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length:,} {name}" for name, length in lengths.items())
        raise InputError(f"{counts}: expected one of each per question")


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, but not True or False."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_list(name: str, column: object) -> list[Any]:
    """The values of a list or array of numpy, torch, pandas, pyarrow or datasets, with Python's lists and numbers.

    Raises InputError, with the column's name, if it is neither.

    >>> as_list("predictions", np.array([1, 0]))
    [1, 0]
    """
    method = getattr(column, "tolist", None) or getattr(column, "to_pylist", None)
    listed = method() if method else column
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes | bytearray | memoryview):
        raise InputError(f"{name} is {type(column).__name__}, expected a list")
    if not any(hasattr(kind, "tolist") for kind in set(map(type, listed))):
        return listed if isinstance(listed, list) else list(listed)
    return [value.tolist() if hasattr(value, "tolist") else value for value in listed]


def by_question_id(name: str, given: ById, field: str | None = None, once: bool = False) -> dict[str, Any]:
    """Values by question id as text: 201 and "201" are the same question.

    Messages use ``name``; in a list, the value is a field of a record, or all of it. If a question occurs twice, the
    last value counts, as in the official program; with ``once`` it is an error.

    >>> by_question_id("predictions", [{"questionId": 201, "prediction": "yes"}], "prediction")
    {'201': 'yes'}
    """
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InputError(f"{name} is {type(given).__name__}, expected a list of records or a mapping by question id")
    if isinstance(given, Mapping):
        if set(map(type, given)) <= {str}:
            return dict(given)
        field = field or "record"
        given = ({ID_FIELDS[0]: key, field: value} for key, value in given.items())
    found: dict[str, Any] = {}
    for row, record in enumerate(given, 1):
        key: object = ...
        if isinstance(record, RECORD):
            key = record.get(ID_FIELDS[0], ...)
            key = record.get(ID_FIELDS[1], ...) if key is ... else key
        if key is ...:
            expected = f"a record with {' or '.join(ID_FIELDS)}"
            raise InputError(f"{name}, row {row}, is {shown(record)}, expected {expected}")
        question_id = key if type(key) is str else text_id(key)
        if question_id is None:
            raise InputError(f"{name}, row {row}: its question's id is {shown(key)}, expected text or a whole number")
        if field is not None and field not in record:
            raise InputError(f"{name}, row {row}: question {question_id!r} has no {field}")
        if once and question_id in found:
            raise InputError(f"question {question_id!r} occurs more than once in {name}")
        found[question_id] = record if field is None else record[field]
    return found


def text_id(value: object) -> str | None:
    """An id as text; None if it is not an id. A floating-point number that is whole, as in data frames, is one."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return str(int(value))
    return str(value) if is_whole(value) else None
