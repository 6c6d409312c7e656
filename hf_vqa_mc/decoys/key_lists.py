"""Texts that are correct for a question besides its target, so that they never become its decoys."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.decoys.candidates import MISSING, Int32s, Int64s, NumberedTexts, starts
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.operators import comparable_keys
from hf_vqa_mc.text.wu_palmer import reading_inline


class KeyLists(NamedTuple):
    """A list of text keys for each triplet, for kernels."""

    keys: Int32s  # of all triplets, concatenated; MISSING for texts that are no candidates
    starts: Int64s  # (triplets + 1,)

    @classmethod
    def of(cls, texts: pa.ListArray, numbered: NumberedTexts) -> "KeyLists":
        """The keys of a list of texts per triplet; null is an empty list."""
        known = pa.array(numbered.key_texts, pa.large_string())
        compared = comparable_keys if numbered.signs else comparable_texts
        keys = pc.index_in(compared(pc.list_flatten(texts))[0], known)
        sizes = pc.fill_null(pc.list_value_length(texts), 0).to_numpy()
        return cls(pc.fill_null(keys, MISSING).to_numpy().astype(np.int32), starts(sizes))

    @classmethod
    def empty(cls, size: int) -> "KeyLists":
        """Empty lists."""
        return cls(np.empty(0, np.int32), np.zeros(size + 1, np.int64))


@reading_inline
def holds(lists: KeyLists, triplet: int, key: int) -> bool:
    """Whether a triplet's list contains a key."""
    for i in range(lists.starts[triplet], lists.starts[triplet + 1]):
        if lists.keys[i] == key:
            return True
    return False
