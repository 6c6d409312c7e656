"""Checks of rows: targets and labels, repeated and contradictory rows, ids, images."""

from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.checks.check import ERROR, NOTE, ROW, WARNING, Check, Issues, Linted, of_the_whole
from hf_vqa_mc.audits.figures.choices import position_test
from hf_vqa_mc.audits.texts import pairs, unpaired
from hf_vqa_mc.data.cells import as_text, is_text
from hf_vqa_mc.data.columns import repeats
from hf_vqa_mc.data.names import QUESTION_ID, named
from hf_vqa_mc.errors import shown

UNBALANCED_P = 0.001
UNBALANCED_SHARE = 0.02
"""Smallest difference of a position's share from the expected one that is reported, since in a million rows any
difference is significant."""


def _faulty(kind: str, linted: Linted) -> Issues:
    """Rows that could not be read."""
    found = [one for one in linted.faulty if one.kind == kind]
    return Issues([one.row for one in found], [one.message for one in found])


def _without_choices(linted: Linted) -> Issues:
    """Rows without choices, in splits whose other rows have some."""
    every = np.concatenate([linted.tables[split.name][ROW].to_numpy() for split in linted.splits])
    return Issues(np.setdiff1d(every, [*linted.rows, *(one.row for one in linted.faulty)]))


def _repeated_ids(linted: Linted) -> Issues:
    """Rows whose id occurs in an earlier row of the split."""
    rows, details = list[int](), list[str]()
    for table in linted.tables.values():
        for name in named(table.column_names, QUESTION_ID)[:1]:
            kind = table.schema.field(name).type
            if pa.types.is_integer(kind) or is_text(kind):
                ids = as_text(table[name])
                found = repeats(ids)
                rows += table[ROW].to_numpy()[found[:, 1]].tolist()
                details += [f"{name} {shown(ids[row].as_py())}, as in row {first}" for first, row in found.tolist()]
    return Issues(rows, details)


def _contradictory(linted: Linted) -> Issues:
    """Rows of a split with the same image and question as another one, but another target."""
    rows, details = list[int](), list[str]()
    images, questions, targets = linted.data.images, linted.data.questions.comparable, linted.data.targets
    codes, keys = pairs(images.codes, questions.codes), targets.comparable.codes
    for _, of_split in linted.rows_by_split():
        at = of_split[(images.valid & questions.valid)[of_split]]
        _, group = np.unique(codes[at], return_inverse=True)
        of_group, _ = unpaired(np.unique(pairs(group, keys[at])))
        several = np.flatnonzero(np.bincount(of_group) > 1)
        found = at[np.isin(group, several)]
        rows += linted.rows[found].tolist()
        details += [f"target {shown(targets.texts[code])}" for code in targets.codes[found].tolist()]
    return Issues(rows, details)


def _repeated(are_rotated: bool, linted: Linted) -> Issues:
    """Rows that repeat an earlier row of the split, with its choices rotated or not."""
    codes, valid = linted.data.row_keys
    _, both = np.unique(codes, return_inverse=True)
    keys = pairs(both, linted.data.targets.comparable.codes)
    rows, details = list[int](), list[str]()
    for name, of_split in linted.rows_by_split():
        at = of_split[valid[of_split]]
        _, index, inverse = np.unique(keys[at], return_index=True, return_inverse=True)
        first = at[index[inverse]]
        again = first != at
        first, at = first[again], at[again]
        of_kind = _rotated(linted, at, first) == are_rotated
        rows += linted.rows[at[of_kind]].tolist()
        start = linted.tables[name][ROW][0].as_py()
        details += [f"as in row {row}" for row in (linted.rows[first[of_kind]] - start).tolist()]
    return Issues(rows, details)


