"""Vocabularies and templates of the engines: YAML files, each with a dataclass as its schema."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from hf_vqa_mc.errors import InputError

T = TypeVar("T")

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is 8 times as fast as PyYAML's own loader
_READ: dict[str, Any] = {}  # the vocabularies read in this process
_SCALARS = {str: "text", int: "an integer", float: "a number"}


def vocabulary(name: str, schema: type[T]) -> T:
    """Read a vocabulary, once per process.

    Args:
        name: engine and file, such as ``gqa/nouns`` for ``engines/gqa/data/nouns.yaml``.
        schema: dataclass with a field per key, with ``_`` for spaces: text, numbers, tuples, frozensets (of distinct
            items), dictionaries, other dataclasses. Text needs no quotes in the file, not even ``on`` or ``no``.

    Raises:
        InputError: the file cannot be read, or a key is missing, unknown, given twice or of another type; names the
            file, the line, the key and the expected type.
    """
    engine, _, file = name.partition("/")
    if name not in _READ:
        _READ[name] = read_vocabulary(Path(__file__).parent / engine / "data" / f"{file}.yaml", schema)
    made: T = _READ[name]
    return made


def read_vocabulary(path: Path, schema: type[T]) -> T:
    """Read a vocabulary by its path, as `vocabulary`."""
    try:
        node = yaml.compose(path.read_text("utf-8"), Loader=_LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not a vocabulary in YAML: {' '.join(str(error).split())}") from error
    made: T = _Reader(path).convert(node, schema, ())
    return made


class _Reader:
    """Converts the nodes of a file to the types of its schema."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def convert(self, node: Any, kind: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401  a node, a type
        """The value of a node, at the position that the keys name."""
        origin, arguments = get_origin(kind), get_args(kind)
        if is_dataclass(kind):
            return self._record(node, kind, keys)
        if origin is dict:
            key_type, item_type = arguments
            return {
                self.convert(key, key_type, keys): self.convert(item, item_type, (*keys, key.value))
                for key, item in self._pairs(node, kind, keys)
            }
        if origin in (tuple, frozenset):
            if not isinstance(node, yaml.SequenceNode):
                raise self._unexpected(node, kind, keys)
            items = [self.convert(item, arguments[0], (*keys, str(at))) for at, item in enumerate(node.value, 1)]
            if origin is frozenset and (twice := _twice(items)):
                raise self._error(node, keys, f"{twice[0]!r} is listed twice")
            return origin(items)
        if not isinstance(node, yaml.ScalarNode) or (kind is str and node.tag.endswith(":null")):
            raise self._unexpected(node, kind, keys)
        try:
            return kind(node.value)
        except ValueError:
            raise self._unexpected(node, kind, keys) from None

    def _record(self, node: Any, kind: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401  a node, a dataclass
        given = {key.value.replace(" ", "_"): (key, item) for key, item in self._pairs(node, kind, keys)}
        known = {one.name: one for one in fields(kind)}
        for name, (key, _) in given.items():
            if name not in known:
                names = ", ".join(known).replace("_", " ")
                raise self._error(key, (*keys, key.value), f"unknown; expected one of {names}")
        types = get_type_hints(kind)
        for name, one in known.items():
            if name not in given and one.default is MISSING and one.default_factory is MISSING:
                key = name.replace("_", " ")
                raise self._error(node, (*keys, key), f"missing; expected {_described(types[name])}")
        made = {name: self.convert(item, types[name], (*keys, key.value)) for name, (key, item) in given.items()}
        return kind(**made)

    def _pairs(self, node: Any, kind: Any, keys: tuple[str, ...]) -> list[tuple[Any, Any]]:  # noqa: ANN401  nodes
        if not isinstance(node, yaml.MappingNode):
            raise self._unexpected(node, kind, keys)
        if twice := _twice(key.value for key, _ in node.value):
            raise self._error(node, (*keys, str(twice[0])), "given twice")
        pairs: list[tuple[Any, Any]] = node.value
        return pairs

    def _unexpected(self, node: Any, kind: Any, keys: tuple[str, ...]) -> InputError:  # noqa: ANN401  a node, a type
        found = repr(node.value) if isinstance(node, yaml.ScalarNode) else _DESCRIBED.get(type(node), "nothing")
        return self._error(node, keys, f"expected {_described(kind)}; found {found}")

    def _error(self, node: Any, keys: tuple[str, ...], problem: str) -> InputError:  # noqa: ANN401  a node
        line = f", line {node.start_mark.line + 1}" if node is not None else ""
        key = f", key {' > '.join(keys)!r}" if keys else ""
        return InputError(f"{self.path}{line}{key}: {problem}")


_DESCRIBED = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}


def _described(kind: Any) -> str:  # noqa: ANN401  a type
    """A type in words."""
    if is_dataclass(kind) or get_origin(kind) is dict:
        return "a mapping"
    return _SCALARS.get(kind, "a list")


def _twice(values: Iterable[object]) -> list[object]:
    """Values that occur more than once."""
    return [value for value, count in Counter(values).items() if count > 1]
