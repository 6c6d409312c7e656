"""What is odd about rows is found where it is, and counted."""

import sys
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits.findings import GENERAL, NAMED, SAME, WUP, findings, possibly_correct
from hf_vqa_mc.audits.rows import number_rows, official_texts
from hf_vqa_mc.scoring.vqa_normalisation import ARTICLES, CONTRACTIONS, NUMBERS, normalised
from hf_vqa_mc.text.many_texts import comparable_keys
from hf_vqa_mc.text.normalisation import comparable, words
from hf_vqa_mc.text.relations import Relations, exclusive
from tests.audits.planted import HEURISTICS, context_of, ran, split_of, table_of
from tests.text.single_phrases import phrase_wup


def table(*rows):
    """Rows of (image, question, choices); the target is the first choice."""
    return table_of([(*row, 0) for row in rows])


def found(**splits):
    numbered = number_rows(splits)
    all_splits = {name: split_of(rows, name) for name, rows in splits.items()}
    return {finding.name: finding for finding in findings(all_splits, numbered, "test")}


def test_targets_in_the_question_are_compared_with_decoys():
    test = table(("i", "Is the red cat big?", ["cat", "dog", "big"]), ("j", "Why?", ["x", "y"]))
    finding = found(test=test)["target in the question"]
    assert (finding.count, finding.total, finding.rows.tolist()) == (1, 2, [0])
    assert "50.0% of the rows" in finding.sentence
    assert "33.3% of the decoys" in finding.sentence


def test_duplicate_and_overlapping_choices_are_distinct_findings():
    test = table(
        ("a", "?", ["red", "Red.", "blue"]),
        ("b", "?", ["red", "red and white", "blue"]),
        ("c", "?", ["ponytail", "pony-tail", "hat"]),
        ("d", "?", ["no", "snow", "x"]),
        ("e", "?", ["", "!", "世界"]),
    )
    named = found(test=test)
    assert named["duplicate choices"].rows.tolist() == [0]
    assert "one of them is the target" in named["duplicate choices"].sentence
    assert named["overlapping choices"].rows.tolist() == [1, 2]


def test_decoys_that_are_the_target_of_no_row_of_any_split_are_counted():
    splits = {
        "test": table(("a", "?", ["cat", "dog", "owl"]), ("b", "?", ["dog", "cat"])),
        "train": table(("c", "?", ["Owl", "bat"])),
    }
    assert "decoys that are never correct" not in found(**splits)
    finding = found(test=splits["test"])["decoys that are never correct"]
    assert (finding.unit, finding.count, finding.total, finding.rows.tolist()) == ("decoys", 1, 3, [0])


def test_duplicate_rows_may_have_choices_in_any_order():
    test = table(("a", "q", ["x", "y"]), ("a", "q", ["y", "x"]), ("b", "q", ["x", "y"]), ("a", "r", ["x", "y"]))
    named = found(test=test)
    assert named["duplicate rows"].rows.tolist() == [1]
    assert named["same question on several images"].rows.tolist() == [0, 1, 2]
    assert "in none of these the target is the same" in named["same question on several images"].sentence


def test_leaks_are_reported_for_each_other_split():
    test = table(("a", "q", ["x", "y"]), ("b", "q", ["z", "y"]), ("", "r", ["x", "y"]), ("c", "s", ["x", "y"]))
    train = table(("a", "q", ["v", "w"]), ("b", "t", ["x", "y"]), ("", "r", ["y", "x"]))
    named = found(test=test, train=train)
    assert named["image also in train"].rows.tolist() == [0, 1]
    assert named["image and question also in train"].rows.tolist() == [0]
    assert named["question and choices also in train"].rows.tolist() == [2]
    assert not any("test" in name for name in named)


def test_clean_data_has_no_findings():
    assert found(test=table(("a", "q", ["x", "y"]), ("b", "r", ["y", "x"]))) == {}


def flagged(rows, answers=None):
    test = number_rows({"test": table(*(("i", "?", choices) for choices in rows))})["test"]
    reasons = possibly_correct(test, pa.array(answers or [[]] * len(rows), pa.list_(pa.string())))
    return {reason: {(int(row), int(index)) for row, index in np.argwhere(flags)} for reason, flags in reasons.items()}


def test_ambiguous_decoys_have_reasons():
    rows = [["dog", "animal", "Dogs", "a dog"], ["tree", "plant", "car"], ["two", "2", "10"], ["the", "a", "an"]]
    flags = flagged(rows, [["dog", "an animal"], ["car."], [], ["the"]])
    assert flags[SAME] == {(0, 3), (2, 1)}
    assert flags[NAMED] == {(0, 1), (0, 3), (1, 2)}
    assert flags[WUP] == {(0, 2), (0, 3), (1, 1), (2, 1)}
    assert flags[GENERAL] == {(0, 1), (0, 2), (1, 1)}


