"""Keys of many texts: `normalisation.comparable`, or `comparison.comparable` where there are signs or operators."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.text.comparison import comparable
from hf_vqa_mc.text.many_texts import comparable_texts, texts_of

_MINUS = "[-−–]"
_OPERATOR = re.compile(
    r"</?[A-Za-z][^<>]*>"  # a tag of HTML is no operator
    rf"|(?P<operator>!=|[+<>=≤≥≠≈±×÷*^√%]|(?<=\d)!|(?<=\d)\s?/|/(?=\s?\d)"
    rf"|(?<![^\s(\[{{,;:=<>+*/^×÷√]){_MINUS}(?=[\w.√(])"  # a sign
    rf"|(?:(?<=\b\w)|(?<=\d)|(?<=\)))\s?{_MINUS}\s?(?=\d|\w\b|\())"  # a difference
)
_MAY_HAVE_OPERATORS = r"[-−–+<>=≤≥≠≈±×÷*^√%/]|[0-9]!"
_TUPLE = r"^\s*[(\[]?\s*[^\s,;]+(?:\s*[,;]\s*[^\s,;]+)+\s*[)\]]?\s*$"


def comparable_keys(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """The keys by which texts count as equal; whether a text has operators; whether it is a tuple, as "no, yes".

    Two tuples of other words, or in another order, never mean the same.

    >>> [column.tolist() for column in map(np.asarray, comparable_keys(pa.array(["-1", "1", "no, yes", "T-shirt"])))]
    [['-1', 'one', 'no yes', 't-shirt'], [True, False, False, False], [False, False, True, False]]
    """
    texts = texts.cast(pa.large_string())
    keys, signed = comparable_texts(texts)[0], np.zeros(len(texts), np.bool_)
    may_have = np.flatnonzero(pc.match_substring_regex(texts, _MAY_HAVE_OPERATORS))
    for number, text in zip(may_have.tolist(), texts_of(texts.take(may_have)), strict=True):
        signed[number] = any(found["operator"] for found in _OPERATOR.finditer(text))
    if signed.any():
        slow = pa.array(list(map(comparable, texts_of(texts.filter(pa.array(signed))))), pa.large_string())
        keys = pc.replace_with_mask(keys, pa.array(signed), slow)
    return keys, signed, pc.match_substring_regex(texts, _TUPLE).to_numpy(zero_copy_only=False)
