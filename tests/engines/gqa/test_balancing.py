"""Balanced questions: answers keep their order and become more even, in any order of questions."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.selection import (
    HEAD,
    MIN_RATIO,
    ROW,
    THIN,
    AnswerCells,
    QuestionTable,
    select_balanced,
    smoothed,
)

COUNTS = st.lists(st.integers(1, 400), min_size=1, max_size=12).map(lambda counts: sorted(counts, reverse=True))
TYPES = ("query", "verify", "logical", "choose", "compare")


def kept_of(counts):
    counts = np.array(counts, np.int64)
    return smoothed(counts, np.array([0, len(counts)], np.int64)).tolist()


def entropy(counts):
    counts = np.array([count for count in counts if count], float)
    return float(-(counts / counts.sum() * np.log2(counts / counts.sum())).sum()) if len(counts) else 0.0


def table_of(rows):
    """rows: (image, number, structural, global group, local group, answer, content); groups from 0, -1 for none."""
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    images = max(columns[0], default=-1) + 1
    table = np.zeros(len(rows), ROW)
    for name, column in zip(
        ("image", "number", "structural", "global_group", "local_group", "answer", "content"), columns, strict=True
    ):
        table[name] = column
    return QuestionTable(
        table,
        names={
            "image": [f"image {number}" for number in range(images)],
            "structural": TYPES,
            "semantic": ["attr"],
            "detailed": ["any"],
            "global_group": [f"global {number}" for number in range(max(columns[3], default=-1) + 1)],
            "local_group": [f"local {number}" for number in range(max(columns[4], default=-1) + 1)],
            "answer": [f"answer {number}" for number in range(max(columns[5], default=-1) + 1)],
        },
        vocabulary=0,
    )


@st.composite
def tables(draw):
    """Some hundred questions in a few groups, answers skewed, some telling the same."""
    seed = draw(st.integers(0, 2**32))
    random = np.random.default_rng(seed)
    count = draw(st.integers(0, 500))
    n_globals, n_locals, n_answers = draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.integers(1, 9))
    power = draw(st.floats(0, 2.5))
    weights = np.arange(1, n_answers + 1) ** -power
    local = random.integers(-1, n_locals, count)
    answer = (random.choice(n_answers, count, p=weights / weights.sum()) + np.maximum(local, 0)) % n_answers
    group = np.where(random.random(count) < 0.2, -1, (local + answer) % n_globals)
    image = np.sort(random.integers(0, 1 + count // 20, count))
    _, image = np.unique(image, return_inverse=True)
    number = np.arange(count) - np.searchsorted(image, image)
    content = random.integers(0, 40, count)
    return table_of(np.stack((image, number, random.integers(0, 5, count), group, local, answer, content), axis=1))


def per_group(groups, answers, kept):
    """Group to answer to questions, of all and of the kept ones."""
    found = {}
    for group, answer, stays in zip(groups.tolist(), answers.tolist(), kept.tolist(), strict=True):
        if group >= 0:
            every, left = found.setdefault(group, (Counter(), Counter()))
            every[answer] += 1
            left[answer] += stays
    return found


@settings(deadline=None)  # the first call compiles
@given(COUNTS)
def test_within_a_group_order_stays_no_answer_vanishes_and_entropy_never_falls(counts):
    kept = kept_of(counts)
    assert entropy(kept) >= entropy(counts) - 1e-12
    assert all(1 <= left <= count for left, count in zip(kept, counts, strict=True))
    for index in range(len(counts) - 1):
        if counts[index] > counts[index + 1]:
            assert kept[index] > kept[index + 1]
        else:
            assert kept[index] == kept[index + 1]


@given(st.lists(st.integers(50, 5000), min_size=2, max_size=12).map(lambda some: sorted(some, reverse=True)))
def test_the_head_is_within_its_bound_or_close_to_the_next_answer(counts):
    kept = kept_of(counts)
    total = sum(counts)
    for last in range(len(counts) - 1):
        tail = sum(counts[last + 1 :])
        if last and tail < THIN * total:
            break
        head = sum(kept[: last + 1])
        rest = max(sum(kept[last + 1 :]), 0 if last else THIN * total)
        within = head <= HEAD * rest + 2 * len(counts)
        ratio = max(min(MIN_RATIO, counts[last] / counts[last + 1]), 1)
        near = kept[last] <= ratio * kept[last + 1] + 2
        whole = kept[: last + 1] == counts[: last + 1]  # rounding was taken back
        assert within or near or whole or pushed_further(counts, kept, last)


def pushed_further(counts, kept, last):
    """Answers were equal, so that a longer head had to be scaled instead."""
    return any(counts[index] == counts[index + 1] for index in range(last + 1))


def test_two_answers_keep_similar_counts():
    assert kept_of([900, 300]) == [315, 300]


def test_a_group_does_not_shrink_with_its_rarest_answers():
    assert sum(kept_of([10_000, 1])) >= 900
    assert sum(kept_of([1000, 900, 800, 700, 1, 1])) >= 1000


@given(st.lists(COUNTS, min_size=1, max_size=5))
def test_groups_are_smoothed_each_by_itself(groups):
    starts = np.cumsum([0, *map(len, groups)])
    together = smoothed(np.array(list(chain(*groups)), np.int64), starts.astype(np.int64))
    assert together.tolist() == list(chain(*map(kept_of, groups)))


def test_entropy_of_groups_is_in_bits():
    cells = AnswerCells(np.repeat([0, 1, 2], 4), np.array([0, 0, 1, 1, 2, 2, 2, 2, 0, 1, 2, 3]), np.arange(12))
    assert cells.entropies(cells.counts).tolist() == [1.0, 0.0, 2.0]


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([{}, {"verify": 0.2, "logical": 0.1}, {"query": 0.5}]))
def test_at_both_levels_order_stays_and_entropy_does_not_fall(table, shares):
    kept = select_balanced(table, shares=shares, seed=3).kept
    for groups, is_global in ((table.rows["global_group"], True), (table.rows["local_group"], False)):
        for every, left in per_group(groups, table.rows["answer"], kept).values():
            for one, count in every.items():
                assert left[one] > 0 or not is_global
                for other, fewer in every.items():
                    if count > fewer:
                        assert left[one] > left[other] or left[one] == left[other] == 0
            assert not sum(left.values()) or entropy(left.values()) >= entropy(every.values()) - 1e-9


@settings(max_examples=25, deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_the_selection_does_not_depend_on_the_order_of_questions(table, seed):
    order = np.random.default_rng(seed).permutation(len(table.rows))
    kept = select_balanced(table).kept
    assert select_balanced(table._replace(rows=table.rows[order])).kept.tolist() == kept[order].tolist()


def test_another_seed_takes_other_questions():
    rows = [(number // 50, number % 50, 0, 0, 0, int(number % 10 == 0), number) for number in range(1000)]
    kept = [select_balanced(table_of(rows), seed=seed).kept for seed in (0, 0, 1)]
    assert (kept[0] == kept[1]).all()
    assert kept[0].sum() == kept[2].sum() and (kept[0] != kept[2]).any()


def test_one_of_several_questions_with_the_same_content_stays():
    rows = [(0, number, 0, -1, number, 0, number // 3) for number in range(9)]
    selected = select_balanced(table_of(rows), shares={})
    assert [int(selected.kept[index : index + 3].sum()) for index in (0, 3, 6)] == [1, 1, 1]
    assert selected.removed["redundant"] == 6


def test_types_have_the_fractions_of_the_settings():
    rows = [(number // 40, number % 40, number % 2, -1, number % 50, number % 3, number) for number in range(6000)]
    table = table_of(rows)
    selected = select_balanced(table, shares={"verify": 0.2})
    verify = (table.rows["structural"][selected.kept] == 1).sum() / selected.kept.sum()
    assert verify == pytest.approx(0.2, abs=0.02)
    assert selected.kept[table.rows["structural"] == 0].all()


def test_removed_and_kept_questions_add_up():
    rows = [(n // 50, n % 50, n % 3, n % 2, n % 7, int(n % 13 == 0), n // 2) for n in range(2000)]
    selected = select_balanced(table_of(rows))
    assert sum(selected.removed.values()) + selected.kept.sum() == 2000
    assert all(count >= 0 for count in selected.removed.values())


def test_a_group_without_a_global_label_is_balanced_locally():
    rows = [(n, 0, 1, -1, 0, int(n % 10 == 0), n) for n in range(1000)]
    left = Counter(table_of(rows).rows["answer"][select_balanced(table_of(rows), shares={}).kept])
    assert left[1] == 100 and 100 < left[0] <= 110


def test_global_quotas_are_taken_where_an_answer_is_most_frequent():
    """White walls go before white cats: 0 is white, 1 is black; local group 0 walls, 1 cats."""
    rows = [(n, 0, 0, 0, 0, 0, n) for n in range(900)] + [(900 + n, 0, 0, 0, 0, 1, n) for n in range(60)]
    rows += [(960 + n, 0, 0, 0, 1, n % 2, n) for n in range(400)]
    table = table_of(rows)
    kept = select_balanced(table, shares={}).kept
    assert kept[960:].sum() >= 350
    assert kept[:900].sum() < 300


def test_cells_are_in_falling_order_of_their_questions():
    groups, answers = np.array([1, 1, 1, 0, -1, 1]), np.array([2, 2, 0, 1, 1, 2])
    cells = AnswerCells(groups, answers, np.arange(6))
    assert (cells.groups.tolist(), cells.starts.tolist()) == ([0, 1], [0, 1, 3])
    assert cells.counts.tolist() == [1, 3, 1]
    assert cells.questions.tolist() == [3, 0, 1, 5, 2]
