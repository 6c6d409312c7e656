"""Reading the long lists of a json file piece by piece, so that a file of a gigabyte never lies in memory whole."""

import codecs
import json
from collections.abc import Iterator, Sequence
from typing import IO, Any, TypeVar

from hf_vqa_mc.errors import InputError

CHUNK = 1 << 20
"""Bytes read at a time; records are some hundred to some ten thousand characters long."""
BATCH = 1 << 16
"""Characters of records handed on at a time; many more at once are slower, for Python's collector walks over them."""

_SPACE = " \t\n\r"
_IN_NUMBER = "0123456789+-.eE"
# A value cut by the end of a chunk fails at most this many characters before it ("-Infinity", "\\uXXXX"), or as a
# string without an end; any other failure is the file's.
_CUT = 16

_Value = TypeVar("_Value")


def list_items(
    stream: IO[bytes], place: str, key: str | None, others: dict[str, Any] | None = None
) -> Iterator[list[Any]]:
    """The items of a json file's list, in batches.

    Args:
        stream: the file; UTF-8.
        place: the file's name, for messages.
        key: the field of the file's object that holds the list, or None where the file is the list.
        others: takes the values of the object's other fields, if they are wanted.

    Yields:
        The items of ``BATCH`` characters or a few more at a time, in order.

    Raises:
        InputError: the file is not json, is truncated, or does not hold such a list exactly once.
    """
    text = _Text(stream, place)
    if key is None:
        if text.peek() != "[":
            raise InputError(f"{place}: expected a json list, found {text.glimpse()}")
        yield from text.items("the list")
    else:
        if text.peek() != "{":
            raise InputError(f"{place}: expected a json object with a list {key!r}, found {text.glimpse()}")
        for _, batch in _field_items(text, (key,), others):
            yield batch
    text.check_end()


