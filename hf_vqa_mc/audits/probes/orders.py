"""Heuristics for the published order: labels that depend on the row's number, id or type, and sorted decoys."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Probe
from hf_vqa_mc.audits.rows import PERIODS, row_number_groups
from hf_vqa_mc.audits.shortcut import FOLDS, Prediction, ProbeInputs
from hf_vqa_mc.decoys.candidates import MISSING

Groups = NDArray[np.int64]
"""(rows,): a number from 0 for each row; rows of one group may have the same label"""
Values = NDArray[np.float64]


def _question_ids(context: Context) -> list[Groups]:
    """The last character, and the number at the end by each period."""
    ids = context.split.rows["question_id"].combine_chunks()
    digits = pc.struct_field(pc.extract_regex(ids, r"(?P<number>[0-9]{1,15})$"), "number")
    numbers = pc.fill_null(digits.cast(pa.int64()), 0).to_numpy()
    return [_encoded(pc.utf8_slice_codeunits(ids, -1)), *(numbers % period for period in PERIODS)]


def _encoded(texts: pa.Array) -> Groups:
    return np.asarray(texts.dictionary_encode().indices, np.int64)


def _position(name: str, sees: ProbeInputs, of_what: str, groupings: Callable[[Context], list[Groups]]) -> Probe:
    """Pick the label that is most frequent in the row's group, counted in the other folds of the audited split."""

    def run(context: Context) -> Prediction | None:
        if not context.split.ordered:
            return None
        labels, folds, of_rows = context.rows.positions[:, 0].astype(np.int64), context.folds, groupings(context)
        values = np.zeros(context.rows.texts.shape)
        for fold in np.unique(folds):
            test = folds == fold
            shares = _shares(of_rows, labels, ~test, context.rows.texts.shape[1])
            if shares is not None:
                values[test] = np.take_along_axis(shares[test], np.maximum(context.rows.positions[test], 0), axis=1)
        found = context.prefer(values)
        return None if found is None else Prediction(found.scores, folds=FOLDS)

    return Probe(name, sees, f"picks the position that is most often correct in other rows {of_what}", run)


def _shares(
    groupings: list[Groups], labels: NDArray[np.int64], known: NDArray[np.bool_], n_labels: int
) -> Values | None:
    """The share of each label in each row's group, (rows, labels), by the grouping that predicts known labels best."""
    own = labels[known]
    overall = (np.bincount(own, minlength=n_labels) + 1) / (len(own) + n_labels)
    best, highest = None, float(np.log(overall[own]).sum())
    for groups in groupings:
        size = int(groups.max()) + 1
        counts = np.bincount(groups[known] * n_labels + own, minlength=size * n_labels).reshape(size, n_labels)
        of_groups, known_groups = counts @ np.ones(n_labels), groups[known]
        right = counts[known_groups, own] - 1 + overall[own]
        likelihood = float(np.log(right / of_groups[known_groups]).sum())
        if likelihood > highest:
            highest = likelihood
            best = ((counts + overall) / (of_groups[:, None] + 1))[groups]
    return best


def _unsorted(context: Context) -> Prediction | None:
    """Prefer a choice without which the others are in alphabetical or numerical order, unless all choices are."""
    rows = context.rows
    if not context.split.ordered:
        return None
    rank = _ranks(rows.vocabulary.choices)
    row, column = rows.valid.nonzero()
    ranks = np.full(rows.texts.shape, MISSING, np.int64)
    ranks[row, rows.positions[row, column]] = rank[rows.texts[row, column]]
    breaks = _breaks(ranks, rows.sizes) | _breaks(
        np.where(ranks == MISSING, MISSING, 2 * len(rank) - ranks), rows.sizes
    )
    return context.prefer(np.take_along_axis(breaks, np.maximum(rows.positions, 0), axis=1))


def _ranks(texts: list[str]) -> NDArray[np.int64]:
    """The rank of each text, from 1 to 2 * texts: numbers by value, then other texts without case."""
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(pa.array(texts, pa.large_string())))
    is_number = pc.match_substring_regex(lower, r"^[+-]?[0-9]{1,15}([.][0-9]{1,15})?$").to_numpy(zero_copy_only=False)
    ranks: NDArray[np.int64] = len(texts) + pc.rank(lower, tiebreaker="dense").to_numpy().astype(np.int64)
    numbers = pc.replace_substring(lower.filter(pa.array(is_number)), "+", "").cast(pa.float64())
    ranks[is_number] = pc.rank(numbers, tiebreaker="dense").to_numpy()
    return ranks


def _breaks(ranks: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether all ranks of a row but this one ascend, (rows, choices); False in sorted rows and of padding."""
    valid = np.arange(ranks.shape[1]) < sizes[:, None]
    edge = np.pad(ranks, ((0, 0), (1, 1)), constant_values=MISSING)
    inside = np.pad(valid, ((0, 0), (1, 1)))
    descends = (edge[:, :-1] > edge[:, 1:]) & inside[:, :-1] & inside[:, 1:]  # from each choice to the next
    across = (edge[:, :-2] > edge[:, 2:]) & inside[:, :-2] & inside[:, 2:]
    total = descends.sum(axis=1, keepdims=True)
    without = total - descends[:, :-1] - descends[:, 1:] + across
    found: NDArray[np.bool_] = valid & (total > 0) & (without == 0)
    return found


ORDERS = (
    _position(
        "row number",
        ProbeInputs.CHOICES,
        "with the same remainder of the row number or in the same block of rows",
        lambda context: [groups for _, groups in row_number_groups(len(context.rows))],
    ),
    _position("question id", ProbeInputs.CHOICES, "with a question id that ends alike", _question_ids),
    _position(
        "question type",
        ProbeInputs.QUESTION,
        "with the same question type",
        lambda context: [_encoded(context.split.rows["question_type"].combine_chunks())],
    ),
    Probe("breaks the order", ProbeInputs.CHOICES, "picks the choice without which the others are sorted", _unsorted),
)
