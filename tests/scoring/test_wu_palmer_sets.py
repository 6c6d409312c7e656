from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.wu_palmer_sets import wups
from tests.scoring.literal_wups import Similarity, literal_wups
from tests.text.make_tables import open_wordnet
from tests.text.single_phrases import wup

ITEMS = (
    "cat dog dogs Mice mouse lady woman paris london two three black white red crimson abator zzz with hot_dog "
    "addict admirer _ 's 401-k"
).split()
ITEM = st.sampled_from([*ITEMS, "hot dog", "", "İ", "ß"]) | st.text(max_size=4)
ANSWER = st.lists(
    st.tuples(st.sampled_from(["", " ", "\t", "\u3000"]), ITEM).map("".join), min_size=1, max_size=4
).map(",".join)
THRESHOLDS = st.lists(st.sampled_from([0, 0.0, 0.5, 0.9, 1]) | st.floats(0, 1), max_size=3, unique=True)


def score(prediction: str, reference: str, threshold: float = 0.0) -> float:
    return wups([prediction], [reference], thresholds=[threshold])[f"wups@{float(threshold)}"]


def accuracy(prediction: str, reference: str) -> float:
    return wups([prediction], [reference])["accuracy"]


@pytest.fixture(scope="module")
def similarity(nltk_wordnet: Path) -> Similarity:
    """NLTK's WUP of texts over their noun synsets."""
    reader = open_wordnet(nltk_wordnet)

    @cache
    def largest(text: str, other: str) -> float | None:
        pairs = [(s, o) for s in reader.synsets(text, pos="n") for o in reader.synsets(other, pos="n")]
        return max((s.wup_similarity(o) for s, o in pairs), default=None)

    return largest


@pytest.mark.slow
@given(rows=st.lists(st.tuples(ANSWER, ANSWER), min_size=1, max_size=12), thresholds=THRESHOLDS)
def test_equals_malinowskis_measure_on_nltk(similarity, rows, thresholds):
    predictions, references = (list(column) for column in zip(*rows, strict=True))
    result = wups(predictions, references, thresholds=thresholds, per_question=True)
    for name, threshold in [*((f"wups@{float(t)}", t) for t in thresholds), ("accuracy", -1)]:
        expected = [literal_wups(p, r, threshold, similarity) for p, r in rows]
        assert result["per_question"][name] == expected, name
        assert result[name] == pytest.approx(sum(expected) / len(expected), abs=1e-12)


@pytest.mark.slow
def test_equals_malinowskis_measure_on_cocoqas_answers(similarity, real_cocoqa):
    answers = [answer for path in sorted(real_cocoqa.rglob("answers.txt")) for answer in path.read_text().split("\n")]
    draw = Random(0)
    rows = [(draw.choice(answers), draw.choice(answers)) for _ in range(300)]
    result = wups([p for p, _ in rows], [r for _, r in rows], per_question=True)["per_question"]
    for name, threshold in [("wups@0.9", 0.9), ("wups@0.0", 0.0), ("accuracy", -1)]:
        assert result[name] == [literal_wups(p, r, threshold, similarity) for p, r in rows]


def test_reports_thresholds_09_and_00_and_equality():
    result = wups(["cat"], ["dog"])
    assert list(result) == ["wups@0.9", "wups@0.0", "accuracy", "stderr", "interval", "per_question"]
    assert result["wups@0.0"] == pytest.approx(0.857142857)
    assert result["wups@0.9"] == result["wups@0.0"] * 0.1
    assert result["accuracy"] == 0.0
    assert result["per_question"] is None


@pytest.mark.parametrize(
    ("prediction", "reference", "threshold", "expected"),
    [
        ("two", "three", 0.9, 0.9),  # a similarity at the threshold is not below it
        ("two", "three", 0.0, 0.9),
        ("two", "three", np.nextafter(0.9, 1), 0.09),
        ("zzz", "zzz", 1.0, 1.0),  # equal text, even without synsets
        ("abator", "abator", 1.0, 1.0),  # and where WordNet finds less
        ("abator", "Abator", 0.0, 0.75),
        ("zzz", "dog", 0.0, 0.0),
        ("dog", "zzz", 0.0, 0.0),
        ("scarce", "abundant", 0.0, 0.0),  # adjectives
        ("hot_dog", "frankfurter", 0.0, 1.0),  # a text is looked up whole
        ("hot dog", "frankfurter", 0.0, 0.0),
        ("hot dog", "hot_dog", 0.0, 0.0),
        ("hot dog", "hot dog", 0.0, 1.0),
        ("Mice", "mouse", 0.9, 1.0),
        ("", "", 0.0, 1.0),
        ("  ", "\t", 0.0, 1.0),
        ("", "dog", 0.0, 0.0),
        ("dog,", "dog", 0.0, 0.0),  # the empty item is in no set
        ("dog,", ",dog", 0.0, 1.0),
        ("addict,admirer", "addict", 0.0, 0.9),  # the item that is looked for comes first
    ],
)
def test_similarity_of_sets_of_nouns(prediction, reference, threshold, expected):
    assert score(prediction, reference, threshold) == pytest.approx(expected, abs=1e-12)


def test_only_noun_synsets_count_where_a_word_has_others_too():
    assert 0 < score("black", "dark") < wup("black", "dark") == 1.0


def test_equality_is_of_sets_of_stripped_items_in_the_same_case_and_number():
    assert accuracy("Mice", "mouse") == accuracy("Dog", "dog") == accuracy("", "dog") == 0.0
    assert accuracy("", " ") == accuracy(" chair,table , chair", "table,chair") == 1.0
    assert accuracy("chair,table", "chair") == 0.0


def test_the_smaller_of_both_products_counts():
    one = score("cat", "dog")
    assert score("dog,cat", "dog") == score("dog", "dog,cat") == one
    assert score("cat,cat", "dog") == one * one
    assert score("addict,admirer", "admirer") == score("addict", "admirer") < 0.71


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([], [], {}, "no questions to score"),
        ([1], ["a"], {}, "row 1: predictions is 1, expected text"),
        (["a"], [None], {"question_ids": ["q7"]}, "question 'q7': references is None, expected text"),
        (["a"], ["a"], {"thresholds": [-1]}, "for the official threshold -1 use accuracy"),
        (["a"], ["a"], {"thresholds": [1.5]}, r"thresholds: 1\.5, expected a number from 0 to 1"),
    ],
)
def test_errors_name_question_and_field(predictions, references, options, message):
    with pytest.raises(InputError, match=message):
        wups(predictions, references, **options)
