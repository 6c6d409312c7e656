"""Text of a dataset sanitised for a page, and formatted figures."""

import re
from collections.abc import Mapping
from typing import Any

from hf_vqa_mc.text.counted import percent as percent
from hf_vqa_mc.text.counted import points as points

LONGEST = 400  # maximum number of characters of a text

# Control characters except white space, bidirectional overrides and isolates, surrogates, and non-characters.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_SPACE = re.compile(r"\s+")


def plain(text: object, most: int = LONGEST) -> str:
    r"""Text on one line without control characters, truncated.

    >>> plain("a cat\n on it"), plain("x" * 5000, most=3)
    ('a cat on it', 'xxx… (5,000 characters)')
    """
    whole = "" if text is None else str(text)
    shown = _SPACE.sub(" ", _UNSHOWABLE.sub("\ufffd", whole[: 4 * most])).strip()
    cut = len(shown) > most or len(whole) > 4 * most
    return f"{shown[:most].rstrip()}\u2026 ({len(whole):,} characters)" if cut else shown


def breakable(name: str) -> str:
    """A name as HTML that may be broken after "_", "/" and ".", rather than within a word.

    >>> breakable("<a>/b_2")
    Markup('&lt;a&gt;/<wbr>b_<wbr>2')
    """
    from markupsafe import Markup

    return Markup("<wbr>").join(re.findall("[^_/.]+[_/.]*|[_/.]+", name))


def interval(row: Mapping[str, Any]) -> str:
    """A gain's interval in percentage points, "exact" if its ends are equal."""
    if row["low"] == row["high"]:
        return "exact"
    return f"{points(row['low'])} to {points(row['high'])}"


def count(number: float | None) -> str:
    """An integer with thousands separators; a dash for None."""
    return "\u2013" if number is None else f"{number:,.0f}"
