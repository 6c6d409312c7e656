"""Lists of choices in the forms that models write: read as they are meant, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.scoring.written_answers import written_letters

CHOICES = ["jet", "airplane", "cat", "a big dog", "black, white and pink"]
LETTERS = "ABCDE"
FORMS = [
    lambda found: ", ".join(LETTERS[one] for one in found),
    lambda found: ",".join(LETTERS[one].lower() for one in found),
    lambda found: " and ".join(f"({LETTERS[one]})" for one in found) + ".",
    lambda found: "\n".join(f"- **{LETTERS[one]}. {CHOICES[one]}**" for one in found),
    lambda found: ", ".join(f"{LETTERS[one]}) {CHOICES[one]}" for one in found),
    lambda found: "; ".join(CHOICES[one] for one in found),
    lambda found: str([LETTERS[one] for one in found]),
    lambda found: "The following are also correct: " + ", ".join(LETTERS[one] for one in found),
    lambda found: "<think>A is, B is not, E?</think>\n\nAnswer: " + " ".join(LETTERS[one] for one in found),
    lambda found: "\\boxed{" + ", ".join(LETTERS[one] for one in found) + "}",
    lambda found: ", ".join(LETTERS[one] for one in found) + ". They mean the same.",
    lambda found: (
        "\n".join(f"{a}. {text}" for a, text in zip(LETTERS, CHOICES, strict=True))
        + "\n\n"
        + ", ".join(LETTERS[one] for one in found)
    ),
]


@pytest.mark.parametrize("form", FORMS)
@given(st.sets(st.integers(0, 4), min_size=1, max_size=4))
def test_lists_are_read_in_all_forms(form, found):
    assert written_letters(form(sorted(found)), CHOICES) == found


@pytest.mark.parametrize(
    "text",
    ["none", "None.", "NONE", '"none"', "None of the other choices are correct.", "Answer: none", "no other", "N/A"],
)
def test_no_other_choice_is_an_empty_list(text):
    assert written_letters(text, CHOICES) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "", "I cannot see the image.", "It depends.", "F", "B. jet", "BD", "B. It flies. D is also fine.",
        "<think>B, C", "B or maybe something else", "The image shows a jet.",
    ],
)  # fmt: skip
def test_what_is_no_list_or_contradicts_itself_is_not_guessed(text):
    assert written_letters(text, CHOICES) is None


def test_none_is_ambiguous_if_a_choice_says_so():
    assert written_letters("none", ["red", "none"]) is None
    assert written_letters("B", ["red", "none"]) == {1}


def test_numbers_as_choices_are_read_as_texts():
    assert written_letters("2", ["1", "2", "12"]) == {1}
    assert written_letters("C. 12", ["1", "2", "12"]) == {2}
    assert written_letters("B. 12", ["1", "2", "12"]) is None


@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_any_text_is_read_or_not(text, choices):
    found = written_letters(text, choices)
    assert found is None or found <= set(range(len(choices)))
