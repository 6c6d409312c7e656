"""Untrained cosines of question and choices, alone and assigned to the rows that share their choices."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.probes.heuristics import COSINES
from hf_vqa_mc.audits.similar_choices import question_cosines
from tests.audits.planted import context_of, ran

KINDS = {"which fruit is it": "banana", "which tool is it": "hammer", "which animal is it": "dog"}


def rows(choices):
    """Rows of all questions, whose targets are their kinds."""
    labels = [choices.index(target) for target in KINDS.values()]
    table = pa.table({"question": list(KINDS), "choices": [choices] * len(KINDS), "label": labels})
    return context_of(table, folds=np.zeros(len(KINDS), np.int8))


def test_the_choice_nearest_to_the_question_is_picked_and_the_farthest_one():
    found, _ = ran(rows(["banana", "hammer", "dog"]), COSINES[:2])
    assert found["nearest to the question"].scores.tolist() == [1, 1, 1]
    assert found["farthest from the question"].scores.tolist() == [0, 0, 0]


def test_cosines_are_those_of_the_embeddings_and_zero_for_padding():
    table = pa.table(
        {"question": ["a dog", "a dog"], "choices": [["dog", "a dog", ""], ["xylophone"]], "label": [1, 0]}
    )
    found = question_cosines(context_of(table).rows)
    assert found[0, 0] == pytest.approx(1, abs=1e-5)
    assert 0 < found[1, 0] < found[0, 1] < 1
    assert found[0, 2] == found[1, 1] == found[1, 2] == 0


def test_rows_that_share_their_choices_are_assigned_one_choice_each(monkeypatch):
    context = rows(["banana", "hammer", "dog"])
    context.question_cosines = np.array([[0.9, 0.1, 0.1], [0.5, 0.6, 0.1], [0.3, 0.0, 0.2]])  # the target first
    found, _ = ran(context, COSINES)
    assert found["nearest to the question"].scores.tolist() == [1, 0, 1]
    (assigned,) = [one for name, one in found.items() if name.startswith("best assignment")]
    assert assigned.scores.tolist() == [1, 1, 1]
    assert assigned.clusters.tolist() == [0, 0, 0]
