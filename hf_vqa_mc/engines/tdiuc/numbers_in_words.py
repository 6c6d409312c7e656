"""Whole numbers as words."""

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
COUNTABLE = tuple(_SMALL[1:17])
"""What counting may answer, one to sixteen: Kafle and Kanan 2017, "Importing Questions"."""
_DIGITS = re.compile(r"(?<![\w.,:/$%-])[0-9]{1,6}(?![\w%/$-]|[.,:][0-9])")


def in_words(number: int) -> str:
    """A number from 0 to 999,999.

    >>> [in_words(one) for one in (2, 45, 100, 2016)]
    ['two', 'forty-five', 'one hundred', 'two thousand sixteen']
    """
    if number >= 1000:
        return _joined(f"{in_words(number // 1000)} thousand", number % 1000, " ")
    if number >= 100:
        return _joined(f"{_SMALL[number // 100]} hundred", number % 100, " ")
    if number >= 20:
        return _joined(_TENS[number // 10], number % 10, "-")
    return _SMALL[number]


def numbers_in_words(text: str) -> str:
    """The text with its whole numbers in words; times, years with letters and the like stay.

    >>> numbers_in_words("2 dogs at 4:30")
    'two dogs at 4:30'
    """
    return _DIGITS.sub(lambda found: in_words(int(found.group())), text)


def _joined(head: str, rest: int, mark: str) -> str:
    return f"{head}{mark}{in_words(rest)}" if rest else head
