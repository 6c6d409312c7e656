"""Distinct texts, and the fast path of the official normalisation."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.audits.texts import Column, official_texts, pairs, unpaired
from hf_vqa_mc.scoring.vqa_normalisation import ARTICLES, CONTRACTIONS, NUMBERS, normalised

WORDS = st.sampled_from([*CONTRACTIONS, *NUMBERS, *ARTICLES, "cat", "cats", "red", "3", "T-shirt", "it's.", "1,000"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), min_size=1))
def test_texts_have_the_keys_of_the_official_program(texts):
    column = Column.of(pa.array(texts))
    for found, text in zip(official_texts(column.distinct).to_pylist(), column.texts, strict=True):
        assert found == (normalised(text) or text.strip().lower())


@given(st.lists(st.tuples(st.integers(-1, 2**31 - 2), st.integers(-1, 2**31 - 2)), min_size=1))
def test_pairs_are_distinct_and_come_back(numbers):
    one, other = np.array(numbers).T
    codes = pairs(one, other)
    assert len(set(codes.tolist())) == len(set(numbers))
    assert list(zip(*(half.tolist() for half in unpaired(codes)), strict=True)) == numbers
