import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.remedies.replacement_filters import Refusal, ReplacementFilters
from hf_vqa_mc.remedies.row_features import TextSpace

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


def test_a_word_of_the_target_that_question_and_decoys_lack_is_refused():
    choices = [["walks backwards", "sits down", "sleeps"], ["red bus", "blue bus", "white bus"]]
    choices += [["walked away", "the girl smiles", "lamp"], ["green bus", "lamp"]]
    questions = ["What does the girl do?", "Which?", "Which one?", "Which of them?"]
    table = pa.table({"question": questions, "choices": choices, "label": pa.array([0] * 4)})
    rows = number_rows({"rows": table})["rows"]
    filters = ReplacementFilters(rows, [])
    text = {one: number for number, one in enumerate(rows.vocabulary.choices)}
    assert filters.refusal(0, 1, text["walked away"], rows.texts[0]) is Refusal.SHARED
    assert filters.refusal(0, 1, text["the girl smiles"], rows.texts[0]) is None
    assert filters.refusal(1, 1, text["green bus"], rows.texts[1]) is None


class Angles:
    """Embeddings in the plane, by the angle with the target."""

    name = "angles"

    def __init__(self, cosines):
        self.cosines = cosines

    def embed(self, texts):
        cosines = np.array([self.cosines.get(one, 0.0) for one in texts])
        return np.vstack([np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1), np.zeros((1, 2))])


@pytest.mark.parametrize(
    "published, candidate, cosine, refused",
    [
        ("lamp", "sofa", 0.34, False),
        ("lamp", "sofa", 0.36, True),  # nearer than the published decoy's 0.3, by more than 0.05
        ("bench", "sofa", 0.74, False),
        ("bench", "sofa", 0.76, True),  # above 0.75, although the published decoy has 0.8
        ("lamp", "red", 0.9, False),  # different colours are no synonyms
    ],
)
def test_a_new_decoy_is_hardly_nearer_to_the_target_than_the_published_ones(published, candidate, cosine, refused):
    cosines = {"green": 1.0, "lamp": 0.3, "bench": 0.8, candidate: cosine}
    choices = [["green", published, "door"], [candidate, "door"]]
    table = pa.table({"question": ["Which?", "Which one?"], "choices": choices, "label": pa.array([0, 0])})
    rows = number_rows({"rows": table})["rows"]
    filters = ReplacementFilters(rows, [TextSpace.embedded(Angles(cosines), rows)])
    number = np.array([rows.vocabulary.choices.index(candidate)], np.int32)
    assert filters.near_target(number, rows.texts[0]).tolist() == [refused]