def test_hypernyms_are_found_in_both_directions_except_very_general_ones():
    flags = flagged([["animal", "dog"], ["person", "woman"], ["dog", "object"], ["hot dog", "dog"], ["xyzzy", "dog"]])
    assert flags[GENERAL] == {(0, 1), (1, 1)}


some_words = st.sampled_from(
    ["dog", "cat", "puppy", "a", "two", "three", "xyzzy", "plugh", "red", "man's", "women", "!"]
)
phrases = st.lists(some_words, min_size=1, max_size=3).map(" ".join)


def excludes(text, other):
    keys = [comparable(text), comparable(other)]
    return keys[0] != keys[1] and exclusive(0, 1, Relations.of(keys))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(phrases, min_size=2, max_size=4), min_size=1, max_size=6))
def test_wordnet_similarity_is_that_of_the_phrases(rows):
    expected = {
        (row, index)
        for row, choices in enumerate(rows)
        for index, choice in enumerate(choices)
        if index and (words(choices[0]) == words(choice) or phrase_wup(words(choices[0]), words(choice)) >= 0.9)
        if words(choice) or choice == choices[0]
        if not excludes(choices[0], choice)
    }
    assert flagged(rows)[WUP] == expected


def test_few_rows_are_compared_without_numba_with_the_same_result(monkeypatch):
    rows = [["dog", "puppy", "cat"], ["hot dog", "dog", "two hats"], ["three", "four", "cap"], ["red", "crimson", "?"]]
    expected = flagged(rows)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr("hf_vqa_mc.compiled._numba", lambda: pytest.fail("numba is loaded"))
    assert flagged(rows) == expected


WORDS = st.sampled_from([*CONTRACTIONS, *NUMBERS, *ARTICLES, "cat", "cats", "red", "3", "T-shirt", "it's.", "1,000"])
LETTERS = st.text(st.sampled_from("anthe 10dots'-.,\n"), max_size=12)


@pytest.mark.slow
@given(st.lists(st.one_of(st.text(), LETTERS, st.lists(WORDS, min_size=1, max_size=3).map(" ".join))))
def test_batch_normalisation_equals_the_official_one(texts):
    expected = [normalize("NFC", text) for text in texts]
    expected = [normalised(text) or text.strip().lower() for text in expected]
    keys, signed, _ = comparable_keys(pa.array(texts, pa.large_string()))  # the official program removes operators
    expected = [key if has else one for key, has, one in zip(keys.to_pylist(), signed, expected, strict=True)]
    assert official_texts(pa.array(texts, pa.large_string())).to_pylist() == expected


def test_signs_operators_and_the_order_of_tuples_make_choices_different():
    rows = [["1", "-1"], ["x+1", "x-1"], ["K<0", "K>0"], ["True, False", "False, True"], ["k", "K"], ["5+x", "5 + x"]]
    assert flagged(rows)[WUP] | flagged(rows)[SAME] | flagged(rows)[GENERAL] == {(5, 1)}
    assert found(test=table(*(("i", "Why?", row) for row in rows)))["duplicate choices"].rows.tolist() == [5]


@pytest.mark.parametrize(
    "text", ["dont", "Dont", "an apple", "none", "The Two", "hot dog", "I d", "id", "1,000", "a\x0bb"]
)
def test_answers_that_the_official_program_changes_are_changed(text):
    assert official_texts(pa.array([text], pa.large_string())).to_pylist() == [normalised(text)]


def test_very_long_texts_are_truncated():
    endless, other = "dog cat " * 30_000, "cat dog " * 30_000
    named = table(("i", endless, [endless, "fish " * 30_000, "é" * 100_000]))
    assert found(test=named)["target in the question"].rows.tolist() == [0]
    test = table(("i", endless, [endless, other, "dog", "é" * 100_000]), ("j", "Why?", ["a" * 300_000, "a" * 299_999]))
    rows = number_rows({"test": test})["test"]
    assert rows.vocabulary.beginnings.shape[1] < 100
    assert possibly_correct(rows, pa.array([[], []], pa.list_(pa.string())))[WUP].tolist() == [
        [False, True, True, False],
        [False] * 4,
    ]
    assert ran(context_of(test, folds=np.array([0, 1], np.int8)), HEURISTICS)[0]
