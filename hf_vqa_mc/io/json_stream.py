"""Streaming reader of JSON files of any size; every error names file and location.

Not on ijson (3.6, yajl2_c): on compact JSON it takes 2.1 (Visual Genome's question_answers.json) to 3.3 times (GQA's
questions) as long as ``json.JSONDecoder.raw_decode`` on a window, and it rejects integers of more than 64 bits.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, TypeVar

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import File, opened, text_lines

CHUNK = 1 << 20
"""Bytes read at a time; records have hundreds to tens of thousands of characters."""
BATCH = 1 << 16
"""Characters of records per batch; larger batches are slower because of Python's garbage collector."""

DEEPEST = 200
"""Maximum depth of nested lists and objects; deeper ones would exceed Python's stack where they are used."""

_TOO_LONG = f"a number of more than {sys.get_int_max_str_digits():,} digits"
_SPACE = " \t\n\r"
_SPACES = re.compile(r"[ \t\n\r]*")
_NOT_NESTING = re.compile(r"[^\[\]{}]+")
_NESTING = {"[": 1, "{": 1, "]": -1, "}": -1}
_IN_NUMBER = "0123456789+-.eE"
# A value cut by the end of a chunk fails at most this many characters before it ("-Infinity", "\\uXXXX"), or as a
# string without an end; any other failure is the file's.
_CUT = 16

_Value = TypeVar("_Value")


