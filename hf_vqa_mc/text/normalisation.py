"""Normalised text for comparing and embedding; never stored in datasets."""

import unicodedata

import regex  # unlike re it supports Unicode categories, for combining marks in words

SMALL_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""Integers in [0, 10] become words before embedding (Chao et al. 2018, Supplement A.1)."""
YES_NO = ("yes", "no")  # opposite answers

# A word is a run of letters, marks and digits; one hyphen or apostrophe within belongs to it ("t-shirt", "don't").
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’][\p{L}\p{M}\p{N}]+)*")
_AS_WORD = {str(number): word for number, word in enumerate(SMALL_NUMBERS)}


def words(text: str) -> list[str]:
    """The words of a text: lower case, no punctuation, no possessive 's, integers 0 to 10 spelt out.

    >>> words("The man's 2 T-shirts, please!")
    ['the', 'man', 'two', 't-shirts', 'please']
    """
    found = _WORD.findall(unicodedata.normalize("NFC", text).lower())
    plain = [word[:-2] if word.endswith(("'s", "’s")) else word for word in found]
    return [_AS_WORD.get(word, word) for word in plain]


def comparable(text: str) -> str:
    """The key by which texts count as equal: their words; a text without words is its own key.

    >>> comparable("  A train. ") == comparable("a Train")
    True
    >>> comparable("?!")
    '?!'
    """
    return " ".join(words(text)) or unicodedata.normalize("NFC", text).lower().strip()


def unaccented(text: str) -> str:
    """The text without accents.

    >>> unaccented("café")
    'cafe'
    """
    if text.isascii():
        return text
    return "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
