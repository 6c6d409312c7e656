import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.remedies.fought_probes import group_folds
from hf_vqa_mc.remedies.judging_probes import REPORT_PROBES, REPORT_SEED, JudgingInputs, run_judging_probes
from hf_vqa_mc.remedies.repair import repair
from hf_vqa_mc.remedies.row_features import TextForms
from hf_vqa_mc.text.embeddings import normalised
from tests.audits.planted import planted

ROWS = 400


class Letters:
    """Embeddings by counts of letters, and so of lengths."""

    name = "letters"

    def embed(self, texts):
        counts = np.array([[1.0 + text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts])
        return normalised(np.vstack([counts - counts.mean(axis=0), np.zeros((1, 26))]))


def made(bias, strength, seed=0, rows=ROWS, shuffled=False):
    table = planted(bias, strength, rows, seed)[0]
    if shuffled:
        labels = np.random.default_rng(seed).integers(4, size=len(table))
        table = table.set_column(table.column_names.index("label"), "label", [labels])
    groups = np.unique(table["image_id"].to_pylist(), return_inverse=True)[1]
    return number_rows({"rows": table})["rows"], groups


def accuracy(rows, groups, names):
    probes = [one for one in REPORT_PROBES if one.name in names]
    judged = JudgingInputs(rows, group_folds(groups, REPORT_SEED), TextForms(rows.vocabulary), [], 0, (rows,))
    return {name: one.scores.mean() for name, one in run_judging_probes(probes, judged).items()}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planted_length():
    rows, groups = made("length", 0.35)
    return rows, groups, repair(rows, groups, [Letters()], budget=0.2, rounds=2)


def test_a_planted_leak_falls_by_report_probes_and_the_budget_holds(planted_length):
    rows, groups, found = planted_length
    before, after = (accuracy(one, groups, ["longest choice"]) for one in (rows, found.rows))
    name = "longest choice: choices alone"
    assert before[name] > 0.4
    assert abs(after[name] - 0.25) < 0.6 * abs(before[name] - 0.25)
    assert 0 < len(found.changes) <= 0.2 * 3 * ROWS


def test_only_listed_decoys_change_and_targets_never(planted_length):
    rows, _, found = planted_length
    assert (found.rows.texts[:, 0] == rows.texts[:, 0]).all()
    changed = [tuple(cell) for cell in np.argwhere(found.rows.texts != rows.texts)]
    assert changed == [(one.row, one.column) for one in found.changes]
    for one in found.changes:
        assert found.rows.texts[one.row, one.column] == one.text
        assert one.plausibility >= found.floor
        assert one.lead > 0


def test_the_same_seed_gives_the_same_changes():
    rows, groups = made("length", 0.35, rows=150)
    one, other = (repair(rows, groups, [Letters()], budget=0.2, rounds=1, seed=3).changes for _ in range(2))
    assert one == other


@pytest.mark.parametrize("shuffled", [False, True], ids=["clean", "shuffled labels"])
def test_rows_without_a_leak_stay_almost_untouched(shuffled):
    rows, groups = made("length" if shuffled else "none", 0.35 if shuffled else 0.0, seed=1, shuffled=shuffled)
    found = repair(rows, groups, [Letters()], budget=0.2, rounds=2)
    assert len(found.changes) < 0.02 * 3 * ROWS
    assert all(abs(one - 0.25) < 0.08 for one in accuracy(found.rows, groups, ["longest choice"]).values())


def by_other_rows(rows):
    """Accuracy of the choices that were most often, or most seldom, targets of other rows."""
    keys, size = rows.keys, len(rows.vocabulary.key_texts)
    targets = np.bincount(keys[:, 0], minlength=size)[keys]
    seen = np.bincount(keys.ravel(), minlength=size)[keys]
    targets[:, 0] -= 1
    share = targets - (seen - 1) / keys.shape[1]
    best = [share == share.max(axis=1, keepdims=True), share == share.min(axis=1, keepdims=True)]
    return [(one[:, 0] / one.sum(axis=1)).mean() for one in best]


def test_other_rows_and_counts_do_not_tell_which_of_unique_texts_became_decoys():
    """Each new decoy occurs twice; if all of them were targets elsewhere, the most frequent choice would be right."""
    rng = np.random.default_rng(0)
    choices = [["".join(rng.choice(list("aeioulmnrst"), rng.integers(4, 15))) for _ in range(4)] for _ in range(ROWS)]
    for texts in choices:
        if rng.random() < 0.6:
            texts.sort(key=len, reverse=True)  # the target comes first
    table = {"question": ["what is it"] * ROWS, "choices": choices, "label": np.zeros(ROWS, np.int64)}
    rows, groups = number_rows({"rows": pa.table(table)})["rows"], np.arange(ROWS)
    found = repair(rows, groups, [Letters()], budget=0.2, rounds=2)
    names = ["longest choice", "most frequent choice"]
    longest, frequent = (f"{name}: choices alone" for name in names)
    before, after = (accuracy(one, groups, names) for one in (rows, found.rows))
    assert before[longest] - after[longest] > 0.05
    assert abs(after[frequent] - 0.25) < 0.03
    assert by_other_rows(rows) == [0.25, 0.25]
    assert by_other_rows(found.rows) == pytest.approx([0.25, 0.25], abs=0.05)
