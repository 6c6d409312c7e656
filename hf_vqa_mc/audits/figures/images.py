"""Figures of rows and images: reuse of images, duplicates, overlap of splits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.charts import Bars, table_only
from hf_vqa_mc.audits.figures.figure import Found, Number, distribution, figure, share, table
from hf_vqa_mc.audits.figures.questions import needs_questions
from hf_vqa_mc.audits.texts import pairs

Keys = dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]]
"""What is compared to a number for each row, and whether the row has it."""


@figure(
    "Questions per image",
    "Chao et al. 2018, Table 2",
    Bars("questions per image", "share"),
    lambda data: "" if data.images.different else "rows have no images",
)
def image_reuse(data: Data) -> Found:
    """Share of the images by their number of questions."""
    per_image = data.images.counts[data.images.counts > 0]
    distinct, counts = np.unique(per_image, return_counts=True)
    numbers: dict[str, Number] = {"mean": float(per_image.mean()), "most": int(per_image.max())}
    return Found(numbers, distribution("questions per image", distinct.tolist(), counts, "images"))


def _keys(data: Data) -> Keys:
    """The comparable question, with answer, image, or both."""
    questions, answers = data.questions.comparable, data.targets.comparable
    images = data.images
    with_answer = pairs(questions.codes, answers.codes)
    _, both = np.unique(with_answer, return_inverse=True)
    has_question, has_image = questions.valid, images.valid
    return {
        "question": (questions.codes.astype(np.int64), has_question),
        "question and answer": (with_answer, has_question & answers.valid),
        "image": (images.codes.astype(np.int64), has_image),
        "image and question": (pairs(questions.codes, images.codes), has_question & has_image),
        "image, question and answer": (pairs(both, images.codes), has_question & has_image & answers.valid),
    }


@figure("Repeated rows", "Kafle and Kanan 2017, section 3 (post processing)", Bars("same", "share"), needs_questions)
def duplicates(data: Data) -> Found:
    """Rows that repeat an earlier row of any split; case and punctuation are ignored."""
    rows: list[list[Any]] = []
    for name, (keys, valid) in _keys(data).items():
        if name != "image" and valid.any():
            repeated = int(valid.sum()) - len(np.unique(keys[valid]))
            rows.append([name, repeated, share(repeated, len(data))])
    return Found({f"same {name}": part for name, _, part in rows}, table(["same", "rows", "share"], rows))


@figure(
    "Overlap of splits",
    "Kafle and Kanan 2017, appendix (train and test split)",
    table_only,
    lambda data: "" if data.splits.different > 1 else "there is one split",
)
def overlap(data: Data) -> Found:
    """Share of a split's rows that have the same in another split; case and punctuation are ignored."""
    keys, rows = _keys(data), list[list[Any]]()
    numbers: dict[str, Number] = {}
    for number, name in enumerate(data.splits.texts):
        for other, other_name in enumerate(data.splits.texts):
            if number == other:
                continue
            cells: list[Any] = [name, other_name]
            mine, others = (data.splits.codes == one for one in (number, other))
            for what, (codes, valid) in keys.items():
                found = np.isin(codes[mine & valid], codes[others & valid])
                cells.append(share(found.sum(), mine.sum()) if valid.any() else None)
                if other_name == "train" and valid.any():
                    numbers[f"{what} of {name} also in train"] = cells[-1]
            rows.append(cells)
    return Found(numbers, table(["split", "also in", *keys], rows))


IMAGES = (image_reuse, duplicates, overlap)
