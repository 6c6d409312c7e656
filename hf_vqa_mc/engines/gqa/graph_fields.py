"""The fields of scene graph files; whatever is not as its publisher describes it is named with its place."""

from collections.abc import Iterable
from typing import Any

from hf_vqa_mc.errors import InputError, shown

LARGEST = 1_000_000
"""The largest width, height or place of a box, in pixels, that is taken for one."""


def field_of(record: object, name: str, kind: type, expected: str, place: str) -> Any:  # noqa: ANN401 (any json value)
    """A field of a json object, of a type.

    Raises:
        InputError: it is missing or none.
    """
    if not isinstance(record, dict):
        raise InputError(f"{place}: expected a json object, found {shown(record)}")
    if name not in record:
        listed = ", ".join(map(repr, list(record)[:20])) or "none"
        raise InputError(f"{place}, field {name!r}: it is missing; the record's fields are {listed}")
    if not isinstance(record[name], kind):
        raise InputError(f"{place}, field {name!r}: expected {expected}, found {shown(record[name])}")
    return record[name]


def id_of(record: object, name: str, place: str) -> str:
    """A field that is an id, a whole number or text, as text.

    Raises:
        InputError: it is missing or none.
    """
    value = field_of(record, name, object, "", place)
    if type(value) is int or (isinstance(value, str) and value):
        return str(value)
    raise InputError(f"{place}, field {name!r}: expected an id, found {shown(value)}")


def number_of(record: object, name: str, place: str) -> int:
    """A field that is a number of pixels, rounded.

    Raises:
        InputError: it is missing or none.
    """
    value = field_of(record, name, object, "", place)
    if type(value) in (int, float) and -LARGEST <= value <= LARGEST:
        return int(value + 0.5) if value >= 0 else -int(0.5 - value)
    raise InputError(f"{place}, field {name!r}: expected a number of pixels, found {shown(value)}")


def size_of(record: object, name: str, place: str) -> int:
    """A field that is an image's width or height.

    Raises:
        InputError: it is missing or none.
    """
    value = number_of(record, name, place)
    if value < 1:
        raise InputError(f"{place}, field {name!r}: expected the image's {name} in pixels, found {value}")
    return value


def box_of(record: object, place: str) -> tuple[int, int, int, int]:
    """The fields x, y, w, h.

    Raises:
        InputError: it is missing or none.
    """
    x, y, width, height = (number_of(record, name, place) for name in ("x", "y", "w", "h"))
    return x, y, width, height


def texts_of(values: Iterable[object], place: str) -> list[str]:
    """Values that must be texts.

    Raises:
        InputError: it is missing or none.
    """
    found = []
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"{place}: expected texts, found {shown(value)}")
        found.append(value)
    return found
