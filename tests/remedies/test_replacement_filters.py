from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.remedies.replacement_filters import Refusal, ReplacementFilters

QUESTION, TARGET, OTHER = "What is the man riding?", "motorcycle", "nineteenth century"
CANDIDATES = {
    "motorcycles": Refusal.CONTAINED,
    "Motor-cycle": Refusal.CONTAINED,
    "motor vehicle": Refusal.RELATED,
    "motorbike": Refusal.RELATED,
    "19th century": Refusal.RELATED,
    "man riding": Refusal.QUESTION,
    "scooter": Refusal.ANSWER,
    "scooters": Refusal.ANSWER,
    "skateboard": Refusal.VERDICT,
    "motorcycle helmet": Refusal.CONTAINED,
    "horse": None,
    "sofa": None,
}


@pytest.fixture(scope="module")
def refusal():
    choices = [[TARGET, OTHER], *([text, "lamp"] for text in CANDIDATES)]
    questions = [QUESTION, *("Which one is it?" for _ in CANDIDATES)]
    table = pa.table({"question": questions, "choices": choices, "label": pa.array([0] * len(choices), pa.int64())})
    rows = number_rows({"rows": table})["rows"]
    none = [()] * len(CANDIDATES)
    filters = ReplacementFilters(rows, [], [("a scooter",), *none], [("Skateboard",), *none])
    text = {one: number for number, one in enumerate(rows.vocabulary.choices)}
    return lambda one: filters.refusal(0, 1, text[one], np.array([text[TARGET], text[OTHER]]))


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_candidates_are_refused_for_the_named_reason(refusal, candidate):
    found, expected = refusal(candidate), CANDIDATES[candidate]
    if expected is Refusal.RELATED:
        assert found in (Refusal.RELATED, Refusal.WUP)
    else:
        assert found == expected


def test_a_row_of_numbers_takes_numbers_only():
    choices = [["two", "three", "five"], ["six", "ski", "lamp"]]
    table = pa.table({"question": ["How many skaters?", "Which?"], "choices": choices, "label": pa.array([0, 0])})
    rows = number_rows({"rows": table})["rows"]
    filters = ReplacementFilters(rows, [])
    text = {one: number for number, one in enumerate(rows.vocabulary.choices)}
    assert filters.refusal(0, 1, text["ski"], rows.texts[0]) is Refusal.KIND
    assert filters.refusal(0, 1, text["six"], rows.texts[0]) is None


def test_a_word_of_the_target_that_the_question_lacks_is_refused():
    choices = [["walks backwards", "sits down", "sleeps"], ["walked away", "the girl smiles", "lamp"]]
    table = pa.table({"question": ["What does the girl do?", "Which?"], "choices": choices, "label": pa.array([0, 0])})
    rows = number_rows({"rows": table})["rows"]
    filters = ReplacementFilters(rows, [])
    text = {one: number for number, one in enumerate(rows.vocabulary.choices)}
    assert filters.refusal(0, 1, text["walked away"], rows.texts[0]) is Refusal.SHARED
    assert filters.refusal(0, 1, text["the girl smiles"], rows.texts[0]) is None


def test_what_is_nearer_to_the_target_than_nearly_all_published_decoys_is_too_near():
    """The cosine of a decoy with its target is 0 to 0.95 in twenty rows, and 0.99 in one row of numbers."""
    choices = [[f"target {'abcdefghijklmnopqrst'[row]}", f"decoy {'abcdefghijklmnopqrst'[row]}"] for row in range(20)]
    table = pa.table({"question": ["Which?"] * 21, "choices": [*choices, ["7", "8"]], "label": pa.array([0] * 21)})
    rows = number_rows({"rows": table})["rows"]
    target, decoy = rows.texts.T
    vectors = np.zeros((rows.texts.max() + 2, 2))
    vectors[target] = [1, 0]
    cosines = np.append(np.arange(20) / 20, 0.99)
    vectors[decoy] = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    filters = ReplacementFilters(rows, [SimpleNamespace(texts=vectors)])
    of_words = filters.near(decoy, target[:1], is_target=True)
    assert of_words.tolist() == [False] * 20 + [True]  # 8 is a number, but the target is none
    assert not filters.near(decoy[20:], target[20:], is_target=True).any()
