"""Rules about the form of a choice next to the other choices of its row: punctuation, script, order, length."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.heuristics import Values, heuristic, lengths
from hf_vqa_mc.audits.probes.probe import Context
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS

READ = 200
"""Maximum number of characters whose script is determined."""
NUMBER = r"^[+-]?[0-9]{1,15}([.][0-9]{1,15})?$"


def trimmed(context: Context) -> pa.Array:
    """The distinct choices without surrounding spaces, in lower case."""
    return pc.utf8_lower(pc.utf8_trim_whitespace(pa.array(context.rows.vocabulary.choices, pa.large_string())))


def _punctuation(context: Context) -> Values:
    """Whether each choice ends in punctuation."""
    ends: Values = pc.match_substring_regex(trimmed(context), r"\p{P}$").cast(pa.float64()).to_numpy()
    return ends[context.rows.texts]


@lru_cache(maxsize=1 << 14)
def _script(letter: str) -> str:
    """The first word of a letter's name, such as LATIN or FULLWIDTH; "" of other characters."""
    return unicodedata.name(letter, "").split(" ")[0] if letter.isalpha() else ""


def _script_difference(context: Context) -> Values:
    """Number of the row's other choices in other scripts, plus at most a quarter for scripts that are rare."""
    rows = context.rows
    texts = pa.array(rows.vocabulary.choices, pa.large_string())
    scripts = np.where(pc.match_substring_regex(texts, "[A-Za-z]").to_numpy(zero_copy_only=False), "LATIN", "")
    scripts = scripts.astype(object)
    for one in np.flatnonzero(~pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)).tolist():
        scripts[one] = " ".join(sorted(set(map(_script, rows.vocabulary.choices[one][:READ])) - {""}))
    names, codes = np.unique(scripts, return_inverse=True)
    own = np.where(rows.valid, codes[rows.texts], MISSING)
    known = rows.valid & (names != "")[own]
    values, counts = np.zeros(own.shape), np.bincount(own[known], minlength=len(names))
    highest = np.where(known, own, MISSING).max(axis=1)
    mixed = np.flatnonzero(highest > np.where(known, own, len(names)).min(axis=1))
    own, known = own[mixed], known[mixed]
    differs = np.zeros(own.shape)
    for column in range(own.shape[1]):
        differs += (own != own[:, column, None]) & known[:, column, None]
    values[mixed] = np.where(known, differs + 0.5 / (1 + counts[own]), 0)
    return values


def ranks(texts: pa.Array) -> NDArray[np.int64]:
    """The rank of each text, from 1 to 2 * texts: numbers by value, then other texts; texts are in lower case."""
    is_number = pc.match_substring_regex(texts, NUMBER).to_numpy(zero_copy_only=False)
    found: NDArray[np.int64] = len(texts) + pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
    found[is_number] = pc.rank(_values(texts.filter(pa.array(is_number))), tiebreaker="dense").to_numpy()
    return found


def _values(numbers: pa.Array) -> pa.Array:
    return pc.replace_substring(numbers, "+", "").cast(pa.float64())


def _rank(context: Context) -> Values:
    """Rank of each choice in numerical or alphabetical order."""
    return ranks(trimmed(context)).astype(np.float64)[context.rows.texts]


def _nearness_to_median(context: Context) -> Values:
    """Minus the distance of each number from the median of the row's numbers; rows with fewer than three have none."""
    rows, texts = context.rows, trimmed(context)
    spelt = pc.index_in(texts, pa.array(SMALL_NUMBERS, pa.large_string()))
    digits = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, None)
    of_texts = pc.fill_null(pc.coalesce(_values(digits), spelt.cast(pa.float64())), np.nan).to_numpy()
    numbers = np.where(rows.valid, of_texts[rows.texts], np.nan)
    counts = (~np.isnan(numbers)).sum(axis=1)
    several, values = np.flatnonzero(counts > 2), np.zeros(numbers.shape)
    distances = np.abs(numbers[several] - np.nanmedian(numbers[several], axis=1, keepdims=True))
    values[several] = np.where(np.isnan(distances), -np.inf, -distances)
    return values


def _nearness_to_mean_length(context: Context) -> Values:
    """Minus the distance of each length from the mean length of the row's choices."""
    rows: Rows = context.rows
    own = lengths(context)
    mean = np.where(rows.valid, own, 0).sum(axis=1, keepdims=True) / rows.sizes[:, None]
    nearness: Values = -np.abs(own - mean)
    return nearness


def _even(context: Context) -> Values:
    """Whether each choice has an even number of characters."""
    return 1.0 - lengths(context) % 2


RULES: tuple[tuple[str, str, Callable[[Context], Values], int], ...] = (
    ("punctuation at the end", "picks a choice that ends in punctuation", _punctuation, 1),
    ("no punctuation at the end", "picks a choice that does not end in punctuation", _punctuation, -1),
    ("other script", "picks the choice in another script than the others", _script_difference, 1),
    ("alphabetically first", "picks the choice that is first in alphabetical or numerical order", _rank, -1),
    ("alphabetically last", "picks the choice that is last in alphabetical or numerical order", _rank, 1),
    ("median number", "picks the number nearest to the median of the row's numbers", _nearness_to_median, 1),
    (
        "closest to the mean length",
        "picks the choice whose length is closest to the mean length of the row's choices",
        _nearness_to_mean_length,
        1,
    ),
    ("even length", "picks a choice with an even number of characters", _even, 1),
    ("odd length", "picks a choice with an odd number of characters", _even, -1),
)
"""Name, continuation of "A strategy that ...", values of the choices, and 1 to pick the highest or -1 the lowest."""

TEXT_RULES = tuple(heuristic(*rule) for rule in RULES)
