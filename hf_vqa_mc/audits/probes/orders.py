"""Rules for the published order: labels that depend on row number, neighbour, id, type or image, and sorted decoys."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.heuristics import ranks, trimmed
from hf_vqa_mc.audits.probes.probe import Context, Probe, Values
from hf_vqa_mc.audits.rows import BLOCKS, PERIODS, row_blocks
from hf_vqa_mc.audits.shortcut import FOLDS, Prediction, ProbeInputs
from hf_vqa_mc.decoys.candidates import MISSING

Groups = NDArray[np.int64]  # (rows,): a number from 0 for each row; rows of one group may have the same label


def _names(column: str, context: Context) -> list[Groups]:
    """The last character of each name, and its last number by each period, both before a file's ending."""
    names = context.split.rows[column].combine_chunks()
    stems = pc.replace_substring_regex(names, r"[.][A-Za-z][A-Za-z0-9]{1,4}$", "")
    digits = pc.struct_field(pc.extract_regex(stems, r"(?P<number>[0-9]{1,15})[^0-9]*$"), "number")
    numbers = pc.fill_null(digits.cast(pa.int64()), 0).to_numpy()
    return [_encoded(pc.utf8_slice_codeunits(stems, -1)), *(numbers % period for period in PERIODS)]


def _encoded(texts: pa.Array) -> Groups:
    return np.asarray(texts.dictionary_encode().indices, np.int64)


def _tenths(values: NDArray[np.generic]) -> Groups:
    """The tenth of the distinct values, weighted by rows, that each value is in."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    tenths: Groups = (10 * (np.cumsum(counts) - counts / 2) / len(values)).astype(np.int64)
    return tenths[number]


def _image_size(context: Context) -> Prediction | None:
    """Labels by width, height and their ratio, of the rows whose image's size was read."""
    if not context.split.ordered:
        return None
    sizes = context.image_sizes
    tenths = [_tenths(one) for one in (*sizes.T, sizes[:, 0] / np.maximum(sizes[:, 1], 1))]
    remainders = [one % period for one in sizes.T for period in PERIODS]
    found = _most_frequent_labels(context, [*tenths, *sizes.T, *remainders])
    return None if found is None else replace(found, scores=np.where(sizes[:, 0] > 0, found.scores, np.nan))


def _most_frequent_labels(context: Context, groupings: list[Groups]) -> Prediction | None:
    """Pick the label that is most frequent in the row's group, counted in the other folds of the audited split."""
    labels, folds = context.rows.positions[:, 0].astype(np.int64), context.folds
    values = np.zeros(context.rows.texts.shape)
    for fold in np.unique(folds):
        test = folds == fold
        shares = _shares(groupings, labels, ~test, context.rows.texts.shape[1])
        if shares is not None:
            values[test] = np.take_along_axis(shares[test], np.maximum(context.rows.positions[test], 0), axis=1)
    found = context.prefer(values)
    return None if found is None else Prediction(found.scores, folds=FOLDS)


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
    in_order = ranks(trimmed(context))
    row, column = rows.valid.nonzero()
    of_rows = np.full(rows.texts.shape, MISSING, np.int64)
    of_rows[row, rows.positions[row, column]] = in_order[rows.texts[row, column]]
    descending = np.where(of_rows == MISSING, MISSING, 2 * len(in_order) - of_rows)
    breaks = _breaks(of_rows, rows.sizes) | _breaks(descending, rows.sizes)
    return context.prefer(np.take_along_axis(breaks, np.maximum(rows.positions, 0), axis=1))


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


def _position(
    name: str, of_what: str, groupings: Callable[[Context], list[Groups]], sees: ProbeInputs = ProbeInputs.CHOICES
) -> Probe:
    def run(context: Context) -> Prediction | None:
        return _most_frequent_labels(context, groupings(context)) if context.split.ordered else None

    sentence = f"picks the position that is most often correct in other rows {of_what}"
    return Probe(name, sees, sentence, run)


ORDERS = (
    _position("row number", "with the same remainder of the row number",
              lambda context: [np.arange(len(context.rows)) % period for period in PERIODS]),
    _position("block of rows", "in the same block of rows",
              lambda context: [row_blocks(len(context.rows), most) for most in BLOCKS]),
    _position("label of the previous row", "after a row with the same label",
              lambda context: [np.append(0, context.rows.positions[:-1, 0] + 1).astype(np.int64)]),
    _position("question id", "with a question id that ends alike", partial(_names, "question_id")),
    _position("name of the image", "with an image name that ends alike", partial(_names, "image_id")),
    _position("question type", "with the same question type",
              lambda context: [_encoded(context.split.rows["question_type"].combine_chunks())],
              sees=ProbeInputs.QUESTION),
    Probe("image width or height", ProbeInputs.IMAGE,
          "picks the position that is most often correct in other rows with images of similar width, height or shape",
          _image_size),
    Probe("breaks the order", ProbeInputs.CHOICES, "picks the choice without which the others are sorted", _unsorted),
)  # fmt: skip
