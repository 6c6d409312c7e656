"""Rows that stand in a benchmark twice, and rows that another split gives away."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.finding import Finding, percent
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.rng import draw

_NO_IMAGE = -1


def duplicates(split: Split, rows: Rows) -> list[Finding]:
    """Questions that a split asks twice; choices count as the same in any order.

    Args:
        split: the split that is audited.
        rows: its rows.

    Returns:
        Those that occur: repeated rows, and the same question and choices on several images.
    """
    (images,) = _images(split)
    texts = _numbers(_questions_and_choices(rows))
    both = _numbers(_pairs(texts, images))
    repeated = _later(both)
    found = [
        Finding(
            "rows that repeat",
            f"In {percent(len(repeated), len(rows))} of the rows image, question and choices are an earlier row's.",
            repeated,
            len(rows),
            "rows",
            len(repeated),
        )
    ]
    with_image = np.flatnonzero(images != _NO_IMAGE)
    first = with_image[np.unique(both[with_image], return_index=True)[1]]  # a row for each text and image
    several = np.bincount(texts[first], minlength=len(texts)) > 1
    where = with_image[several[texts[with_image]]]
    targets = np.unique(_pairs(texts[where], rows.keys[where, 0]), return_index=True)[1]
    one_target = np.bincount(texts[where][targets], minlength=len(texts)) == 1
    always = int(one_target[texts[where]].sum())
    found.append(
        Finding(
            "same question on several images",
            f"In {percent(len(where), len(rows))} of the rows the question has the same choices on another image"
            f"{_same_target(always, len(where))}.",
            where,
            len(rows),
            "rows",
            len(where),
        )
    )
    return [finding for finding in found if finding.count]


def leakage(asked: Split, rows: Rows, other: Split, other_rows: Rows) -> list[Finding]:
    """What another split gives away of the one that is audited.

    Args:
        asked: the split that is audited.
        rows: its rows.
        other: another, such as the one to train on.
        other_rows: its rows, numbered together.

    Returns:
        Those that occur: rows whose image, image and question, or question and choices are in both.
    """
    images, other_images = _images(asked, other)
    has_image, other_has = images != _NO_IMAGE, other_images != _NO_IMAGE
    image_question, other_image_question = _pairs(images, rows.questions), _pairs(other_images, other_rows.questions)
    shared = {
        "image": has_image & np.isin(images, other_images[other_has]),
        "image and question": has_image & np.isin(image_question, other_image_question[other_has]),
        "question and choices": np.isin(_questions_and_choices(rows), _questions_and_choices(other_rows)),
    }
    found = []
    for what, where in shared.items():
        places = np.flatnonzero(where)
        verb = "are" if " and " in what else "is"
        sentence = f"In {percent(len(places), len(rows))} of the rows the {what} {verb} also in {other.name}."
        found.append(Finding(f"{what} of {other.name}", sentence, places, len(rows), "rows", len(places)))
    return [finding for finding in found if finding.count]


def _same_target(always: int, of: int) -> str:
    return f"; in {percent(always, of)} of these the target is the same on all of them" if of else ""


def _images(*splits: Split) -> list[NDArray[np.int64]]:
    """A number for each row's image, the same in all splits; _NO_IMAGE where there is none."""
    columns = [split.rows["image_id"].combine_chunks() for split in splits]
    names = pa.concat_arrays([column.cast(pa.large_string()) for column in columns]).dictionary_encode()
    numbers = names.indices.to_numpy().astype(np.int64)
    numbers[numbers == pc.index(names.dictionary, pa.scalar("", pa.large_string())).as_py()] = _NO_IMAGE
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def _pairs(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number for each pair of numbers from -1 to 2**31."""
    return (one.astype(np.int64) + 1) * 2**32 + other


def _numbers(values: NDArray[np.integer]) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = np.unique(values, return_inverse=True)[1]
    return numbers


def _later(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number occurs but for the first time."""
    later = np.ones(len(numbers), np.bool_)
    later[np.unique(numbers, return_index=True)[1]] = False
    return np.flatnonzero(later)


def _questions_and_choices(rows: Rows) -> NDArray[np.uint64]:
    """64 bits for each row's question and choices in any order; two of a million rows share them once in 10**7."""
    return _mixed(rows.questions, np.sort(rows.keys, axis=1)[:, ::-1])


@njit(cache=True)
def _mixed(questions: NDArray[np.int32], keys: NDArray[np.int32]) -> NDArray[np.uint64]:
    mixed = np.empty(len(keys), np.uint64)
    for row in range(len(keys)):
        bits = draw(np.uint64(0), np.uint64(questions[row]), np.uint64(0))
        for place in range(keys.shape[1]):
            if keys[row, place] >= 0:
                bits = draw(bits, np.uint64(keys[row, place]), np.uint64(place))
        mixed[row] = bits
    return mixed
