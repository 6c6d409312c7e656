"""Changes of one value in the content of a JSON file, by its path."""

from collections.abc import Callable
from typing import Any

Spoil = Callable[[Any], object]


def at(path: tuple[str | int, ...], change: Callable[[Any, Any], object]) -> Spoil:
    """Call ``change`` with the list or object that holds the value, and the last step of the path."""

    def spoil(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        change(content, path[-1])

    return spoil


def put(*path: str | int, to: object) -> Spoil:
    """Replace a value."""
    return at(path, lambda inner, last: inner.__setitem__(last, to))


def drop(*path: str | int) -> Spoil:
    """Remove a value."""
    return at(path, lambda inner, last: inner.__delitem__(last))


def repeat(*path: str | int) -> Spoil:
    """Repeat the first item of a list at its end."""
    return at(path, lambda inner, last: inner[last].append(inner[last][0]))
