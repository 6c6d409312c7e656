"""Checks of leaks: rows of the training split in other splits, and columns that give the answer away."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.checks.check import ERROR, NOTE, WARNING, WHOLE, Check, Issues, Linted
from hf_vqa_mc.audits.checks.rows import matches
from hf_vqa_mc.audits.rows import BLOCKS, LEAST_ROWS, PERIODS, row_blocks
from hf_vqa_mc.audits.texts import Column, pairs, unpaired
from hf_vqa_mc.data.cells import as_text, is_text
from hf_vqa_mc.data.names import ANSWERS, IMAGE_ID, IMAGE_PATH, QUESTION, QUESTION_ID, named
from hf_vqa_mc.errors import shown

TRAIN = ("train", "training")
MOST_VALUES = 1000  # A column with more values is not searched for labels
PREDICTS_P, PREDICTS_GAIN = 1e-6, 0.1  # a column predicts the label at such p and gain, see `_predicted`
REPEATS = 0.9  # share of the rows in which a column that repeats the target equals it
SHORTEST = 3  # minimum number of letters of a target that is searched for in names
NAMED_GAIN = 0.05  # names give the target away if they have it in so many more rows than a decoy, as a fraction


def _in_train(codes: NDArray[np.int64], valid: NDArray[np.bool_], linted: Linted) -> NDArray[np.int64]:
    """Rows of other splits with a code of the training split."""
    in_train = np.concatenate([np.full(len(rows), name in TRAIN) for name, rows in linted.rows_by_split.items()])
    others = np.flatnonzero(valid & ~in_train)
    return others[np.isin(codes[others], codes[valid & in_train])]


def _questions(linted: Linted) -> Issues:
    codes, valid = linted.data.row_keys
    if not linted.data.images.valid.any():
        codes = pairs(np.unique(codes, return_inverse=True)[1], linted.data.targets.comparable.codes)
    return linted.issues(_in_train(codes, valid, linted))


def _images(linted: Linted) -> Issues:
    """Rows whose image is in the training split: the same content, or the same id if images were not read."""
    images, firsts = linted.data.images, dict[str, int]()
    content = np.arange(len(images.texts) + 1, dtype=np.int64)
    for code, one in linted.images.items():
        content[code] = firsts.setdefault(one.digest or f"\0{code}", code)
    rows = _in_train(content[images.codes], images.valid, linted)
    return linted.issues(rows, (f"image {shown(images.texts[code])}" for code in images.codes[rows].tolist()))


def _columns(linted: Linted) -> Iterator[tuple[str, Column]]:
    """The other columns of text and integers."""
    for name in linted.own_columns:
        parts = [split.original[name] for split in linted.splits]
        if all(is_text(one.type) or pa.types.is_integer(one.type) for one in parts) and not named(
            [name], (*QUESTION, *ANSWERS)
        ):
            yield name, Column.of(pa.chunked_array(map(as_text, parts)))


def _predictive(linted: Linted) -> Issues:
    for split, rows in linted.rows_by_split.items() if linted.data.ordered else ():
        labels = linted.data.labels[rows]
        for what, groups in _groupings(linted, rows):
            gain, p = _predicted(groups, labels)
            if p < PREDICTS_P and gain > PREDICTS_GAIN:
                yield WHOLE, f"{split}: {what} predicts the label in {gain:.1%} more rows than the most frequent label"


def _groupings(linted: Linted, rows: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    yield from ((f"the row number (period {period})", np.arange(len(rows)) % period) for period in PERIODS)
    yield "the row number (blocks)", row_blocks(len(rows), BLOCKS[0])
    for name, column in _columns(linted):
        codes = column.codes[rows].astype(np.int64)
        if len(np.unique(codes)) <= MOST_VALUES:
            yield f"column {shown(name)}", codes
        else:
            digits = pc.struct_field(pc.extract_regex(column.distinct, r"(?P<number>[0-9]{1,15})$"), "number")
            numbers = np.append(pc.fill_null(digits.cast(pa.int64()), -1).to_numpy(), -1)[codes]
            if (numbers >= 0).mean() > REPEATS:
                yield from ((f"column {shown(name)} (period {period})", numbers % period) for period in PERIODS)


def _predicted(groups: NDArray[np.int64], labels: NDArray[np.int64]) -> tuple[float, float]:
    """The share of rows that the most frequent label of their group adds to that of all, and p by chi-square."""
    from scipy import stats

    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    codes = np.unique(np.where(counts[codes] >= LEAST_ROWS, codes, -1), return_inverse=True)[1]
    table = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (codes, labels), 1)
    table = table[:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0, 1.0
    gain = (table.max(axis=1).sum() - table.sum(axis=0).max()) / len(labels)
    return float(gain), float(stats.chi2_contingency(table, correction=False).pvalue)


def _repeating(linted: Linted) -> Issues:
    targets = linted.data.targets.comparable
    for name, column in _columns(linted):
        keys = column.comparable
        as_target = np.append(pc.fill_null(pc.index_in(keys.distinct, targets.distinct), -2).to_numpy(), -2)
        share = float((as_target[keys.codes] == targets.codes).mean())
        if share >= REPEATS:
            yield WHOLE, f"column {shown(name)} is the target in {share:.1%} of the rows"


def _named(linted: Linted) -> Issues:
    names = [*named(linted.own_columns, (*IMAGE_PATH, *IMAGE_ID, "image")), *named(linted.own_columns, QUESTION_ID)]
    choices, is_target = linted.data.choices, linted.data.is_target
    for name, column in _columns(linted):
        if name not in names or not matches("[A-Za-z]{3}", column).any():
            continue
        inside = _contained(choices.flat, choices.rows, column)
        of_target = inside[is_target]
        of_decoys = np.add.reduceat(inside & ~is_target, choices.starts, dtype=np.int64)
        gain = of_target.mean() - (of_decoys / np.maximum(choices.lengths - 1, 1)).mean()
        if gain > NAMED_GAIN:
            at = np.flatnonzero(of_target & (of_decoys == 0))
            yield from linted.issues(at, (f"{name} {shown(column.texts[code])}" for code in column.codes[at].tolist()))


def _contained(choices: Column, of_rows: NDArray[np.int64], names: Column) -> NDArray[np.bool_]:
    """(choices,): whether the comparable text, of `SHORTEST` letters or more, is in the row's name, letters alone."""
    plain = pc.utf8_lower(names.distinct)
    for pattern, new in ((r"[^a-z]+", " "), (r"^ ?(.*?) ?$", r" \1 ")):
        plain = pc.replace_substring_regex(plain, pattern, new)
    spelled = [*plain.to_pylist(), ""]  # the last for rows without a name
    keys = choices.comparable
    long = (f" {text.replace('-', ' ')} " if len(text) >= SHORTEST and text.isascii() else "\0" for text in keys.texts)
    texts = [*long, "\0"]  # for choices without words
    distinct, inverse = np.unique(pairs(names.codes[of_rows], keys.codes), return_inverse=True)
    which = zip(*(numbers.tolist() for numbers in unpaired(distinct)), strict=True)
    return np.array([texts[key] in spelled[name] for name, key in which], np.bool_)[inverse]


LEAKS = (
    Check("question_in_train", ERROR, "image and question are also in the training split; without images, question, "
          "choices and target", "remove the row from one", _questions),
    Check("image_in_train", WARNING, "the image is also in the training split", "split by image", _images),
    Check("target_in_name", WARNING, "the file name or id contains the target, and no decoy",
          "rename the images: names must not reach models", _named),
    Check("predictive_columns", WARNING, "a column or the order of rows predicts the position of the target",
          "shuffle the choices; do not give the column to models", _predictive),
    Check("repeated_target", NOTE, "a column repeats the target", "do not give it to models", _repeating),
)  # fmt: skip
"""In the order of the table."""
