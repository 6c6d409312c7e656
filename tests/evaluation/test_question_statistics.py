"""Item statistics on simulated models: planted wrong labels lead the reading list, and relatives are named."""

import numpy as np
import pandas as pd
import pytest

from hf_vqa_mc.evaluation.question_statistics import ALIKE, item_table


def answers(runs, seed=0, questions=1000, choices=4, wrong=0.05, relatives=False):
    """Picks (questions, runs), labels of which a share is wrong, and which; a tenth of the questions mislead all."""
    rng = np.random.default_rng(seed)
    difficulty, slope = rng.normal(0, 1.2, questions), rng.lognormal(0, 0.35, questions)
    decoys = rng.dirichlet(np.full(choices - 1, 0.8), questions).cumsum(axis=1)
    ability = rng.normal(0.8, 0.15 if relatives else 0.9, runs)
    shared = rng.normal(0, 2.2, questions) if relatives else np.zeros(questions)
    difficulty[rng.random(questions) < 0.1] += 2.5
    picks = np.zeros((questions, runs), np.int64)
    for run in range(runs):
        logit = slope * (ability[run] - difficulty) + shared + rng.normal(0, 0.8, questions) * (not relatives)
        is_right = rng.random(questions) < 0.25 + 0.75 / (1 + np.exp(-logit))
        drawn = (rng.random(questions)[:, None] > decoys).sum(axis=1)
        favourite = np.diff(decoys, axis=1, prepend=0).argmax(axis=1)
        decoy = np.where(rng.random(questions) < 0.85, favourite, drawn) if relatives else drawn
        picks[:, run] = np.where(is_right, 0, 1 + decoy)
    labels, is_wrong = np.zeros(questions, np.int64), rng.random(questions) < wrong
    labels[is_wrong] = rng.integers(1, choices, is_wrong.sum())
    return picks, labels, is_wrong


def table_of(picks, labels):
    ids = [f"q{at}" for at in range(len(labels))]
    names = [f"run {at}" for at in range(picks.shape[1])]
    scores = pd.DataFrame(picks == labels[:, None], ids, names).astype(float)
    return item_table(scores, pd.DataFrame(picks, ids, names), pd.Series(labels, ids), 0.25)


def precision(runs, **options):
    """Of as many questions as have wrong labels, the first of the reading list: the share that has one."""
    found = []
    for seed in range(5):
        picks, labels, is_wrong = answers(runs, seed, **options)
        first = table_of(picks, labels).table.index[: is_wrong.sum()]
        found.append(is_wrong[[int(one[1:]) for one in first]].mean())
    return float(np.mean(found))


@pytest.mark.parametrize(("runs", "least"), [(4, 0.4), (16, 0.75), (32, 0.8)])
def test_planted_wrong_labels_lead_the_reading_list(runs, least):
    assert precision(runs) >= least


def test_relatives_are_named_since_their_list_holds_fewer_wrong_labels():
    picks, labels, _ = answers(16, relatives=True)
    found = table_of(picks, labels)
    assert found.alike > ALIKE
    assert any("relatives" in sentence for sentence in found.sentences())
    diverse = table_of(*answers(16)[:2])
    assert diverse.alike < ALIKE
    assert not any("relatives" in sentence for sentence in diverse.sentences())
    assert precision(16, relatives=True) < precision(16)


def test_discrimination_is_the_correlation_with_the_other_questions():
    picks, labels, _ = answers(8, questions=50)
    found, scores = table_of(picks, labels).table, picks == labels[:, None]
    for at in range(50):
        rest = np.delete(scores, at, axis=0).mean(axis=0)
        varies = scores[at].std() > 0 and rest.std() > 0
        expected = np.corrcoef(scores[at], rest)[0, 1] if varies else 0
        assert found["discrimination"][f"q{at}"] == pytest.approx(expected, abs=1e-9)


def test_the_short_form_ranks_the_runs_as_all_questions_do():
    picks, labels, _ = answers(8)
    short = table_of(picks, labels).table["short_form"].sort_index(key=lambda ids: ids.str[1:].astype(int)).to_numpy()
    scores = picks == labels[:, None]
    assert 0 < short.sum() < len(labels)
    assert (np.argsort(scores[short].sum(axis=0)) == np.argsort(scores.sum(axis=0))).all()


def test_kinds_of_questions_and_few_runs():
    labels = np.zeros(4, np.int64)
    picks = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    picks = np.vstack([picks, np.tile([0, 0, 1, 1], (5, 1))])
    found = table_of(picks, np.zeros(len(picks), np.int64)).table
    assert found["kind"][["q0", "q1", "q2", "q3"]].tolist() == ["saturated", "unsolved", "negative", ""]
    assert found["suspicion"].idxmax() == "q1" and found["suspected_choice"]["q1"] == 1
    few = table_of(picks[:4, :2], labels).table
    assert few["discrimination"].isna().all() and few["suspicion"].isna().all() and not few["short_form"].any()
