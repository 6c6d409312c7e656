"""Vocabularies and templates of the engines: YAML files, which describe their keys."""

from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # text needs no quotes in the file, not even "on" or "no"


class Vocabulary(dict[str, frozenset[str]]):
    """The lists of words of a YAML file as sets, by key; ``gqa/nouns`` is ``engines/gqa/data/nouns.yaml``."""

    def __init__(self, name: str) -> None:
        engine, _, file = name.partition("/")
        path = Path(__file__).parent / engine / "data" / f"{file}.yaml"
        self._content = yaml.load(path.read_text("utf-8"), Loader=_LOADER)
        lists = {key: value for key, value in self._content.items() if isinstance(value, list)}
        super().__init__({key: frozenset(value) for key, value in lists.items() if set(map(type, value)) <= {str}})

    def read(self, key: str, kind: type[T]) -> T:
        """The content of a key as a type of text, numbers, tuples, frozensets, dictionaries, dataclasses."""
        read: T = converted(self._content[key], kind)
        return read


def read_vocabulary(path: Path, schema: type[T]) -> T:
    """Read a YAML file as a dataclass with a field per key, with ``_`` for spaces."""
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
