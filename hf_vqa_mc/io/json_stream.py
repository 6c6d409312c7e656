"""Streaming reader of JSON files of any size; every error names file and location.

Not on ijson (3.6, yajl2_c): on compact JSON it takes 2.1 (Visual Genome's question_answers.json) to 3.3 times (GQA's
questions) as long as ``json.JSONDecoder.raw_decode`` on a window, and it rejects integers of more than 64 bits.
"""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.packed import File, location_of, opened, text_lines

CHUNK = 1 << 20  # bytes read at a time; records have hundreds to tens of thousands of characters
BATCH = 100  # records per batch; larger batches are slower because of Python's garbage collector

_SPACES = re.compile(r"[ \t\n\r]*")
_IN_NUMBER = "0123456789+-.eE"
# A value cut by the end of a chunk fails at most this many characters before it ("-Infinity", "\\uXXXX"), or as a
# string without an end; any other failure is the file's.
_CUT = 16

_Value = TypeVar("_Value")


def read_json(path: Path) -> Any:  # noqa: ANN401  any json value
    """The value of a small JSON file in UTF-8; raises InputError if it is not JSON, OSError if it cannot be read."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); write or download it again") from error


def list_items(file: File, key: str | None = None, others: dict[str, Any] | None = None) -> Iterator[list[Any]]:
    """Iterate over the items of a JSON file's list, plain or packed, in batches of ``BATCH``.

    ``key`` is the field that holds the list (None: the file is the list); ``others`` receives the other fields. Raises
    InputError if the file is not JSON, is truncated, or does not hold such a list exactly once.
    """
    if key is not None:
        yield from (batch for _, batch in items_of_lists(file, (key,), others))
        return
    with _opened(file) as text:
        yield from _batches(text.items("expected a JSON list"))


def items_of_lists(
    file: File, keys: Sequence[str], others: dict[str, Any] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Iterate over (field, batch of items) of several lists of a JSON file's object, as `list_items` does of one."""
    fields: list[str] = []
    with _opened(file) as text:
        lists = f"{'a list' if len(keys) == 1 else 'the lists'} {', '.join(map(repr, keys))}"
        for field in text.field_names(f"expected a JSON object with {lists}"):
            if field not in keys:
                value = text.value()
                if others is not None:
                    others[field] = value
            elif field in fields:
                raise InputError(f"{text.location}: field {field!r} occurs twice")
            else:
                yield from ((field, batch) for batch in _batches(text.items(f"field {field!r}: expected a list")))
            fields.append(field)
        if missing := [key for key in keys if key not in fields]:
            found = listed([repr(field[:40]) for field in fields], 20) or "none"
            raise InputError(f"{text.location}: expected a field {missing[0]!r}, found the fields {found}")


def object_items(file: File) -> Iterator[list[tuple[str, Any]]]:
    """Iterate over the (field, value) pairs of a JSON file's object, in batches; a repeated field is yielded twice."""
    with _opened(file) as text:
        yield from _batches((field, text.value()) for field in text.field_names("expected a JSON object"))


def json_lines(file: File) -> Iterator[tuple[int, Any]]:
    """Iterate over (line number, value) of JSON lines except empty ones; raises InputError if a line is not JSON."""
    location = location_of(file)
    with opened(file) as stream:
        for number, line in enumerate(text_lines(stream, location), 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    expected = "expected one object per line (write truncated files again)"
                    raise InputError(f"{location}, line {number}: not JSON ({error}); {expected}") from None


def first_character(file: File) -> str:
    """The first character of a text file that is not space, "" for an empty file: "[" of a list, "{" of an object."""
    with opened(file) as stream:
        return stream.read(256).decode("utf-8-sig", errors="replace").lstrip()[:1]


@contextmanager
def _opened(file: File) -> Iterator["_Text"]:
    """The text of a file; raises InputError if non-space characters are left at the end."""
    with opened(file) as stream:
        text = _Text(stream, location_of(file))
        yield text
        text.take("", "expected nothing after the end of the JSON")


def _batches(values: Iterator[_Value]) -> Iterator[list[_Value]]:
    while batch := list(islice(values, BATCH)):
        yield batch


class _Text:
    """JSON text with only a window in memory."""

    def __init__(self, stream: IO[bytes], location: str) -> None:
        self.location = location
        self._stream = stream
        self._characters = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = json.JSONDecoder().raw_decode
        self._window = ""
        self._at = 0  # in the window
        self._passed = 0  # characters before the window
        self._ended = False

    def peek(self) -> str:
        """The next non-space character, or "" at the end of the file."""
        while True:
            if match := _SPACES.match(self._window, self._at):
                self._at = match.end()
            if self._at < len(self._window) or self._ended:
                return self._window[self._at : self._at + 1]
            self._read_on(CHUNK)

    def take(self, mark: str, expected: str = "") -> None:
        """Consume a mark; raise InputError if there is another, where perhaps other JSON is ``expected``."""
        if self.peek() != mark:
            raise self._invalid(expected or f"expected {mark!r}", is_json=bool(expected))
        self._at += len(mark)

    def items(self, expected: str) -> Iterator[Any]:
        """The items of the list that begins here."""
        return (self.value() for _ in self._members("[]", expected))

    def field_names(self, expected: str) -> Iterator[str]:
        """The names of the fields of the object that begins here; the caller reads the value of each."""
        for _ in self._members("{}", expected):
            if self.peek() != '"':
                raise self._invalid("expected a field's name in quotes")
            field = str(self.value())
            self.take(":")
            yield field

    def _members(self, brackets: str, expected: str) -> Iterator[None]:
        """Stop at each item or field, separated by commas, of the list or object that begins here."""
        self.take(brackets[0], expected)
        separator = ""
        while self.peek() != brackets[1]:
            if separator:
                self.take(separator)
            yield
            separator = ","
        self.take(brackets[1])

    def value(self) -> Any:  # noqa: ANN401  any JSON value
        """The JSON value that begins here."""
        size = CHUNK
        self.peek()
        while True:
            try:
                value, end = self._decode(self._window, self._at)
            except json.JSONDecodeError as error:
                is_cut = "Unterminated" in error.msg or error.pos > len(self._window.rstrip()) - _CUT
                if self._ended or not is_cut:
                    self._at = len(self._window) if "Unterminated" in error.msg else error.pos
                    raise self._invalid(error.msg) from None
            else:
                following = self._window[end : end + 1]
                if self._ended or (following and following not in _IN_NUMBER):  # "1." may become 1.5 in the next chunk
                    self._at = end
                    return value
            self._read_on(size)
            size *= 2  # so that the cost of a value longer than the window stays linear in its length

    def _read_on(self, size: int) -> None:
        content = self._stream.read(size)
        try:
            more = self._characters.decode(content, final=not content)
        except UnicodeDecodeError as error:
            what = f"expected UTF-8 text, found 0x{error.object[error.start]:02x} after character {self._passed:,}"
            raise InputError(f"{self.location}: {what}") from None
        self._passed += self._at
        self._window = self._window[self._at :] + more
        self._at = 0
        self._ended = not content

    def _invalid(self, what: str, is_json: bool = False) -> InputError:
        if not self.peek():
            return InputError(f"{self.location}: the JSON is truncated ({what}); download or write it again")
        where = "" if is_json else f"not JSON at character {self._passed + self._at:,}: "
        return InputError(f"{self.location}: {where}{what}, found {self._window[self._at : self._at + 30]!r}")
