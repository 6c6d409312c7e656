"""Typed columns of JSON records; errors name the location of unexpected values."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, TypeVar

from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.io.json_stream import items_of_lists, list_items
from hf_vqa_mc.io.packed import File, location_of

LARGEST = 999_999_999_999
"""The largest number that fits into COCO's file names; ids of all publishers are much smaller."""
WHOLE_NUMBER = f"a whole number from 0 to {LARGEST:,}"

_Value = TypeVar("_Value")


def read_records(file: File, key: str | None = None, others: dict[str, Any] | None = None) -> Iterator["Records"]:
    """Iterate over batches of a JSON file's records; arguments: see `list_items`. InputError if there are none."""
    first, location = 0, location_of(file)
    for rows in list_items(file, key, others):
        yield Records(rows, _locations(f"{location}, {key or 'record'}", first))
        first += len(rows)
    if not first:
        raise InputError(f"{location}: expected records in the list{f' {key!r}' if key else ''}, found none")


def read_lists(file: File, keys: Sequence[str]) -> Iterator[tuple[str, "Records"]]:
    """Iterate over (field, batch of records) of several lists of a JSON file's object; errors as `items_of_lists`."""
    done = dict.fromkeys(keys, 0)
    for field, rows in items_of_lists(file, keys):
        yield field, Records(rows, _locations(f"{location_of(file)}, {field}", done[field]))
        done[field] += len(rows)


def _locations(name: str, first: int) -> Callable[[int], str]:
    return lambda position: f"{name}[{first + position}]"


class Records:
    """Some records of a list as columns."""

    def __init__(self, rows: Sequence[Any], location: Callable[[int], str]) -> None:
        self.rows = rows
        self.location = location

    def __len__(self) -> int:
        """Number of records."""
        return len(self.rows)

    def column(self, field: str) -> list[Any]:
        """The field's values, of any type."""
        for position, row in enumerate(self.rows):
            if not isinstance(row, dict):
                raise InputError(f"{self.location(position)}: expected a JSON object, found {shown(row)}")
            if field not in row:
                fields = listed(list(map(repr, row)), 20) or "none"
                raise InputError(
                    f"{self.location(position)}, field {field!r}: it is missing; the record's fields are {fields}"
                )
        return [row[field] for row in self.rows]

    def checked(self, field: str, is_valid: Callable[[Any], bool], expected: str) -> list[Any]:
        """The field's values; raises InputError unless all are valid. ``expected`` describes valid ones."""
        values = self.column(field)
        for position, value in enumerate(values):
            if not is_valid(value):
                raise self.unexpected(position, field, expected, value)
        return values

    def texts(self, field: str, nulls: bool = False) -> list[str]:
        """The field's values, which must be text or, with ``nulls``, null."""
        return self.checked(field, lambda value: type(value) is str or (nulls and value is None), "text")

    def filled_texts(self, field: str) -> list[str]:
        """The field's values, which must be text with non-space characters."""
        return self.checked(field, lambda value: type(value) is str and value.strip() != "", "text")

    def ids(self, field: str) -> list[str]:
        """The field's values as text; they must be integers or non-empty text."""

        def is_id(value: Any) -> bool:  # noqa: ANN401  any JSON
            return type(value) is int or (type(value) is str and value != "" and value.isprintable())

        return list(map(str, self.checked(field, is_id, "a whole number (or text)")))

    def whole_numbers(self, field: str) -> list[int]:
        """The field's values, which must be integers from 0 to ``LARGEST``."""
        return self.checked(field, lambda value: type(value) is int and 0 <= value <= LARGEST, WHOLE_NUMBER)

    def named(self, field: str, meanings: Mapping[str, _Value]) -> list[_Value]:
        """The meanings of the field's values, which must be keys of ``meanings``."""
        expected = f"one of {', '.join(map(repr, meanings))}"
        values = self.checked(field, lambda value: type(value) is str and value in meanings, expected)
        return [meanings[value] for value in values]

    def booleans(self, field: str) -> list[bool]:
        """The field's values, which must be true or false."""
        return self.checked(field, lambda value: type(value) is bool, "true or false")

    def lists(self, field: str, length: int | None = None) -> list[list[Any]]:
        """The field's values, which must be lists, of ``length`` if given."""
        values = self.checked(field, lambda value: type(value) is list, "a list")
        for position, value in enumerate(values if length is not None else ()):
            if len(value) != length:
                raise self.unexpected(position, field, f"{length} items", len(value))
        return values

    def text_lists(self, field: str, length: int | None = None) -> list[list[str]]:
        """The field's values, which must be lists of texts, of ``length`` if given."""
        self.lists(field, length)
        return self.checked(field, lambda texts: set(map(type, texts)) <= {str}, "a list of texts")

    def nested(self, field: str, length: int | None = None) -> "Records":
        """The records of the lists in a field, concatenated."""
        lists = self.lists(field, length)
        ends = list(accumulate(map(len, lists)))

        def location(position: int) -> str:
            outer = bisect_right(ends, position)
            return f"{self.location(outer)}.{field}[{position - (ends[outer] - len(lists[outer]))}]"

        return Records(list(chain.from_iterable(lists)), location)

    def for_each(self, field: str, values: Sequence[_Value]) -> list[_Value]:
        """A value per record, repeated for each item of the list in a field, as in ``nested``."""
        pairs = zip(values, self.column(field), strict=True)
        return list(chain.from_iterable([value] * len(items) for value, items in pairs))

    def inner(self, field: str) -> "Records":
        """The objects in a field, one per record."""
        values = self.checked(field, lambda value: type(value) is dict, "a JSON object")
        return Records(values, lambda position: f"{self.location(position)}, field {field!r}")

    def unexpected(self, position: int, field: str, expected: str, found: object) -> InputError:
        """The error for an unexpected value."""
        return InputError(f"{self.location(position)}, field {field!r}: expected {expected}, found {shown(found)}")
