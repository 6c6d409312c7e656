"""Batches: each question once an epoch, decoys of one kind, the same whatever the number of processes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.training.batches import Sampler
from hf_vqa_mc.training.multiple_choice import MultipleChoice
from hf_vqa_mc.training.questions import NONE, Questions


def questions_of(kinds, labels):
    """Questions whose choices are of these kinds; text numbers encode question and position."""
    kinds = np.array(kinds, np.int8)
    count, most = kinds.shape
    choices = np.where(kinds == NONE, NONE, np.arange(count * most).reshape(count, most))
    ids = [str(row) for row in range(count)]
    return Questions("toy", ids, ids, np.arange(count), ids, [[]] * count, choices, kinds, np.array(labels))


IOU_QOU = questions_of([[2, 2, 0, 2, 3, 3, 3]] * 30, [2] * 30)


@given(st.integers(1, 40), st.integers(1, 17), st.integers(0, 3))
def test_an_epoch_goes_through_every_question_once(count, batch_size, seed):
    questions = questions_of([[0, 2]] * count, [0] * count)
    sampler = Sampler(questions, batch_size, 1, seed)
    rows = np.concatenate([sampler.step(number).rows for number in range(3 * count)])
    for epoch in range(len(rows) // count):
        assert sorted(rows[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_epochs_have_orders_of_their_own_and_so_have_seeds():
    first, again, other = (Sampler(IOU_QOU, 30, 3, seed) for seed in (0, 0, 1))
    assert first.step(0).rows.tolist() == again.step(0).rows.tolist()
    assert first.step(0).rows.tolist() != first.step(1).rows.tolist()
    assert first.step(0).rows.tolist() != other.step(0).rows.tolist()


def test_a_step_is_the_same_whichever_came_before():
    forward, back = Sampler(IOU_QOU, 7, 3, 5), Sampler(IOU_QOU, 7, 3, 5)
    steps = [forward.step(number) for number in range(20)]
    for number in reversed(range(20)):
        again = back.step(number)
        np.testing.assert_array_equal(again.rows, steps[number].rows)
        np.testing.assert_array_equal(again.choices, steps[number].choices)


@given(st.data())
def test_the_target_comes_first_and_decoys_are_different_ones_of_one_kind(data):
    most = data.draw(st.integers(1, 6))
    lengths = data.draw(st.lists(st.integers(1, most), min_size=1, max_size=8))
    kinds = [[data.draw(st.integers(1, 4)) for _ in range(length)] + [NONE] * (most - length) for length in lengths]
    labels = [data.draw(st.integers(0, length - 1)) for length in lengths]
    for row, label in zip(kinds, labels, strict=True):
        row[label] = 0
    wanted = data.draw(st.integers(1, 4))
    sample = Sampler(questions_of(kinds, labels), len(kinds), wanted, 0).step(0)
    for row, choices in zip(sample.rows, sample.choices, strict=True):
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
    sampler = Sampler(questions, 200, 2, 0)
    drawn = np.concatenate([sampler.step(number).choices for number in range(60)])[:, 1:]
    kind_of = questions.kinds[0]
    kinds = Counter(int(kind_of[first]) for first in drawn[:, 0])
    assert {kind: round(count / len(drawn), 1) for kind, count in kinds.items()} == {1: 0.3, 2: 0.3, 3: 0.3}
    of_qou = Counter(drawn[(drawn >= 2) & (drawn <= 6)].tolist())
    shares = np.array([of_qou[position] for position in range(2, 7)]) / sum(of_qou.values())
    assert np.abs(shares - 0.2).max() < 0.02


class Recorded:
    """Replaces the inputs: the tensors show what was requested."""

    def tensors(self, questions, rows, choices):
        return {"rows": rows, "choices": choices}


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_share_what_is_drawn_without_changing_it(processes):
    questions = questions_of([[2, 0, 3, 3], [2, 0, NONE, NONE]] * 20, [1] * 40)
    sample = Sampler(questions, 14, 2, 0).step(3)
    found = [MultipleChoice.part(Recorded(), sample, questions, process, processes) for process in range(processes)]
    np.testing.assert_array_equal(np.concatenate([part.tensors["rows"] for part in found]), sample.rows)
    texts = np.concatenate([part.tensors["choices"] for part in found])
    expected = np.where(
        sample.choices == NONE, NONE, np.take_along_axis(questions.choices[sample.rows], sample.choices, 1)
    )
    np.testing.assert_array_equal(texts, expected)
    assert all((part.tensors["labels"] == 0).all() for part in found)
    candidates = [(part.tensors["choices"] != NONE).sum() for part in found]
    assert [part.weight for part in found] == pytest.approx(np.array(candidates) / sum(candidates))
