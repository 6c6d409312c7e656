"""Which part of the rows a row belongs to, where a rule can be learnt from nothing but the rows that it is asked."""

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audit.shortcut import FOLDS
from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.decoys.chance import text_hashes


def folds_of(split: Split) -> NDArray[np.int8]:
    """The part of each row: rows of one image are in one part, a row without an image goes by its question_id.

    It depends on nothing but these names, so that a row stays where it is when others come or go.

    Returns:
        int8 (rows,), in [0, FOLDS).
    """
    images = split.rows["image_id"]
    names = pc.if_else(pc.equal(images, ""), split.rows["question_id"], images).combine_chunks().dictionary_encode()
    parts = (text_hashes(names.dictionary.to_pylist()) % np.uint64(FOLDS)).astype(np.int8)
    found: NDArray[np.int8] = parts[names.indices.to_numpy()]
    return found
