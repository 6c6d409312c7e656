"""Heuristics without labels: position, length, frequency, form of the text, similarity to the question."""

import unicodedata
from collections.abc import Callable
from functools import partial
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import ASSIGNED, best_assignment, sets_of
from hf_vqa_mc.audits.probes.probe import Context, Probe, Values
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS

POSITIONS = "ABCDEFGHIJ"  # letters of the positions with a heuristic each
READ = 200  # maximum number of characters whose script is determined
NUMBER = r"^[+-]?[0-9]{1,15}([.][0-9]{1,15})?$"


def _position(index: int | None, context: Context) -> Prediction | None:
    """Pick the choice at an index of the published order, or with None the last one."""
    rows, sizes = context.rows, context.rows.sizes
    # If all rows have as many choices, the last one is one of the positions.
    is_one = index < rows.texts.shape[1] if index is not None else sizes.min() < sizes.max()
    wanted = sizes[:, None] - 1 if index is None else index
    return context.prefer(rows.positions == wanted) if context.split.ordered and is_one else None


def _frequencies(context: Context) -> Values:
    keys = context.rows.keys
    return np.bincount(keys[context.rows.valid])[keys].astype(np.float64)


def _lengths(context: Context) -> Values:
    lengths = pc.utf8_length(context.rows.vocabulary.trimmed).to_numpy()
    return np.asarray(lengths.astype(np.float64)[context.rows.texts])


def _punctuation(context: Context) -> Values:
    ends = pc.match_substring_regex(context.rows.vocabulary.trimmed, r"\p{P}$").to_numpy(zero_copy_only=False)
    return np.asarray(ends[context.rows.texts], float)


def _script_difference(context: Context) -> Values:
    """Number of the row's other choices in other scripts, plus at most a quarter for scripts that are rare."""
    rows = context.rows
    texts = rows.vocabulary.trimmed
    has_latin = pc.match_substring_regex(texts, "[A-Za-z]").to_numpy(zero_copy_only=False)
    scripts = np.where(has_latin, "LATIN", "").astype(object)
    for one in np.flatnonzero(~pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)).tolist():
        letters = filter(
            str.isalpha, set(rows.vocabulary.choices[one][:READ])
        )  # named "LATIN SMALL LETTER A" and so on
        scripts[one] = " ".join(sorted({unicodedata.name(letter, "").split(" ")[0] for letter in letters} - {""}))
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


def _texts_and_numbers(context: Context) -> tuple[pa.Array, pa.Array]:
    """The distinct choices, trimmed and in lower case, and the value of each number in digits, else null."""
    texts = pc.utf8_lower(context.rows.vocabulary.trimmed)
    digits = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, None)
    return texts, pc.replace_substring(digits, "+", "").cast(pa.float64())


def _ranks(context: Context) -> NDArray[np.int64]:
    """The rank of each distinct choice, from 1: numbers by value, then other texts."""
    texts, numbers = _texts_and_numbers(context)
    found: NDArray[np.int64] = len(texts) + pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
    found[numbers.is_valid()] = pc.rank(numbers.drop_null(), tiebreaker="dense").to_numpy()
    return found


def out_of_order(context: Context) -> Prediction | None:
    """Prefer a choice without which the others are in alphabetical or numerical order, unless all choices are."""
    rows, in_order = context.rows, _ranks(context)
    row, column = rows.valid.nonzero()
    of_rows = np.full(rows.texts.shape, MISSING, np.int64)
    of_rows[row, rows.positions[row, column]] = in_order[rows.texts[row, column]]
    descending = np.where(of_rows == MISSING, MISSING, 2 * len(in_order) - of_rows)
    breaks = _breaks(of_rows, rows.sizes) | _breaks(descending, rows.sizes)
    found = context.prefer(np.take_along_axis(breaks, np.maximum(rows.positions, 0), axis=1))
    return found if context.split.ordered else None


