"""An LSTM that computes shared prefixes once has the states and gradients of torch's, question by question."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from hf_vqa_mc.models.question_lstm import last_states, prefixes_of

QUESTIONS = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=12)


def padded(questions):
    return nn.utils.rnn.pad_sequence([torch.tensor(one) for one in questions], batch_first=True)


def parts(layers):
    torch.manual_seed(0)
    return nn.LSTM(3, 7, layers, batch_first=True), nn.Embedding(5, 3, padding_idx=0)


def one_by_one(lstm, words, questions):
    found = [lstm(words(torch.tensor([one])).tanh())[1] for one in questions]
    return tuple(torch.cat(states, 1) for states in zip(*found, strict=True))


def gradients(states, modules):
    weights = torch.linspace(-1, 1, states[0].numel()).view_as(states[0])
    parameters = [one for module in modules for one in module.parameters()]
    return torch.autograd.grad(((states[0] + 2 * states[1]) * weights).sum(), parameters)


def test_each_distinct_prefix_occurs_once():
    words, parents, questions = prefixes_of(padded([[2, 3], [2, 3, 4], [2, 3], [3], [2, 4, 4]]))
    assert words.tolist() == [2, 3, 3, 4, 4, 4]
    assert [one.tolist() for one in parents] == [[0, 0], [0, 0], [0, 1]]
    assert questions.tolist() == [2, 4, 2, 1, 5]


@pytest.mark.parametrize("layers", [1, 2])
@given(questions=QUESTIONS)
def test_states_and_gradients_equal_torch_s(layers, questions):
    lstm, words = parts(layers)
    ours, theirs = last_states(lstm, words, padded(questions)), one_by_one(lstm, words, questions)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(gradients(ours, (lstm, words)), gradients(theirs, (lstm, words)), atol=1e-5, rtol=1e-4)
