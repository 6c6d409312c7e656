"""Which choice a text names: a table of what models write, and what must hold for any choices."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.scoring.written_answers import normal, written_choice

CHOICES = ["red", "triangle", "two dogs", "none of these"]
GROUPS = yaml.safe_load((Path(__file__).parent / "written_answers.yaml").read_text("utf-8"))
EXAMPLES = [(text, index) for index, texts in GROUPS for text in texts]


def test_the_table_has_two_hundred_answers():
    assert len(EXAMPLES) == len(dict(EXAMPLES)) >= 200


def test_a_text_names_its_choice():
    assert {text: written_choice(text, CHOICES) for text, _ in EXAMPLES} == dict(EXAMPLES)


@pytest.mark.parametrize(
    ("text", "choices", "index"),
    [
        ("2", ["2", "3"], 0),
        ("3.", ["2", "3"], 1),
        ("1", ["2", "3"], None),  # no index
        ("There are 3 dogs", ["2", "3"], 1),
        ("3.5", ["3", "5", "3.5"], 2),
        ("10:30", ["10", "10:30"], 1),
        ("A", ["B", "A"], 0),  # the letter was asked for
        ("a", ["b", "a"], 0),
        ("dog", ["dog", "hot dog"], 0),
        ("It is a hot dog.", ["dog", "hot dog"], 1),
        ("A dog and a hot dog", ["dog", "hot dog"], None),
        ("a dog", ["a dog", "a cat"], 0),
        ("A cat", ["a dog", "a cat"], 1),
        ("yes", ["yes", "no"], 0),
        ("No, it is not.", ["yes", "no"], 1),
        ("Yes, there is no dog.", ["yes", "no"], 0),
        ("There is no way to tell.", ["yes", "no"], None),
        ("No idea", ["yes", "no"], None),
        ("I do not know the breed, but there are two dogs.", ["a cat", "two dogs"], 1),
        ("There is no image of a cat, but one of two dogs.", ["a bus", "two dogs"], 1),
        ("不选A", ["a bus", "two dogs"], None),
        ("[S]", list("abcdefghijklmnopqrstuvw"), 18),
        ("I do not know", ["yes", "no"], None),
        ("Both A and B", ["dogs", "cats", "Both A and B"], 2),
        ("C. Both A and B", ["dogs", "cats", "Both A and B"], 2),
        ("The letter is C", ["A", "B", "C"], 2),
        ("(B) A", ["C", "A", "B"], 1),
        ("\\boxed{-4}", ["4", "-4"], 1),
        ("-2", ["x=2", "x=-2"], None),
        ("It is black and white.", ["white", "black and white", "black"], 1),
        ("white, with some black", ["white", "black and white", "black"], None),
        ("I", list("abcdefghij"), 8),
        ("I see a dog", ["cat", "dog", *(f"x{at}" for at in range(8))], 1),
        ("E", ["x", "y"], None),
        ("red", ["red", "Red"], 0),
            ("RED", ["red", "Red"], None),  # which of both?
        ("蓝色", ["红色", "蓝色"], 1),
        ("答案是 B", ["红色", "蓝色"], 1),
        ("Blue-green", ["blue", "blue green"], 1),
        ("50%", ["5", "50%"], 1),
    ],
)  # fmt: skip
def test_choices_that_look_like_letters_numbers_or_each_other(text, choices, index):
    assert written_choice(text, choices) == index


words = st.text("bcdfgklmpqrt", min_size=2, max_size=8)


@given(st.lists(words, min_size=2, max_size=6, unique_by=normal), st.data())
def test_letter_and_text_name_the_same_choice_in_any_form(choices, data):
    index = data.draw(st.integers(0, len(choices) - 1))
    letter, text = "ABCDEF"[index], choices[index]
    form = data.draw(
        st.sampled_from(["{0}", "({0})", "{0}. {1}", "{1}", "Answer: {0}", "The answer is {1}.", "\\boxed{{{0}}}"])
    )
    assert written_choice(form.format(letter, text), choices) == index


@given(st.text(max_size=300), st.lists(st.text(max_size=12), min_size=1, max_size=8))
def test_any_text_is_read_without_an_error(text, choices):
    found = written_choice(text, choices)
    assert found is None or 0 <= found < len(choices)


@pytest.mark.parametrize("filler", ["and so on. ", "<think>", "(A) or (B) ", "the answer is "])
def test_very_long_texts_are_read_at_both_ends(filler):
    choices = ["red", "blue", "green"]
    assert written_choice("The answer is (B)." + "\n" + "word " * 40_000, choices) == 1
    assert written_choice(filler * 20_000 + "</think>\nThe answer is (C).", choices) == 2
