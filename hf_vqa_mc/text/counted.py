"""Numbers in words: counts with their nouns, fractions in percent."""


def counted(number: int, noun: str) -> str:
    """A number and its noun, which takes an s in the plural.

    >>> counted(1, "row"), counted(0, "set"), counted(1200, "row")
    ('1 row', '0 sets', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float | None, digits: int = 1) -> str:
    """A fraction in percent; a dash for None.

    >>> percent(0.2534), percent(None), percent(1.0)
    ('25.3%', '\u2013', '100.0%')
    """
    return "\u2013" if share is None else f"{100 * share:.{digits}f}%"


def points(gain: float | None) -> str:
    """A difference of fractions in percentage points, with its sign; a dash for None.

    >>> points(0.273), points(-0.0123), points(-0.0001)
    ('+27.3', '-1.2', '0.0')
    """
    if gain is None:
        return "\u2013"
    text = f"{100 * gain:+.1f}"
    return "0.0" if text[1:] == "0.0" else text
