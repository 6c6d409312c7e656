"""Networks that judge the choices of a row together find relations between choices, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits.probes.models import PAIR_MODELS, SET_MODELS
from hf_vqa_mc.audits.probes.set_network import Inputs, _WeightedSums, trained_odds
from hf_vqa_mc.audits.shortcut import ProbeInputs
from tests.audits.planted import context_of, ran, table_of

CHOICES, QUESTION, IMAGE, EVERYTHING = SET_MODELS


def table(choices, labels, questions=None):
    images = [f"i{row}" for row in range(len(choices))]
    return table_of(list(zip(images, questions or ["what is it"] * len(choices), choices, labels, strict=True)))


def centres(rows, seed, name="text"):
    """The target lies between its decoys on a circle of 12 texts; each text is equally often target and decoy."""
    rng = np.random.default_rng(seed)
    target = rng.integers(12, size=rows)
    order = rng.permuted(np.tile(np.arange(3), (rows, 1)), axis=1)
    numbers = (target[:, None] + np.array([0, 1, -1])[order]) % 12
    texts = np.array([f"{name}{chr(ord('a') + number) * 3}" for number in range(12)], object)
    return table(texts[numbers].tolist(), (order == 0).argmax(axis=1))


def accuracy(context, probe):
    (found,) = ran(context, [probe])[0].values()
    return float(found.scores.mean())


@pytest.fixture(scope="module")
def trained():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_vqa_mc.audits.probes.set_network.LEAST_STEPS", 150)
        yield


def test_the_choice_between_the_others_is_found_only_by_the_choices_together(trained):
    context = context_of(centres(400, 0), centres(1500, 1))
    assert accuracy(context, CHOICES) > 0.9
    logistic = next(probe for probe in PAIR_MODELS if probe.sees is ProbeInputs.CHOICES)
    assert accuracy(context, logistic) < 0.7  # half of the texts preferred to their neighbours


def unseen(rows, seed):
    """The target of a "how" question has the word many; all texts are distinct."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=rows)
    choices = [[f"many {n}{seed}x", f"some {n}{seed}y"] for n in range(rows)]
    questions = [("how is it", "what is it")[kind] for kind in kinds]
    return table(choices, kinds, questions)


def test_words_of_unseen_texts_are_compared_with_the_question(trained):
    context = context_of(unseen(300, 0), unseen(600, 1))
    assert accuracy(context, QUESTION) > 0.9
    assert accuracy(context, CHOICES) == pytest.approx(0.5, abs=0.1)


def test_spelling_of_unseen_texts_is_compared(trained):
    rng = np.random.default_rng(0)

    def spelled(rows, seed):
        numbers = rng.integers(10**6, size=(rows, 2))
        return table([[f"{seed}{one}ish", f"{seed}{other}ous"] for one, other in numbers], [0] * rows)

    assert accuracy(context_of(spelled(200, 0), spelled(400, 1)), CHOICES) > 0.9


def test_images_that_show_the_target_are_used_and_missing_ones_are_not_needed(trained):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=800)
    vectors = rng.normal(size=(800, 4)).astype(np.float32)
    vectors[:, 0] += 4 * labels
    vectors[::10] = np.nan
    rows = [table([["cat", "dog"]] * 400, part) for part in (labels[:400], labels[400:])]
    context = context_of(*rows, vectors=vectors)
    assert accuracy(context, IMAGE) > 0.85
    assert accuracy(context, QUESTION) == pytest.approx(0.5, abs=0.1)


def test_a_seed_gives_the_same_result_and_global_state_is_kept():
    table_, train = centres(100, 0), centres(200, 1)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first, again, other = (
        ran(context_of(table_, train, seed=seed), [CHOICES])[0][CHOICES.name].probabilities for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads


def test_training_ends_at_the_time_limit(monkeypatch):
    context = context_of(centres(50, 0), centres(100, 1))
    clock = iter(range(10**6))
    context.started = 0.0
    monkeypatch.setattr("hf_vqa_mc.audits.probes.probe.time.monotonic", lambda: next(clock) * 60.0)
    found, (not_run,) = ran(context, [CHOICES])
    assert not found
    assert not_run.reason == "the time limit was reached in training"


@pytest.mark.slow
def test_networks_that_run_in_parallel_find_what_they_find_alone():
    context = context_of(centres(300, 0), centres(300, 1))
    together = ran(context, [CHOICES, QUESTION])[0]
    for probe in (CHOICES, QUESTION):
        (alone,) = ran(context, [probe])[0].values()
        np.testing.assert_array_equal(alone.scores, together[alone.name].scores)
        np.testing.assert_array_equal(alone.probabilities, together[alone.name].probabilities)


def test_a_failure_of_another_probe_stops_the_networks(monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.EPOCHS", 10**6)
    failing = replace(PAIR_MODELS[0], run=lambda context: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ran(context_of(centres(100, 0), centres(100, 1)), [CHOICES, failing])


@pytest.mark.parametrize(
    ("most", "steps"), [(10**6, 4 * 8 * 2), (2 * 8 * 1000, 2 * 8 * 2), (6 * 1000, 6 * 2), (1, 4 * 2)]
)
def test_networks_and_then_epochs_are_fewer_where_there_are_many_rows(monkeypatch, most, steps):
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.NETWORKS", 4)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.LEAST_STEPS", 1)
    rng, checks = np.random.default_rng(0), []
    texts = scipy.sparse.eye_array(9, dtype=np.float32, format="csr")
    inputs = Inputs(rng.integers(9, size=(1000, 3)), texts, np.zeros(1000, np.int64), None, None)
    rows = np.arange(1000)  # two batches
    odds = trained_odds(inputs, rows, rng.integers(3, size=1000), rows[:5], 0, lambda: checks.append(1), most)
    assert len(checks) == steps
    assert odds.shape == (5, 3)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=5), st.integers(0, 99))
def test_gradients_of_embeddings_equal_those_of_torch(texts, seed):
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(6, 3, generator=generator, requires_grad=True)
    features = torch.tensor([one for text in texts for one in text], dtype=torch.int64)
    offsets = torch.tensor([0, *np.cumsum([len(text) for text in texts])[:-1]])
    weights = torch.rand(len(features), generator=generator)
    of_sums = torch.randn(len(texts), 3, generator=generator)
    buffer = torch.full_like(table, torch.nan)
    ours = _WeightedSums.apply(table, buffer, features, offsets, weights)
    theirs = torch.nn.functional.embedding_bag(features, table, offsets, mode="sum", per_sample_weights=weights)
    torch.testing.assert_close(ours, theirs)
    (expected,) = torch.autograd.grad(theirs, table, of_sums)
    torch.testing.assert_close(torch.autograd.grad(ours, table, of_sums)[0], expected)
