"""Labels that depend on row number, question id or type, and targets inserted into sorted decoys, are found."""

import numpy as np
import pytest

from hf_vqa_mc.audits.probes.priors import ORDERS
from hf_vqa_mc.audits.shortcut import FOLDS
from tests.audits.planted import context_of, planted, ran, with_columns


def scores(table, placed=True):
    return {name: one.scores.mean() for name, one in ran(context_of(table, placed=placed), ORDERS)[0].items()}


@pytest.mark.parametrize("period", [3, 4, 12])
def test_labels_that_follow_the_row_number_are_found(period):
    table = planted("none", 0.0, 300, 0)[0]
    of_remainder = np.random.default_rng(1).permutation(np.arange(period) % 4)
    found = scores(with_columns(table, label=of_remainder[np.arange(300) % period]))
    assert found["row number"] > 0.95


def test_labels_that_follow_blocks_ids_or_types_are_found():
    table = planted("none", 0.0, 300, 0)[0]
    assert scores(with_columns(table, label=np.arange(300) * 4 // 300))["block of rows"] > 0.9
    labels = table["label"].to_pylist()
    ids = [f"q{row}-{'ABCD'[label]}" for row, label in enumerate(labels)]
    found = scores(with_columns(table, question_id=ids, question_type=[f"type {label}" for label in labels]))
    assert min(found["question id"], found["question type"]) > 0.95


def inserted(key, texts, rows=400):
    """Decoys in the order of ``key``, the target at a random position."""
    rng = np.random.default_rng(0)
    choices, labels = [], rng.integers(4, size=rows)
    for label in labels:
        target, *decoys = rng.choice(texts, 4, replace=False).tolist()
        decoys.sort(key=key)
        choices.append([*decoys[:label], target, *decoys[label:]])
    table = planted("none", 0.0, rows, 0)[0]
    return with_columns(table, choices=choices, label=labels)


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        (str.lower, ["Ant", "bee", "Cow", "dog", "Eel", "fox"]),
        (int, [str(n) for n in range(5, 30)]),
        (lambda text: -int(text), [str(n) for n in range(5, 30)]),
    ],
)
def test_targets_inserted_into_sorted_decoys_are_found(key, texts):
    assert scores(inserted(key, texts))["out of order"] > 0.5  # of 4 positions one is in order


def test_sorted_choices_have_no_preference():
    table = planted("none", 0.0, 100, 0)[0]
    choices = [sorted(row) for row in table["choices"].to_pylist()]
    assert "out of order" not in scores(with_columns(table, choices=choices))


def test_unordered_benchmarks_have_no_labels_to_predict():
    table = with_columns(planted("none", 0.0, 300, 0)[0], label=np.arange(300) % 4)
    assert scores(table, placed=False) == {}


def test_labels_of_a_fold_do_not_change_its_predictions():
    table = planted("none", 0.0, 300, 0)[0]
    cycled = np.arange(300) % 4
    folds = np.random.default_rng(0).integers(FOLDS, size=300).astype(np.int8)
    wrong = np.where(folds == 2, (cycled + 1) % 4, cycled)
    context = context_of(with_columns(table, label=wrong), folds=folds)
    found = ran(context, ORDERS[:1])[0]["row number"].scores
    assert found[folds == 2].max() == 0.0
    assert found[folds != 2].mean() > 0.95