def parsed(text: str | bytes) -> Any:  # noqa: ANN401  any json value
    """The value of a JSON text; raises ValueError if it is not JSON, too deeply nested, or has too long a number."""
    text = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
    check_depth(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise ValueError(_TOO_LONG) from None


def read_json(path: Path) -> Any:  # noqa: ANN401  any json value
    """The value of a small JSON file in UTF-8; raises OSError, and ValueError as `parsed`."""
    return parsed(path.read_text("utf-8"))


def check_depth(text: str, start: int = 0, end: int | None = None) -> None:
    """Raise ValueError if lists and objects in a JSON text are nested deeper than ``DEEPEST``."""
    if text.count("[", start, end) + text.count("{", start, end) > DEEPEST:
        unescaped = text[start:end].replace("\\\\", "").replace('\\"', "")
        marks = _NOT_NESTING.sub("", "".join(unescaped.split('"')[::2]))  # outside of strings
        if max(accumulate(map(_NESTING.__getitem__, marks)), default=0) > DEEPEST:
            raise ValueError(f"lists and objects are nested deeper than {DEEPEST} levels")


def list_items(file: File, key: str | None = None, others: dict[str, Any] | None = None) -> Iterator[list[Any]]:
    """Iterate over the items of a JSON file's list, in batches of about ``BATCH`` characters.

    Args:
        file: in UTF-8, plain or packed.
        key: the field that holds the list; None if the file is the list.
        others: receives the values of the object's other fields.

    Raises:
        InputError: the file is not JSON, is truncated, or does not hold such a list exactly once.
    """
    if key is not None:
        for _, batch in items_of_lists(file, (key,), others):
            yield batch
        return
    with _opened(file) as text:
        text.expect("[", "a JSON list")
        yield from text.batches(text.items("the list"))


def items_of_lists(
    file: File, keys: Sequence[str], others: dict[str, Any] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Iterate over (field, batch of items) of several lists of a JSON file's object, as `list_items` does of one."""
    fields: list[str] = []
    with _opened(file) as text:
        text.expect(
            "{", f"a JSON object with {'a list' if len(keys) == 1 else 'the lists'} {', '.join(map(repr, keys))}"
        )
        for field in text.field_names():
            if field not in keys:
                value = text.value(f"field {field!r}")
                if others is not None:
                    others[field] = value
            elif field in fields:
                raise InputError(f"{text.location}: field {field!r} occurs twice")
            else:
                text.expect("[", "a list", f"field {field!r}: ")
                for batch in text.batches(text.items(f"the list {field!r}")):
                    yield field, batch
            fields.append(field)
        for key in keys:
            if key not in fields:
                listed = ", ".join(repr(field[:40]) for field in fields[:20]) or "none"
                raise InputError(f"{text.location}: expected a field {key!r}, found the fields {listed}")


def object_items(file: File) -> Iterator[list[tuple[str, Any]]]:
    """Iterate over the (field, value) pairs of a JSON file's object, in batches; a repeated field is yielded twice.

    Raises:
        InputError: the file is not JSON, is truncated, or is not an object.
    """
    with _opened(file) as text:
        text.expect("{", "a JSON object")
        yield from text.batches((field, text.value(f"field {field!r}")) for field in text.field_names())


def json_lines(file: File) -> Iterator[tuple[int, Any]]:
    """Iterate over (line number, value) of JSON lines except empty ones; raises InputError if a line is not JSON."""
    with opened(file) as (stream, location):
        for number, line in enumerate(text_lines(stream, location), 1):
            if line.strip():
                try:
                    value = parsed(line)
                except json.JSONDecodeError as error:
                    raise InputError(
                        f"{location}, line {number}: not JSON at character {error.pos}: {error.msg}; expected one "
                        "object per line (write truncated files again)"
                    ) from None
                except ValueError as error:
                    raise InputError(
                        f"{location}, line {number}: {error}; expected one JSON object per line"
                    ) from None
                yield number, value


def first_character(file: File) -> str:
    """The first character of a text file that is not space, "" for an empty file: "[" of a list, "{" of an object."""
    with opened(file) as (stream, _):
        return stream.read(256).decode("utf-8-sig", errors="replace").lstrip()[:1]


@contextmanager
def _opened(file: File) -> Iterator["_Text"]:
    """The text of a file; raises InputError if non-space characters are left at the end."""
    with opened(file) as (stream, location):
        text = _Text(stream, location)
        yield text
        if text.peek():
            raise InputError(f"{location}: expected nothing after the end of the JSON, found {text.glimpse()}")


class _Text:
    """JSON text with only a window in memory."""

    def __init__(self, stream: IO[bytes], location: str) -> None:
        self.location = location
        self._stream = stream
        self._read_in = 0  # bytes
        self._characters = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = json.JSONDecoder().raw_decode
        self._window = ""
        self._at = 0  # in the window
        self._passed = 0  # characters before the window
        self._ended = False

    def peek(self) -> str:
        """The next non-space character, or "" at the end of the file."""
        while True:
            if self._at < len(self._window):
                if (found := self._window[self._at]) not in _SPACE:
                    return found
                if match := _SPACES.match(self._window, self._at):
                    self._at = match.end()
                continue
            if self._ended:
                return ""
            self._read_on(CHUNK)

    def glimpse(self) -> str:
        """The next characters, for messages."""
        return repr(self._window[self._at : self._at + 30]) if self.peek() else "the end of the file"

    def expect(self, mark: str, what: str, where: str = "") -> None:
        """Raise InputError unless the next character is ``mark``, which begins the expected value."""
        if self.peek() != mark:
            raise InputError(f"{self.location}: {where}expected {what}, found {self.glimpse()}")

    def take(self, mark: str) -> None:
        """Consume a punctuation mark."""
        found = self.peek()
        if not found:
            raise self._truncated(f"expected {mark!r}")
        if found != mark:
            raise self._malformed(f"expected {mark!r}, found {self.glimpse()}")
        self._at += 1

    def items(self, what: str) -> Iterator[Any]:
        """The items of the list that begins here."""
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

    def field_names(self) -> Iterator[str]:
        """The names of the fields of the object that begins here; the caller reads the value of each."""
        self.take("{")
        count = 0
        while self.peek() != "}":
            if count:
                self.take(",")
            self.expect('"', "a field's name in quotes")
            field = str(self.value("a field's name"))
            self.take(":")
            yield field
            count += 1
        self.take("}")

    def batches(self, values: Iterator[_Value]) -> Iterator[list[_Value]]:
        """Values in batches of about ``BATCH`` characters."""
        batch: list[_Value] = []
        begin = self._passed + self._at
        for value in values:
            batch.append(value)
            if self._passed + self._at - begin >= BATCH:
                yield batch
                batch, begin = [], self._passed + self._at
        if batch:
            yield batch

    def value(self, what: str) -> Any:  # noqa: ANN401 (any json value)
        """The JSON value that begins here; ``what`` describes it in messages."""
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
            except ValueError:
                raise self._malformed(f"{_TOO_LONG} in {what}") from None
            except RecursionError as error:
                raise self._malformed(f"{error} in {what}") from None
            else:
                following = self._window[end : end + 1]
                if self._ended or (following and following not in _IN_NUMBER):  # "1." may become 1.5 in the next chunk
                    try:
                        check_depth(self._window, self._at, end)
                    except ValueError as error:
                        raise self._malformed(f"{error} in {what}") from None
                    self._at = end
                    return value
            self._read_on(size)
            size *= 2  # so that the cost of a value longer than the window stays linear in its length

    def _read_on(self, size: int) -> None:
        content = self._stream.read(size)
        try:
            more = self._characters.decode(content, final=not content)
        except UnicodeDecodeError as error:
            start = self._read_in + len(content) - len(error.object) + error.start
            found = f"0x{error.object[error.start]:02x}"
            raise InputError(f"{self.location}: expected UTF-8 text, found {found} as byte {start:,}") from None
        self._read_in += len(content)
        self._passed += self._at
        self._window = self._window[self._at :] + more
        self._at = 0
        self._ended = not content

    def _truncated(self, what: str) -> InputError:
        return InputError(f"{self.location}: the JSON is truncated ({what}); download or write it again")

    def _malformed(self, what: str) -> InputError:
        return InputError(f"{self.location}: not JSON at character {self._passed + self._at:,}: {what}")
