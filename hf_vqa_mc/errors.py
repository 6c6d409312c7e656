"""Errors of invalid input; every message names location and remedy."""

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches


class InputError(ValueError):
    """A file, record, name or number given by the user is invalid; commands print the message and exit with code 2."""


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message contains the pip command."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed: pip install "hf_vqa_mc[{extra}]"')


class CountMismatch(UserWarning):
    """The number of triplets of a source differs from the published one."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for an unknown name; suggests the nearest name and lists the known ones.

    >>> print(unknown_name("source", "visual7", ["vqa", "visual7w"]))
    unknown source 'visual7': did you mean 'visual7w'? Known: visual7w, vqa
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return InputError(f"unknown {what} {name!r}{hint} Known: {', '.join(names)}")


def python_names(text: str, flags: Mapping[str, str] | None = None) -> str:
    """A message with arguments of Python instead of options, except in commands, which are indented or of vqa-mc.

    ``flags``: option to argument.

    >>> python_names("DATASET is empty; --fail-above needs --no-probes", {"DATASET": "dataset"})
    'dataset is empty; fail_above needs probes=False'
    >>> python_names("--seed -1: expected 0 or more; see vqa-mc audit --help")
    'seed=-1: expected 0 or more; see vqa-mc audit --help'
    >>> python_names("  lm-eval run --model hf")
    '  lm-eval run --model hf'
    """
    known = flags or {}

    def named(match: re.Match[str]) -> str:
        if re.search(r"(vqa-mc |^  )[^;:\n]*$", text[: match.start()], re.MULTILINE):
            return match[0]
        name, value = match[2].replace("-", "_"), match[3]
        return f"{name}={value}" if value else known.get(match[0], f"{name}=False" if match[1] else name)

    text = re.sub(r"--(columns|inputs) (\w+)=([A-Z]+)", r'\1={"\2": \3}', text)
    first, space, rest = re.sub(r"(?<![\w-])--(no-)?([a-z][\w-]*)(?: ([^\s=]+)(?=: ))?", named, text).partition(" ")
    return known.get(first, first) + space + rest


def listed(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """The first names, and the number of the others.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def shown(value: object) -> str:
    """A value for messages, shortened to a line.

    >>> shown([[1, 2], "red"])
    "[[1, 2], 'red']"
    """
    try:
        return reprlib.repr(value)[:100]
    except Exception:  # such as an integer with more digits than Python prints
        return f"a {type(value).__name__}"


def printable(text: str) -> str:
    r"""Text without control characters, which a terminal would obey.

    >>> printable("a\x1b[31m cat\n")
    'a\ufffd[31m cat\n'
    """
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)
