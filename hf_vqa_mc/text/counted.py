"""Numbers with their nouns."""


def counted(number: int, noun: str) -> str:
    """A number and its noun, which takes an s in the plural.

    >>> counted(1, "row"), counted(0, "set"), counted(1200, "row")
    ('1 row', '0 sets', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
