"""Normalisation of answers in the official VQA program, quirks included.

Equal to that program as run by Python 3: digits and white space are those of Unicode.
"""

import re

PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'  # removed punctuation; all other marks, including Unicode's, are kept
PERIODS = 32  # maximum number of removed periods: the official call passes ``re.UNICODE``, which is 32, as the count
ARTICLES = {"a", "an", "the"}
NUMBERS = {
    "none": "0",
    **{word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine ten".split())},
}

_ANY_PUNCTUATION = re.compile(f"[{re.escape(PUNCTUATION)}]")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")

_STEMS = {
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "'ve": "could might must not should they we what where who would you",
    "n't've": "could had might should would",
    "'d": "he how it someone something there they where who you",
    "'d've": "he it she somebody someone something there they we who y'all you",
    "'ll": "how it somebody someone something they what who why y'all you",
    "'s": "he how somebody someone that there what when where who why",
    "'re": "there they what why you",
    "": "ma'am o'clock 'ow's'at 'twas y'all",
}
"""Stems of each ending in the official table of contractions."""


CONTRACTIONS = {
    form[:index] + form[index + 1 :]: form
    for ending, stems in _STEMS.items()
    for form in (stem + ending for stem in stems.split())
    for index, mark in enumerate(form)
    if mark == "'"
} | {"somebody'd": "somebodyd"}  # reversed in the official table
"""Contraction without one apostrophe -> full form; the official entries with capitals never match."""

_PLAIN = {**CONTRACTIONS, **NUMBERS}


def tidied(answer: str) -> str:
    r"""Replace line ends and tabs by spaces, and strip.

    >>> tidied(" hot\tdog\n")
    'hot dog'
    """
    return answer.replace("\n", " ").replace("\t", " ").strip()


def without_punctuation(answer: str) -> str:
    """Replace punctuation by a space, or by nothing next to a space; remove periods except before digits.

    A comma between digits anywhere in the answer removes all its punctuation.

    >>> without_punctuation("t-shirt, 1.5 in. wide"), without_punctuation("red/blue 1,000")
    ('t shirt 1.5 in wide', 'redblue 1000')
    """
    if _ANY_PUNCTUATION.search(answer):
        in_number = _COMMA_IN_NUMBER.search(answer) is not None
        answer = answer.translate(
            {
                ord(mark): "" if in_number or f"{mark} " in answer or f" {mark}" in answer else " "
                for mark in PUNCTUATION
                if mark in answer
            }
        )
    return _PERIOD.sub("", answer, count=PERIODS) if "." in answer else answer


def with_plain_words(answer: str) -> str:
    """Lower the case, write numbers up to ten as digits, drop articles, restore apostrophes of contractions.

    >>> with_plain_words("The two  dont")
    "2 don't"
    """
    return " ".join([_PLAIN.get(word, word) for word in answer.lower().split() if word not in ARTICLES])


def normalised(answer: str) -> str:
    """Apply `tidied`, `without_punctuation` and `with_plain_words`.

    >>> normalised(" Two t-shirts.")
    '2 t shirts'
    """
    return with_plain_words(without_punctuation(tidied(answer)))