def _breaks(ranks: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether all ranks of a row but this one ascend, (rows, choices); False in sorted rows and of padding."""
    valid = np.arange(ranks.shape[1]) < sizes[:, None]
    edge = np.pad(ranks, ((0, 0), (1, 1)), constant_values=MISSING)
    inside = np.pad(valid, ((0, 0), (1, 1)))
    descends = (edge[:, :-1] > edge[:, 1:]) & inside[:, :-1] & inside[:, 1:]  # from each choice to the next
    across = (edge[:, :-2] > edge[:, 2:]) & inside[:, :-2] & inside[:, 2:]
    total = descends.sum(axis=1, keepdims=True)
    without = total - descends[:, :-1] - descends[:, 1:] + across
    return np.asarray(valid & (total > 0) & (without == 0))


def _nearness_to_median(context: Context) -> Values:
    """Minus the distance of each number from the median of the row's numbers; rows with fewer than three have none."""
    rows, (texts, digits) = context.rows, _texts_and_numbers(context)
    spelt = pc.index_in(texts, pa.array(SMALL_NUMBERS, pa.large_string()))
    of_texts = pc.fill_null(pc.coalesce(digits, spelt.cast(pa.float64())), np.nan).to_numpy()
    numbers = np.where(rows.valid, of_texts[rows.texts], np.nan)
    several, values = np.flatnonzero((~np.isnan(numbers)).sum(axis=1) > 2), np.zeros(numbers.shape)
    distances = np.abs(numbers[several] - np.nanmedian(numbers[several], axis=1, keepdims=True))
    values[several] = np.where(np.isnan(distances), -np.inf, -distances)
    return values


def _nearness_to_mean_length(context: Context) -> Values:
    rows, own = context.rows, _lengths(context)
    mean = np.where(rows.valid, own, 0).sum(axis=1, keepdims=True) / rows.sizes[:, None]
    return np.asarray(-np.abs(own - mean))


def _rank(context: Context) -> Values:
    return _ranks(context).astype(np.float64)[context.rows.texts]


def _prefer(
    name: str, sentence: str, values: Callable[[Context], Values], sign: int, sees: ProbeInputs = ProbeInputs.CHOICES
) -> Probe:
    """A heuristic that picks the highest value, or with ``sign`` -1 the lowest."""
    return Probe(name, sees, sentence, lambda context: context.prefer(sign * values(context)))


SIMILARITY, OVERLAP = attrgetter("trigram_similarity"), attrgetter("rows.question_overlap")
ALONE, QUESTION = ProbeInputs.CHOICES, ProbeInputs.QUESTION
HEURISTICS = (
    *(
        Probe(f"choice {letter}", ALONE, f"always picks choice {letter}", partial(_position, index))
        for index, letter in enumerate(POSITIONS)
    ),
    Probe("last choice", ALONE, "always picks the last choice", partial(_position, None)),
    _prefer("longest choice", "picks the longest choice", _lengths, 1),
    _prefer("shortest choice", "picks the shortest choice", _lengths, -1),
    _prefer("most frequent choice", "picks the choice that the benchmark presents most often", _frequencies, 1),
    _prefer("least frequent choice", "picks the choice that the benchmark presents least often", _frequencies, -1),
    _prefer("odd one out", "picks the choice spelled least like the others", SIMILARITY, -1),
    _prefer("most like the others", "picks the choice spelled most like the others", SIMILARITY, 1),
    _prefer("most words of the question", "picks the choice with the largest share of its words in the question",
            OVERLAP, 1, QUESTION),
    _prefer("fewest words of the question",
            "picks the choice with the smallest share of its words in the question", OVERLAP, -1, QUESTION),
    _prefer("punctuation at the end", "picks a choice that ends in punctuation", _punctuation, 1),
    _prefer("no punctuation at the end", "picks a choice that does not end in punctuation", _punctuation, -1),
    _prefer("other script", "picks the choice in another script than the others", _script_difference, 1),
    _prefer("alphabetically first", "picks the choice that is first in alphabetical or numerical order", _rank, -1),
    _prefer("alphabetically last", "picks the choice that is last in alphabetical or numerical order", _rank, 1),
    _prefer("median number", "picks the number nearest to the median of the row's numbers", _nearness_to_median, 1),
    _prefer("closest to the mean length",
            "picks the choice whose length is closest to the mean length of the row's choices",
            _nearness_to_mean_length, 1),
    _prefer("even length", "picks a choice with an even number of characters", lambda own: _lengths(own) % 2, -1),
    _prefer("odd length", "picks a choice with an odd number of characters", lambda own: _lengths(own) % 2, 1),
)  # fmt: skip


def _by_cosine(sign: int, context: Context) -> Prediction | None:
    cosines, valid = context.question_cosines, context.rows.take(context.tested).valid
    ties = np.where(valid, cosines, cosines[:, :1]) == cosines[:, :1]
    return None if ties.all() else context.on_tested(sign * cosines)


def _assigned(context: Context) -> Prediction | None:
    """Assign the choices to the rows that share them, so that the sum of the cosines is the highest."""
    likelihoods = np.full(context.rows.texts.shape, np.nan)
    likelihoods[context.tested] = np.exp(context.question_cosines)
    return best_assignment(context.rows, likelihoods, 0, context.settings.seed, sets_of(context.split))


COSINES = (
    Probe("nearest to the question", QUESTION,
          "picks the choice whose embedding has the largest cosine with the question's", partial(_by_cosine, 1)),
    Probe("farthest from the question", QUESTION,
          "picks the choice whose embedding has the smallest cosine with the question's", partial(_by_cosine, -1)),
    Probe(f"{ASSIGNED}: cosine with the question", QUESTION,
          "sees all rows of a closed answer set, or with the same choices, but no image and assigns each choice to "
          "equally many of them by the cosine with the question", _assigned),
)  # fmt: skip
