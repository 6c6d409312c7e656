"""Lists spelled as text, as Python or json spells them; never evaluated as code."""

import ast
import json
import warnings
from collections.abc import Sequence
from typing import Any


def unpacked_lists(cells: Sequence[str | None]) -> list[list[str | None] | None]:
    """What `unpacked_list` says of each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of "\\d" in a text that is no program of ours
        return [unpacked_list(cell) for cell in cells]


def unpacked_list(cell: str | None) -> list[str | None] | None:
    """The list that a text spells; None if it spells none. An empty cell is an empty list.

    >>> unpacked_list("['red', 2, None]"), unpacked_list('["a"]'), unpacked_list("red")
    (['red', '2', None], ['a'], None)
    >>> unpacked_list('["it is", null]')
    ['it is', None]
    """
    if not cell or not cell.strip():
        return []
    found = None if cell.lstrip()[1:2] == "'" else list_of_json(cell)  # a quote that json does not know
    if found is None:
        try:
            found = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None
    if not isinstance(found, list | tuple) or not all(isinstance(text, str | int | float | None) for text in found):
        return None
    return [None if text is None or text != text else str(text) for text in found]  # NaN


def list_of_json(cell: str) -> list[Any] | None:
    """The list that a text spells as json does; None if it spells none."""
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
