"""What can be wrong with what we are given; every message names the place and the remedy."""

import reprlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class InputError(ValueError):
    """Something a user gave (a file, a record, a name, a number) cannot be used; commands print it and exit with 2."""


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message holds the pip line to type."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed: pip install "hf_vqa_mc[{extra}]"')


class CountMismatch(UserWarning):
    """A source does not hold as many triplets as its publisher says."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is in no table: suggests the nearest and lists the known ones.

    >>> print(unknown_name("source", "visual7", ["vqa", "visual7w"]))
    unknown source 'visual7': did you mean 'visual7w'? Known: visual7w, vqa
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return InputError(f"unknown {what} {name!r}{hint} Known: {', '.join(names)}")


def listed(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """The first of some names, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def shown(value: object) -> str:
    """A value in a message: never longer than a line, whatever it is.

    >>> shown([[1, 2], "red"])
    "[[1, 2], 'red']"
    """
    try:
        return reprlib.repr(value)[:100]
    except Exception:  # such as a number of more digits than Python spells
        return f"a {type(value).__name__}"
