"""Vocabularies and templates of the engines: YAML files, each with a dataclass as its schema."""

from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # text needs no quotes in the file, not even "on" or "no"


def vocabulary(name: str, schema: type[T]) -> T:
    """Read a vocabulary: ``gqa/nouns`` is ``engines/gqa/data/nouns.yaml``.

    ``schema``: dataclass with a field per key, with ``_`` for spaces: text, numbers, tuples, frozensets (of distinct
    items), dictionaries, other dataclasses.
    """
    engine, _, file = name.partition("/")
    return read_vocabulary(Path(__file__).parent / engine / "data" / f"{file}.yaml", schema)


def read_vocabulary(path: Path, schema: type[T]) -> T:
    """Read a vocabulary by its path, as `vocabulary`."""
    made: T = converted(yaml.load(path.read_text("utf-8"), Loader=_LOADER), schema)
    return made


def converted(value: Any, kind: Any) -> Any:  # noqa: ANN401  a YAML value, a type
    """A value of texts, lists and mappings as the type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        types, made = get_type_hints(kind), cast(Callable[..., Any], kind)
        names = {key.replace(" ", "_"): item for key, item in value.items()}
        return made(**{name: converted(item, types[name]) for name, item in names.items()})
    if origin is dict:
        return {key: converted(item, arguments[1]) for key, item in value.items()}
    return origin(converted(item, arguments[0]) for item in value) if origin else kind(value)
