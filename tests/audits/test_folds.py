"""Folds in place of a training split: what other rows' answers give away is no shortcut."""

import numpy as np
import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.closed_sets import folds_of
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.data import Benchmark
from tests.audits.planted import split_of, table_of


def folds(rows):
    split = split_of(table_of(rows))
    return folds_of(split, number_rows({"test": split.rows})["test"])


def pairs(count, seed=0):
    """Every question is asked of two images, and each of its choices is right once: nobody blind beats one half."""
    draws = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        choices = [f"thing {number}", f"other {number}"]
        for label in draws.permutation(2):
            rows.append((f"image {len(rows)}", f"which is it {number}", choices, int(label)))
    return table_of([rows[index] for index in draws.permutation(len(rows))])


def others_answers(count, seed=0):
    """Every answer is right once and has three others' answers as decoys; each occurs four times."""
    draws = np.random.default_rng(seed)
    rows = []
    names = draws.permutation(count)
    steps = draws.permutation(np.arange(1, count))[:3]
    for number in range(count):
        others = (number + steps) % count
        choices = [f"answer {names[one]}" for one in draws.permutation([number, *others])]
        rows.append((f"image {number}", "which is it", choices, choices.index(f"answer {names[number]}")))
    return table_of(rows)


def test_rows_with_the_same_choices_share_a_fold():
    rows = [(f"i{n}", "what", [f"a{n // 2}", f"b{n // 2}", "c"][:: 1 - 2 * (n % 2)], 0) for n in range(60)]
    found = folds(rows)
    assert (found[::2] == found[1::2]).all()
    assert len(set(found.tolist())) == 5


def test_rows_of_an_image_stay_together_with_those_that_share_choices_with_either():
    rows = [
        (image, "q", [*choices], 0) for image, choices in (("one", "ab"), ("one", "cd"), ("two", "dc"), ("two", "e"))
    ]
    others = [(f"x{n}", "q", [f"u{n}", f"v{n}"], 0) for n in range(60)]
    assert len(set(folds(rows + others)[:4].tolist())) == 1


def test_choices_shared_by_many_rows_do_not_connect_them():
    found = folds([(f"i{n}", "is it", ["yes", "no"], n % 2) for n in range(200)])
    assert np.bincount(found).min() > 20


def test_folds_are_balanced_if_all_rows_are_connected():
    rows = [(f"i{n // 2}", "q", [f"a{(n + 1) // 2}", f"b{(n + 1) // 2}"], 0) for n in range(200)]  # one long chain
    found = folds(rows)
    assert np.bincount(found).max() < 100


@pytest.mark.slow
@pytest.mark.parametrize("made", [pairs, others_answers])
def test_leaks_between_rows_of_a_set_raise_no_alarm(made):
    split = split_of(made(150))
    done = audit(Benchmark("balanced", None, "test", {"test": split}, None, {}), ProbeSettings(probe_rows=2000))
    assert [gain.name for gain in done.gains if gain.alarm] == []
    assert sum(gain.trained and gain.clusters is None for gain in done.gains) == 6


def test_repeated_questions_without_image_share_a_cluster():
    original = [("", f"what {n}", [f"a{n}", f"b{n}", f"c{n}"], 0) for n in range(40)]
    rotated = [("", question, [*choices[1:], choices[0]], 2) for _, question, choices, _ in original]
    split = split_of(table_of(original + rotated))
    assert split.clusters.tolist() == [*range(40), *range(40)]
    found = folds_of(split)
    assert found[:40].tolist() == found[40:].tolist()
