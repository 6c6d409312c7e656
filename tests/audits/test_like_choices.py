"""Targets inside or outside the row's largest group of similar choices are found, also if no text repeats."""

from functools import lru_cache

import numpy as np
import pytest

from hf_vqa_mc.audits.probes.priors import PRIORS
from hf_vqa_mc.text.wordnet import load_wordnet
from tests.audits.planted import HEURISTICS, MODELS, context_of, planted, ran, with_columns

NAME = PRIORS[2].name
BRANCHES = ("animal", "plant", "clothing", "vehicle", "disease", "musical_instrument", "color", "building")


@lru_cache(maxsize=1)
def words():
    """Words of each branch by their only sense; no word is in two branches."""
    wordnet = load_wordnet()
    branch_of = {wordnet.senses(name, nouns_only=True)[0]: number for number, name in enumerate(BRANCHES)}
    found = [[] for _ in BRANCHES]
    for lemma in wordnet.nouns.lemmas:
        senses = wordnet.senses(lemma, nouns_only=True) if lemma.isascii() and lemma.isalpha() else []
        if len(senses) == 1:
            ancestors = wordnet.ancestors[slice(*wordnet.ancestor_starts[senses[0] : senses[0] + 2])]
            for number in {branch_of[one] for one in ancestors.tolist() if one in branch_of}:
                found[number].append(lemma)
    return found


def rows(texts, labels):
    """A table of these choices, the target first, at random positions."""
    table, rng = planted("none", 0.0, len(texts), 0)[0], np.random.default_rng(0)
    positions = rng.integers(len(texts[0]), size=len(texts))
    choices = []
    for row, label, position in zip(texts, labels, positions, strict=True):
        others = [text for index, text in enumerate(row) if index != label]
        choices.append([*others[:position], row[label], *others[position:]])
    return with_columns(table, choices=choices, label=positions)


def three_alike(n, seed=0):
    """Rows of three words of one branch and, last, a word of another."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(n):
        one, other = rng.choice(len(BRANCHES), 2, replace=False)
        made.append([*rng.choice(words()[one], 3, replace=False).tolist(), str(rng.choice(words()[other]))])
    return made


def score(table, train=None):
    return ran(context_of(table, train), PRIORS[2:])[0][NAME].scores.mean()


@pytest.mark.slow
def test_targets_outside_the_group_are_found_by_no_other_probe_as_well():
    context = context_of(rows(three_alike(300), [3] * 300))
    found = {name: np.nanmean(one.scores) for name, one in ran(context, [*HEURISTICS, *MODELS])[0].items()}
    assert found.pop(NAME) > 0.9
    assert max(found.values()) < 0.7, found


def test_targets_inside_the_group_are_found_as_well_as_possible():
    labels = np.random.default_rng(1).integers(3, size=600)
    assert score(rows(three_alike(600), labels)) == pytest.approx(1 / 3, abs=0.015)


def test_words_that_are_not_in_the_training_split_are_grouped_too():
    train, table = rows(three_alike(300, 1), [3] * 300), rows(three_alike(300, 2), [3] * 300)
    assert score(table, train) > 0.9
    wrong = rows(three_alike(300, 1), np.random.default_rng(0).integers(3, size=300))
    assert score(table, wrong) < 0.1


@pytest.mark.parametrize(
    "forms",
    [
        (["{}:30", "1{}:45", "{}:00"], "{} pm"),
        (["Mr {}x", "Ms {}x", "Dr {}x"], "a{}x"),
        (["to {}x", "to {}y", "to {}z"], "by {}x"),
        (["{}x dog", "{}y dog", "{}z dog"], "{}x cow"),
    ],
)
def test_groups_are_also_texts_of_one_form_first_word_or_last_word(forms):
    alike, other = forms
    made = [[*(one.format(number) for one in alike), other.format(number)] for number in range(200)]
    assert score(rows(made, [3] * 200)) > 0.95


def test_labels_of_a_fold_do_not_change_its_predictions():
    texts, folds = three_alike(300), np.random.default_rng(0).integers(5, size=300).astype(np.int8)
    labels = np.where(folds == 2, 0, 3)
    found = ran(context_of(rows(texts, labels), folds=folds), PRIORS[2:])[0][NAME].scores
    assert found[folds == 2].mean() < 0.1
    assert found[folds != 2].mean() > 0.9