def _rotated(linted: Linted, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the choices of each row are those of the other one, all moved by the same number of positions."""
    listed, found = linted.data.choices, np.zeros(len(rows), bool)
    for size in np.unique(listed.lengths[rows]).tolist():
        at = np.flatnonzero((listed.lengths[rows] == size) & (listed.lengths[others] == size))
        one, other = (listed.flat.codes[listed.starts[some[at]][:, None] + np.arange(size)] for some in (rows, others))
        shift = (one == other[:, :1]).argmax(axis=1)
        back = np.take_along_axis(one, (np.arange(size) + shift[:, None]) % size, axis=1)
        found[at] = (shift > 0) & (back == other).all(axis=1)
    return found


def _unbalanced(linted: Linted) -> Issues:
    """Splits in which the target is not equally often at each position."""
    found = []
    for name, rows in linted.rows_by_split() if linted.data.ordered else ():
        sizes, labels = linted.data.choices.lengths[rows], linted.data.labels[rows]
        expected, _, p = position_test(labels, sizes)
        shares = np.bincount(labels, minlength=len(expected)) / len(rows)
        apart = np.abs(shares - expected / len(rows))
        if p < UNBALANCED_P and apart.max() > UNBALANCED_SHARE:
            at = int(apart.argmax())
            found.append(f"{name}: position {at + 1} has {shares[at]:.1%} of the targets instead of "
                         f"{expected[at] / len(rows):.1%}")  # fmt: skip
    return of_the_whole(found)


def _images(is_missing: bool, linted: Linted) -> Issues:
    """Rows whose image is missing, or cannot be decoded."""
    problems = {code: one.problem for code, one in linted.images.items()
                if one.problem and one.is_missing == is_missing}  # fmt: skip
    rows = np.flatnonzero(np.isin(linted.data.images.codes, list(problems)))
    return Issues(linted.rows[rows], [problems[code] for code in linted.data.images.codes[rows].tolist()])


def _repeated_images(linted: Linted) -> Issues:
    """Rows whose image has the content of an image with another name."""
    firsts: dict[str, int] = {}
    first = {code: firsts.setdefault(one.digest, code) for code, one in linted.images.items() if one.digest}
    names, codes = linted.data.images.texts, linted.data.images.codes
    rows = np.flatnonzero(np.isin(codes, [code for code, other in first.items() if code != other]))
    details = [f"image {shown(names[code])} is {shown(names[first[code]])}" for code in codes[rows].tolist()]
    return Issues(linted.rows[rows], details)


ROWS = (
    Check("missing_target", ERROR, "the row has no label", "add it, or remove the row",
          partial(_faulty, "missing_label")),
    Check("invalid_label", ERROR, "the label is none of the row's choices, or names several", "correct the label",
          partial(_faulty, "label")),
    Check("missing_question", ERROR, "the question is missing", "add it, or remove the row",
          partial(_faulty, "question")),
    Check("one_choice", ERROR, "the row's choices cannot be read, or it has one only",
          "correct them, or remove the row",
          partial(_faulty, "choices")),
    Check("no_choices", WARNING, "the row has no choices, others have", "remove open questions", _without_choices),
    Check("repeated_ids", WARNING, "the question id occurs in an earlier row of the split", "make the ids unique",
          _repeated_ids),
    Check("contradictory_targets", WARNING, "other rows have the same image and question, but another target",
          "check these targets: one of them is wrong, or several are correct", _contradictory),
    Check("repeated_rows", NOTE, "an earlier row of the split has the same image, question and target; without image, "
          "the same question, choices and target", "remove the row", partial(_repeated, False)),
    Check("rotated_rows", NOTE, "an earlier row of the split is the same except that its choices are rotated, as for "
          "circular evaluation", "keep the rows; count a question only if all its rotations are answered correctly",
          partial(_repeated, True)),
    Check("untyped", NOTE, "the row has no question type, others have", "add the type",
          lambda linted: Issues(linted.rows[~linted.data.types.valid & linted.data.types.valid.any()])),
    Check("unbalanced_positions", WARNING, "the target is not equally often at each position (chi-square, p < 0.001)",
          "shuffle the choices; vqa-mc remedy does so", _unbalanced),
    Check("missing_images", ERROR, "the image is missing or cannot be read", "add it, or remove the row",
          partial(_images, True)),
    Check("damaged_images", ERROR, "the image cannot be decoded", "replace it", partial(_images, False)),
    Check("unread_images", NOTE, "the rows name images that were not read", "give their folder with --images",
          lambda linted: of_the_whole([f"{split.name}: {split.images_missing}" for split in linted.splits
                                       if split.images_missing])),
    Check("repeated_images", WARNING, "another image has the same content", "give both the same image id",
          _repeated_images),
)  # fmt: skip
"""In the order of the table."""
