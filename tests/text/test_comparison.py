# ruff: noqa: RUF001
import pytest

from hf_vqa_mc.text.comparison import comparable, comparison_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (" Two  dogs. ", "two dogs"),
        ("T-shirt", "t shirt"),
        ("\N{MINUS SIGN}3", "-3"),
        ("3 × 4", "3x4"),
        ("2*3", "2 ✕ 3"),
        ("x >= 1", "x≥1"),
        ("x ² + 1", "x ^2+1"),
        ("½", "1/2"),
        ('"red"', "(red)"),
        ("Q, P", "Q,P"),
        ("True, False.", "true,false"),
        ("１２", "12"),
        ("H₂O", "H2O"),
        ("5!", "5!"),
        ("1, -1", "1,−1"),
        ("- red", "red"),
    ],
)
def test_the_same_text_is_equal(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", "-3"),
        ("1", "+1"),
        ("x+1", "x-1"),
        ("K<0", "K>0"),
        ("K=0", "K!=0"),
        ("x ≤ 1", "x < 1"),
        ("√2", "2"),
        ("3 × 4", "3 ÷ 4"),
        ("True, False", "False, True"),
        ("5 m", "5 km"),
        ("5%", "5"),
        ("5°", "5"),
        ("10²", "102"),
        ("1½", "11/2"),
        ("3.5", "35"),
        ("1:30", "1.30"),
        ("[0, 1]", "(0, 1)"),
        ("5!", "5"),
        ("5'", '5"'),
        (".5", "5"),
        ("[H+]", "[Na+]"),
        ("x-y", "x+y"),
        ("1, -1", "1 - 1"),
    ],
)
def test_signs_operators_units_and_order_differ(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


def test_case_counts_only_if_two_choices_differ_in_case_alone() -> None:
    assert comparison_of(["MW", "mW", "kW"])("MW") != comparison_of(["MW", "mW", "kW"])("mW")
    assert comparison_of(["Red", "red", "Red"])("red") == "red"
    assert comparison_of(["A cat", "a dog"])("A DOG") == "a dog"
