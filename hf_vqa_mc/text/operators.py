"""Texts that count as the same answer: as `normalisation.comparable`, but signs and operators are compared."""

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.text import normalisation
from hf_vqa_mc.text.many_texts import comparable_texts, texts_of
from hf_vqa_mc.text.normalisation import words

_MINUS = "[-−–]"
_OPERATOR = re.compile(
    r"</?[A-Za-z][^<>]*>"  # a tag of HTML is no operator
    rf"|(?P<operator>!=|[<>=]=|\*\*|[+<>=≤≥≠≈±×÷*^√%]|(?<=\d)!|(?<=\d)\s?/|/(?=\s?\d)"
    rf"|(?<![^\s(\[{{,;:=<>+*/^×÷√]){_MINUS}(?=[\w.√(])"  # a sign
    rf"|(?:(?<=\b\w)|(?<=\d)|(?<=\)))\s?{_MINUS}\s?(?=\d|\w\b|\())"  # a difference
)
_ONE = {"−": "-", "–": "-", "!=": "≠", "<=": "≤", ">=": "≥", "==": "=", "**": "^"}
_MAY_HAVE_OPERATORS = r"[-−–+<>=≤≥≠≈±×÷*^√%/]|[0-9]!"
_TUPLE = r"^\s*[(\[]?\s*[^\s,;]+(?:\s*[,;]\s*[^\s,;]+)+\s*[)\]]?\s*$"


def comparable(text: str) -> str:
    """The key by which texts count as equal: words as in `normalisation.comparable`, and operators between them.

    >>> comparable("-1"), comparable("K<0"), comparable("x - 1") == comparable("x-1")
    ('- one', 'k < zero', True)
    >>> comparable("A T-shirt!"), comparable("<b>red</b>")
    ('a t-shirt', 'b red b')
    """
    tokens, end = list[str](), 0
    text = unicodedata.normalize("NFC", text)
    for found in _OPERATOR.finditer(text):
        if operator := found["operator"]:
            tokens += [*words(text[end : found.start()]), _ONE.get(operator.strip(), operator.strip())]
            end = found.end()
    found_words = words(text[end:])
    return " ".join([*tokens, *found_words]) if tokens and words(text) else normalisation.comparable(text)


def comparable_keys(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """`comparable` of many texts.

    Returns:
        The keys, large_string (texts,); whether a text has operators, bool (texts,); whether it is a tuple, such as
        "no, yes", bool (texts,): two tuples of other words, or in another order, never mean the same.

    >>> [column.tolist() for column in map(np.asarray, comparable_keys(pa.array(["-1", "1", "no, yes"])))]
    [['- one', 'one', 'no yes'], [True, False, False], [False, False, True]]
    """
    texts = texts.cast(pa.large_string())
    keys, signed = comparable_texts(texts)[0], np.zeros(len(texts), np.bool_)
    if (some := pc.match_substring_regex(texts, _MAY_HAVE_OPERATORS)).true_count:
        slow = pa.array(list(map(comparable, texts_of(texts.filter(some)))), pa.large_string())
        signed[some.to_numpy(zero_copy_only=False)] = pc.not_equal(slow, keys.filter(some))
        keys = pc.replace_with_mask(keys, some, slow)
    return keys, signed, pc.match_substring_regex(texts, _TUPLE).to_numpy(zero_copy_only=False)


def differ_in_case(one: str, other: str) -> bool:
    """Whether two texts differ in case alone, as k and K do; as choices of one row they are different.

    >>> differ_in_case("K", "k "), differ_in_case("k", "k"), differ_in_case("K.", "k")
    (True, False, False)
    """
    return one.strip() != other.strip() and one.strip().lower() == other.strip().lower()
