"""Vocabularies and templates of the engines: YAML files, each with a dataclass as its schema."""

from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from hf_vqa_mc.errors import InputError

T = TypeVar("T")

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # text needs no quotes in the file, not even "on" or "no"


def vocabulary(name: str, schema: type[T]) -> T:
    """Read a vocabulary, once per process.

    Args:
        name: engine and file, such as ``gqa/nouns`` for ``engines/gqa/data/nouns.yaml``.
        schema: dataclass with a field per key, with ``_`` for spaces: text, numbers, tuples, frozensets (of distinct
            items), dictionaries, other dataclasses.

    Raises:
        InputError: a key is missing, unknown or of another type.
    """
    engine, _, file = name.partition("/")
    return read_vocabulary(Path(__file__).parent / engine / "data" / f"{file}.yaml", schema)


def read_vocabulary(path: Path, schema: type[T]) -> T:
    """Read a vocabulary by its path, as `vocabulary`."""
    made: T = _read(path, schema)  # type: ignore[arg-type]  # a type is hashable
    return made


@cache
def _read(path: Path, schema: Any) -> Any:  # noqa: ANN401  a type and its instance
    try:
        return _converted(yaml.load(path.read_text("utf-8"), Loader=_LOADER), schema)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}; expected {schema.__name__}") from error


def _converted(value: Any, kind: Any) -> Any:  # noqa: ANN401  a YAML value, a type
    """A value of texts, lists and mappings as the type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        types = get_type_hints(kind)
        names = {key.replace(" ", "_"): item for key, item in value.items()}
        made: Any = kind
        return made(**{name: _converted(item, types[name]) for name, item in names.items()})
    if origin is dict:
        return {_converted(key, arguments[0]): _converted(item, arguments[1]) for key, item in value.items()}
    if origin in (tuple, frozenset):
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is not a list")
        items = [_converted(item, arguments[0]) for item in value]
        if origin is frozenset and len(set(items)) < len(items):
            raise ValueError(f"an item of {items} is listed twice")
        return origin(items)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return kind(value)
