"""What the blind rules pick, checked against a literal version, and how near they come to the paper's blind models."""

from collections import Counter
from statistics import median

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits.probes.priors import answer_prior, counted_in, question_answer_prior
from hf_vqa_mc.audits.rows import number_rows

COLOURS, SHAPES = ["red", "blue", "green", "black"], ["circle", "square", "star", "cross"]


def rows_of(**splits):
    names = ("question", "choices", "label")
    return number_rows(
        {split: pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))) for split, rows in splits.items()}
    )


def literal(train, test, longest):
    """How often each evaluated row's target is picked, straight from the definition."""
    as_target, as_decoy = Counter(), Counter()
    for question, choices, label in train:
        words = question.split()
        for length in range(len(words) + 1):
            for index, choice in enumerate(choices):
                (as_target if index == label else as_decoy)[*words[:length], "|", choice] += 1
    decoys = max(int(median(len(choices) - 1 for _, choices, _ in train)), 1)

    def likelihood(question, choice):
        target, decoy = as_target["|", choice], as_decoy["|", choice]
        score = target * decoys / (target * decoys + decoy) if target + decoy else 0.5
        words = question.split()
        for length in range(1, min(longest, len(words)) + 1):
            seen = (*words[:length], "|", choice)
            score = (as_target[seen] + score) / (as_target[seen] + as_decoy[seen] / decoys + 1.0)
        return score

    picked = []
    for question, choices, label in test:
        scores = [likelihood(question, choice) for choice in choices]
        picked.append((scores[label] == max(scores)) / scores.count(max(scores)))
    return picked


questions = st.lists(st.sampled_from(["what", "is", "it"]), max_size=4).map(" ".join)
choices = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5)  # a text may stand twice
rows = st.tuples(questions, choices, st.integers(0, 4)).map(lambda row: (*row[:2], row[2] % len(row[1])))


@settings(deadline=None)  # the first call loads what was compiled
@given(train=st.lists(rows, min_size=1, max_size=30), test=st.lists(rows, min_size=1, max_size=10))
def test_they_are_what_the_definition_says(train, test):
    found = rows_of(train=train, test=test)
    assert counted_in(found["train"], found["test"], answer_prior).tolist() == literal(train, test, 0)
    assert counted_in(found["train"], found["test"], question_answer_prior).tolist() == literal(train, test, 99)


@settings(deadline=None)  # the first call loads what was compiled
@given(st.lists(st.tuples(rows, st.integers(0, 4)), min_size=2, max_size=30))
def test_without_a_train_split_each_fold_is_evaluated_on_counts_of_the_others(test):
    found, folds = rows_of(test=[row for row, _ in test])["test"], np.array([fold for _, fold in test], np.int8)
    for rule, longest in ((answer_prior, 0), (question_answer_prior, 99)):
        picked = rule(found, folds)
        for fold in set(folds.tolist()):
            others = [row for row, of in test if of != fold]
            here = [row for row, of in test if of == fold]
            expected = literal(others, here, longest) if others else found.chance.tolist()
            assert picked[folds == fold].tolist() == expected


def rows_about(kind, others, n, seed):
    """Questions about things of one kind, with decoys from others; no answer is more frequent than another."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(n):
        target = kind[number % len(kind)]
        decoys = rng.permutation([text for text in others if text != target])[:3]
        made.append((f"what {'color' if kind is COLOURS else 'shape'} is thing {rng.integers(5)}", target, decoys))
    return [(question, [*decoys.tolist(), target], 3) for question, target, decoys in made]


def test_decoys_that_do_not_fit_the_question_give_the_target_away():
    train = rows_about(COLOURS, SHAPES, 200, 0) + rows_about(SHAPES, COLOURS, 200, 1)
    test = rows_about(COLOURS, SHAPES, 50, 2)
    found = rows_of(train=train, test=test)
    assert counted_in(found["train"], found["test"], answer_prior).mean() < 0.5
    assert counted_in(found["train"], found["test"], question_answer_prior).mean() == 1.0


MLP_QA = {"iou": 0.915, "qou": 0.525, "iou_qou": 0.514}
"""What the paper's trained model reaches with question and answers on COCO-QA (Chao et al. 2018, Table 8)."""


@pytest.mark.exhaustive
def test_on_real_coco_qa_counting_comes_near_the_trained_blind_model(real_cocoqa, real_glove):
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.decoys.variants import build_variants
    from hf_vqa_mc.sources.source import read_triplets
    from hf_vqa_mc.text.word_vectors import load_word_vectors

    triplets, vectors = read_triplets("cocoqa", real_cocoqa), load_word_vectors(str(real_glove))
    reached = {}
    for variant in build_variants(triplets, list(MLP_QA), vectors, Settings(decoys_from="split")):
        found = number_rows(variant.splits)
        reached[variant.name] = float(counted_in(found["train"], found["test"], question_answer_prior).mean())
        accuracy = variant.statistics["prior_rule"]["test"]["accuracy"]
        assert float(counted_in(found["train"], found["test"], answer_prior).mean()) == accuracy
    assert reached == pytest.approx(MLP_QA, abs=0.03)
