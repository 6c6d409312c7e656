"""Agreement of annotators, against published examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.scoring.statistics import fleiss_kappa, krippendorff_alpha

OBSERVERS = [  # Krippendorff 2011, section C: four observers, twelve units, missing values
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
COUNTS = [  # fourteen raters, ten subjects, five categories; kappa is published as 0.210
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
]


def test_alpha_of_krippendorffs_examples():
    units = [[value for value in unit if value != "."] for unit in zip(*map(str.split, OBSERVERS), strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=0.0005)
    two = zip("0100000010", "1110010000", strict=True)  # section A: two observers, ten units
    assert krippendorff_alpha([*map(list, two)]) == pytest.approx(0.095, abs=0.0005)


def test_kappa_of_a_published_example():
    units = [[value for value, count in enumerate(counts) for _ in range(count)] for counts in COUNTS]
    kappa, number = fleiss_kappa(units)
    assert kappa == pytest.approx(0.210, abs=0.0005) and number == 10


def test_units_of_one_value_do_not_count_and_nothing_to_compare_is_none():
    assert krippendorff_alpha([["a"], ["b", "b"], ["c", "c"], ["d"]]) == 1
    assert krippendorff_alpha([["a"], ["b"]]) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert fleiss_kappa([["a", "a"]]) == (None, 1)
    assert fleiss_kappa([]) == (None, 0)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=1, max_size=12))
def test_of_two_raters_alpha_is_kappa_corrected_for_small_samples(units):
    alpha, (kappa, number) = krippendorff_alpha(units), fleiss_kappa(units)
    if alpha is None:
        assert kappa is None
    else:  # Krippendorff 2004, section 11.3: alpha = kappa + (1 - kappa) / (2 * units)
        assert alpha == pytest.approx(kappa + (1 - kappa) / (2 * number))
