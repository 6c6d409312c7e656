"""Numbers in words: counts with their nouns, fractions in percent."""

DECIMALS = 9  # to which figures are rounded first, so that 9.75 and 9.749999999999998 are shown alike


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
    return "\u2013" if share is None else f"{round(100 * share, DECIMALS):.{digits}f}%"


def points(gain: float | None) -> str:
    """A difference of fractions in percentage points, with its sign; a dash for None.

    >>> points(0.273), points(-0.0123), points(-0.0001), points(0.3475 - 0.25), percent(0.3475)
    ('+27.3', '-1.2', '0.0', '+9.8', '34.8%')
    """
    if gain is None:
        return "\u2013"
    text = f"{round(100 * gain, DECIMALS):+.1f}"
    return "0.0" if text[1:] == "0.0" else text
