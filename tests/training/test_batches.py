"""Batches: each question once an epoch, decoys of one kind, the same whatever the number of processes."""

from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.training.questions import NONE, Examples
from hf_vqa_mc.training.tasks import Task, philox, sampled_choices, step_rows


def questions_of(kinds, labels):
    """Questions whose choices are of these kinds; text numbers encode question and position."""
    kinds = np.array(kinds, np.int8)
    count, most = kinds.shape
    choices = np.where(kinds == NONE, NONE, np.arange(count * most).reshape(count, most))
    ids = [str(row) for row in range(count)]
    return Examples("toy", ids, ids, np.arange(count), ids, [[]] * count, choices, kinds, np.array(labels))


def sampled(questions, order, number, decoys):
    """The questions of a step and their choices."""
    rows = order(number)
    return rows, sampled_choices(questions, rows, decoys, philox(order.keywords["seed"], 2 * number + 1))


IOU_QOU = questions_of([[2, 2, 0, 2, 3, 3, 3]] * 30, [2] * 30)


@given(st.integers(1, 40), st.integers(1, 17), st.integers(0, 3))
def test_an_epoch_goes_through_every_question_once(count, batch_size, seed):
    questions = questions_of([[0, 2]] * count, [0] * count)
    order = partial(step_rows, len(questions), batch_size, seed=seed)
    rows = np.concatenate([order(number) for number in range(3 * count)])
    for epoch in range(len(rows) // count):
        assert sorted(rows[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_epochs_have_orders_of_their_own_and_so_have_seeds():
    first, again, other = (partial(step_rows, 30, 30, seed=seed) for seed in (0, 0, 1))
    assert first(0).tolist() == again(0).tolist()
    assert first(0).tolist() != first(1).tolist()
    assert first(0).tolist() != other(0).tolist()


def test_a_step_is_the_same_whichever_came_before():
    forward, back = partial(step_rows, 30, 7, seed=5), partial(step_rows, 30, 7, seed=5)
    steps = [sampled(IOU_QOU, forward, number, 3) for number in range(20)]
    for number in reversed(range(20)):
        for one, other in zip(sampled(IOU_QOU, back, number, 3), steps[number], strict=True):
            np.testing.assert_array_equal(one, other)


@given(st.data())
def test_the_target_comes_first_and_decoys_are_different_ones_of_one_kind(data):
    most = data.draw(st.integers(1, 6))
    lengths = data.draw(st.lists(st.integers(1, most), min_size=1, max_size=8))
    kinds = [[data.draw(st.integers(1, 4)) for _ in range(length)] + [NONE] * (most - length) for length in lengths]
    labels = [data.draw(st.integers(0, length - 1)) for length in lengths]
    for row, label in zip(kinds, labels, strict=True):
        row[label] = 0
    wanted = data.draw(st.integers(1, 4))
    drawn = sampled(questions_of(kinds, labels), partial(step_rows, len(kinds), len(kinds), seed=0), 0, wanted)
    for row, choices in zip(*drawn, strict=True):
        assert choices[0] == labels[row]
        decoys = [index for index in choices[1:] if index != NONE]
        assert len(set(decoys)) == len(decoys)
        of_kinds = {kinds[row][position] for position in decoys}
        available = Counter(
            kind for position, kind in enumerate(kinds[row]) if kind != NONE and position != labels[row]
        )
        if available:
            (kind,) = of_kinds
            assert len(decoys) == min(wanted, available[kind])
        else:
            assert not decoys


def test_each_kind_of_decoys_and_each_decoy_of_it_is_as_likely_as_the_others():
    questions = questions_of([[2, 0, 3, 3, 3, 3, 3, 1]] * 200, [1] * 200)
    order = partial(step_rows, 200, 200, seed=0)
    drawn = np.concatenate([sampled(questions, order, number, 2)[1] for number in range(60)])[:, 1:]
    kind_of = questions.kinds[0]
    kinds = Counter(int(kind_of[first]) for first in drawn[:, 0])
    assert {kind: round(count / len(drawn), 1) for kind, count in kinds.items()} == {1: 0.3, 2: 0.3, 3: 0.3}
    of_qou = Counter(drawn[(drawn >= 2) & (drawn <= 6)].tolist())
    shares = np.array([of_qou[position] for position in range(2, 7)]) / sum(of_qou.values())
    assert np.abs(shares - 0.2).max() < 0.02


class Recorded(Task):
    """The tensors show what was requested."""

    def __init__(self):
        self._vocabulary = None

    def tensors(self, questions, rows, choices):
        return {"rows": rows, "choices": choices}


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_share_what_is_drawn_without_changing_it(processes):
    questions = questions_of([[2, 0, 3, 3], [2, 0, NONE, NONE]] * 20, [1] * 40)
    rows, choices = sampled(questions, partial(step_rows, 40, 14, seed=0), 3, 3)
    settings = SimpleNamespace(effective=SimpleNamespace(batch_size=14), seed=0)
    make = Recorded().batches(questions, settings)
    found = [make(3, process, processes) for process in range(processes)]
    np.testing.assert_array_equal(np.concatenate([part[0]["rows"] for part in found]), rows)
    texts = np.concatenate([part[0]["choices"] for part in found])
    expected = np.where(choices == NONE, NONE, np.take_along_axis(questions.choices[rows], choices, 1))
    np.testing.assert_array_equal(texts, expected)
    assert all((part[0]["labels"] == 0).all() for part in found)
    candidates = [(part[0]["choices"] != NONE).sum() for part in found]
    assert [part[1] for part in found] == pytest.approx(np.array(candidates) / sum(candidates))
