"""Which rows give candidates to a repair: those with similar questions and similar choices, of other images."""

import numpy as np
import pyarrow as pa

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.remedies.row_features import TextSpace, row_vectors, similar_rows
from tests.remedies.test_repair import Letters

QUESTIONS = ["abc", "abc", "abd", "xyz", "abc"]
CHOICES = [["red", "dre"], ["sun", "moon", "star"], ["erd", "der"], ["red", "dre"], ["red", "dre"]]
IMAGES = np.array([0, 1, 2, 3, 0])


def neighbours(weight, least=-np.inf):
    """The neighbours of the first row, and their similarities."""
    table = pa.table({"question": QUESTIONS, "choices": CHOICES, "label": [0] * len(QUESTIONS)})
    rows = number_rows({"rows": table})["rows"]
    vectors = row_vectors([TextSpace.embedded(Letters(), rows)], rows, weight)
    found, similarity = similar_rows(vectors, IMAGES, np.array([0]), np.arange(5), 4, least=least)
    kept = found[0] != MISSING
    return found[0][kept].tolist(), similarity[0][kept]


def test_without_choices_the_most_similar_question_is_first_and_the_same_image_is_left_out():
    order, similarity = neighbours(0.0)
    assert order[:2] == [1, 2] and 4 not in order
    assert similarity[0] > similarity[1]


def test_rows_with_similar_choices_come_before_equal_questions_with_others():
    order, similarity = neighbours(3.0)
    assert order[0] == 2 and order.index(3) < order.index(1)
    assert similarity[0] > neighbours(0.0)[1][1] + 2.9  # three times a mean cosine of 1