def items_of_lists(stream: IO[bytes], place: str, keys: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """The items of several lists of a json file's object, in batches as those of ``list_items``.

    Args:
        stream: the file; UTF-8.
        place: the file's name, for messages.
        keys: the fields that hold the lists; other fields are passed over.

    Yields:
        The field and some items of its list; the lists in the order of the file, of an empty one nothing.

    Raises:
        InputError: the file is not json, is truncated, or does not hold each list exactly once.
    """
    text = _Text(stream, place)
    if text.peek() != "{":
        listed = ", ".join(map(repr, keys))
        raise InputError(f"{place}: expected a json object with the lists {listed}, found {text.glimpse()}")
    yield from _field_items(text, keys, None)
    text.check_end()


def object_items(stream: IO[bytes], place: str) -> Iterator[list[tuple[str, Any]]]:
    """The fields of a json file's object with their values, in order and in batches as those of ``list_items``.

    A field that occurs twice is given twice.

    Args:
        stream: the file; UTF-8.
        place: the file's name, for messages.

    Raises:
        InputError: the file is not json, is truncated, or is no object.
    """
    text = _Text(stream, place)
    if text.peek() != "{":
        raise InputError(f"{place}: expected a json object, found {text.glimpse()}")
    yield from text.batches(_fields(text))
    text.check_end()


def _fields(text: "_Text") -> Iterator[tuple[str, Any]]:
    for field in text.field_names():
        yield field, text.value(f"field {field!r}")


def _field_items(text: "_Text", keys: Sequence[str], others: dict[str, Any] | None) -> Iterator[tuple[str, list[Any]]]:
    fields: list[str] = []
    for field in text.field_names():
        if field not in keys:
            value = text.value(f"field {field!r}")
            if others is not None:
                others[field] = value
        elif field in fields:
            raise InputError(f"{text.place}: field {field!r} occurs twice")
        elif text.peek() != "[":
            raise InputError(f"{text.place}: field {field!r}: expected a list, found {text.glimpse()}")
        else:
            for batch in text.items(f"the list {field!r}"):
                yield field, batch
        fields.append(field)
    for key in keys:
        if key not in fields:
            listed = ", ".join(repr(field[:40]) for field in fields[:20]) or "none"
            raise InputError(f"{text.place}: expected a field {key!r}, found the fields {listed}")


class _Text:
    """Json text of which only a window is in memory."""

    def __init__(self, stream: IO[bytes], place: str) -> None:
        self.place = place
        self._stream = stream
        self._read_in = 0  # bytes
        self._characters = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = json.JSONDecoder().raw_decode
        self._window = ""
        self._at = 0  # in the window
        self._passed = 0  # characters before the window
        self._ended = False

    def peek(self) -> str:
        """The next character that is not space, or "" at the end of the file."""
        while True:
            while self._at < len(self._window):
                if self._window[self._at] not in _SPACE:
                    return self._window[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._read_on(CHUNK)

    def take(self, mark: str) -> None:
        """Steps over a punctuation mark."""
        found = self.peek()
        if not found:
            raise self._truncated(f"expected {mark!r}")
        if found != mark:
            raise self._malformed(f"expected {mark!r}, found {self.glimpse()}")
        self._at += 1

    def items(self, what: str) -> Iterator[list[Any]]:
        """The items of the list that begins here, in batches."""
        yield from self.batches(self._items(what))

    def _items(self, what: str) -> Iterator[Any]:
        self.take("[")
        count = 0
        while (found := self.peek()) != "]":
            if not found:
                raise self._truncated(f"it ends in {what} after {count} records")
            if count:
                self.take(",")
            yield self.value(f"{what} after {count} records")
            count += 1
        self.take("]")

    def batches(self, values: Iterator[_Value]) -> Iterator[list[_Value]]:
        """Values that are read from here on, those of ``BATCH`` characters at a time."""
        batch: list[_Value] = []
        begin = self._passed + self._at
        for value in values:
            batch.append(value)
            if self._passed + self._at - begin >= BATCH:
                yield batch
                batch, begin = [], self._passed + self._at
        if batch:
            yield batch

    def field_names(self) -> Iterator[str]:
        """The names of the fields of the object that begins here; who asks for the next has read the value."""
        self.take("{")
        count = 0
        while self.peek() != "}":
            if count:
                self.take(",")
            if self.peek() != '"':
                raise InputError(f"{self.place}: expected a field's name in quotes, found {self.glimpse()}")
            field = str(self.value("a field's name"))
            self.take(":")
            yield field
            count += 1
        self.take("}")

    def check_end(self) -> None:
        """Nothing, if nothing but space is left.

        Raises:
            InputError: there is more.
        """
        if self.peek():
            raise InputError(f"{self.place}: expected nothing after the end of the json, found {self.glimpse()}")

    def value(self, what: str) -> Any:  # noqa: ANN401 (any json value)
        """The json value that begins here; what: where that is, for the message."""
        size = CHUNK
        self.peek()
        while True:
            try:
                value, end = self._decode(self._window, self._at)
            except json.JSONDecodeError as error:
                filled = len(self._window.rstrip(_SPACE))
                endless = "Unterminated string" in error.msg
                if self._ended and (endless or error.pos >= filled or self._window[error.pos :].strip().isalpha()):
                    raise self._truncated(f"it ends in the middle of {what}") from None
                if self._ended or not (endless or error.pos > filled - _CUT):
                    self._at = min(error.pos, len(self._window))
                    raise self._malformed(f"{error.msg} in {what}") from None
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
                raise self._malformed(f"{error} in {what}") from None
            else:
                following = self._window[end : end + 1]
                if self._ended or (following and following not in _IN_NUMBER):  # "1." may become 1.5 in the next chunk
                    self._at = end
                    return value
            self._read_on(size)
            size *= 2  # so that a value longer than the window costs no more than twice its length to read

    def glimpse(self) -> str:
        """What stands here, for messages."""
        return repr(self._window[self._at : self._at + 30]) if self.peek() else "the end of the file"

    def _read_on(self, size: int) -> None:
        content = self._stream.read(size)
        try:
            more = self._characters.decode(content, final=not content)
        except UnicodeDecodeError as error:
            start = self._read_in + len(content) - len(error.object) + error.start
            found = f"0x{error.object[error.start]:02x}"
            raise InputError(f"{self.place}: expected UTF-8 text, found {found} as byte {start:,}") from None
        self._read_in += len(content)
        self._passed += self._at
        self._window = self._window[self._at :] + more
        self._at = 0
        self._ended = not content

    def _truncated(self, what: str) -> InputError:
        return InputError(f"{self.place}: the json is truncated ({what}); download or write it again")

    def _malformed(self, what: str) -> InputError:
        return InputError(f"{self.place}: not json at character {self._passed + self._at:,}: {what}")
