import numpy as np
import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.closed_sets import usual_rank
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.data import Benchmark
from tests.audits.planted import planted, split_of, with_columns

N_ROWS = 600


def made_up_rows(choices=4):
    return number_rows({"test": planted("none", 0.0, N_ROWS, 0, choices)[0]})["test"]


def ranked(rows, ranks, seed=0):
    """Probabilities of which the target's is the one with the given rank."""
    rng = np.random.default_rng(seed)
    found = np.sort(rng.random(rows.keys.shape), axis=1)[:, ::-1]
    at = np.arange(len(rows))
    found[at, 0], found[at, ranks] = found[at, ranks], found[at, 0].copy()
    return found


@pytest.mark.parametrize("rank", [1, 3])
def test_the_rank_that_targets_usually_have_is_found(rank):
    rows, rng = made_up_rows(), np.random.default_rng(1)
    ranks = np.where(rng.random(N_ROWS) < 0.6, rank, rng.integers(4, size=N_ROWS))
    found = usual_rank(rows, ranked(rows, ranks), rng.integers(5, size=N_ROWS))
    assert found.scores.mean() == np.mean(ranks == rank) > 0.6
    assert found.inflation > 1  # as other strategies that are counted in other folds


def test_the_most_probable_choice_is_no_strategy_of_its_own():
    rows, rng = made_up_rows(), np.random.default_rng(1)
    ranks = np.where(rng.random(N_ROWS) < 0.5, 0, rng.integers(4, size=N_ROWS))
    assert usual_rank(rows, ranked(rows, ranks), rng.integers(5, size=N_ROWS)) is None


def test_ranks_are_counted_in_other_folds_among_rows_with_as_many_choices():
    rows, folds = made_up_rows(), np.arange(N_ROWS) % 2
    found = usual_rank(rows, ranked(rows, 1 + folds), folds)
    assert not found.scores.any()  # each fold expects the other's rank


def test_answers_that_differ_from_those_of_the_training_split_are_a_shortcut():
    """As in VQA-CP, or after pruning: the model of the training split is wrong, and so it tells what is correct."""
    train, test = (planted("length", 0.9, N_ROWS, seed)[0] for seed in (1, 2))
    choices, labels = test["choices"].to_pylist(), test["label"].to_pylist()
    longest = np.array([max(range(4), key=lambda at: len(texts[at])) for texts in choices])
    shortest = [min(range(4), key=lambda at: len(texts[at])) for texts in choices]
    turned = np.where(longest == labels, shortest, labels)
    splits = {"train": split_of(train, "train"), "test": split_of(with_columns(test, label=turned))}
    found = {
        gain.name: gain for gain in audit(Benchmark("turned", None, "test", splits, None, {}), ProbeSettings()).gains
    }
    assert found["random forest: choices alone"].estimate.accuracy < 0.15
    reverse = found["rank of the prediction: choices alone"]
    assert reverse.alarm and reverse.estimate.accuracy > 0.35
