"""Counting answers, their entropy, and repeated ids, independent of the pieces that rows come in."""

import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from hf_vqa_mc.sources.open_ended import add_means, by_value, count, entropy, grouped, most_frequent, type_table


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20))
def test_entropy_is_that_of_its_definition(sizes):
    shares = np.array(sizes) / sum(sizes)
    assert entropy(sizes) == pytest.approx(-(shares * np.log2(shares)).sum(), abs=1e-9)
    assert entropy(sizes[::-1]) == entropy(sizes)
    assert 0 <= entropy(sizes) <= math.log2(len(sizes)) + 1e-9


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1), st.integers(1, 5))
def test_counts_do_not_depend_on_the_pieces(rows, size):
    counts = {("kind", "answer"): Counter(), ("answer",): Counter()}
    for start in range(0, len(rows), size):
        kinds, answers = zip(*rows[start : start + size], strict=True)
        count(counts, pa.table({"kind": kinds, "answer": answers}))
    pairs = counts["kind", "answer"]
    assert pairs == Counter(rows)
    assert counts["answer",] == Counter((answer,) for _, answer in rows)
    assert by_value(pairs) == Counter(answer for _, answer in rows)
    assert grouped(pairs).get("a", Counter()) == Counter(answer for kind, answer in rows if kind == "a")


def test_mean_entropy_is_plain_and_weighted_by_rows():
    groups = {"even": Counter(a=1, b=1), "one": Counter(c=6)}
    figures = {"entropy": {}}
    add_means(figures, groups, "types")
    add_means(figures, {}, "none")
    assert list(figures["entropy"].values()) == [0.5, 0.25, 0.0, 0.0]


def test_equally_frequent_answers_are_sorted_by_name():
    assert most_frequent(Counter(b=2, a=2, c=3), 2) == [["c", 3], ["a", 2]]
    table = type_table("Answers", "type", {"x": Counter(a=1), "y": Counter(a=2, b=2)})
    assert table["rows"] == [["y", 4, 2, "a", 1.0], ["x", 1, 1, "a", 0.0]]
