from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.balanced_pairs import vqa_pair_accuracy
from tests.scoring import literal_vqa

QUESTION = st.tuples(
    st.sampled_from(["2", "two", "3", " 2\n", "red"]),
    st.lists(st.sampled_from(["2", "two", "3"]), min_size=4, max_size=10),
    st.sampled_from(["How many cats?", "HOW MANY?", "What color?", " how many?"]),
    st.sampled_from(["number", "other", "yes/no"]),
)


def by_hand(examples, pairs, protocol):
    """Shares of the pairs, one pair after another."""
    found = defaultdict(list)
    for one, other in pairs:
        both = [examples[one], examples[other]]
        right = all(literal_vqa.score(prediction, answers, protocol) == 1 for prediction, answers, _, _ in both)
        found["all"].append(right)
        found["both_right"].append(right)
        if all(kind == "number" for _, _, _, kind in both):
            found["number"].append(right)
        if all(question.lower()[:8] == "how many" for _, _, question, _ in both):
            found["count"].append(right)
        found["identical"].append(both[0][0].strip() == both[1][0].strip())
        found["different"].append(both[0][0].strip() != both[1][0].strip())
    return {name: np.mean(found[name]) if found[name] else None for name in (*found, "number", "count")}


@given(st.lists(QUESTION, min_size=2, max_size=6), st.data(), st.sampled_from(["2021", "2017"]))
def test_equals_counting_by_hand(examples, data, protocol):
    two_rows = st.lists(st.sampled_from(range(len(examples))), min_size=2, max_size=2, unique=True)
    pairs = data.draw(st.lists(two_rows, min_size=1, max_size=6))
    predictions, references, questions, types = (list(column) for column in zip(*examples, strict=True))
    result = vqa_pair_accuracy(
        predictions,
        references,
        question_ids=[f"q{row}" for row in range(len(examples))],
        pairs=[[f"q{one}", f"q{other}"] for one, other in pairs],
        questions=questions,
        answer_types=types,
        protocol=protocol,
    )
    stderr, (low, high) = result.pop("stderr"), result.pop("interval")
    assert low <= result["all"] <= high
    assert result == pytest.approx(by_hand(examples, pairs, protocol))
    right = [all(literal_vqa.score(*examples[row][:2], protocol) == 1 for row in pair) for pair in pairs]
    assert stderr == (None if len(pairs) == 1 else pytest.approx(np.std(right, ddof=1) / len(pairs) ** 0.5))


def pair_accuracy(**options):
    """A pair that is answered right (2, 3) and one that is answered the same (red, red)."""
    given = {
        "predictions": ["2", "3", "red", "red"],
        "references": [["2"] * 10, ["3"] * 10, ["red"] * 10, ["blue"] * 10],
        "question_ids": [1, 2, 3, 4],
        "pairs": [[1, 2], [3, 4]],
        **options,
    }
    return vqa_pair_accuracy(given.pop("predictions"), given.pop("references"), **given)


def test_a_question_is_right_only_at_consensus_accuracy_1():
    three_of_ten = ["2"] * 3 + ["4"] * 7
    assert pair_accuracy(references=[three_of_ten, ["3"] * 10, ["red"] * 10, ["blue"] * 10])["all"] == 0
    four_of_ten = ["2"] * 4 + ["4"] * 6
    assert pair_accuracy(references=[four_of_ten, ["3"] * 10, ["red"] * 10, ["blue"] * 10])["all"] == 0.5


def test_ids_are_compared_as_text():
    assert pair_accuracy(pairs=[["1", "2"]])["all"] == 1
    assert pair_accuracy(pairs=np.array([[1, 2]]), question_ids=np.array([1, 2, 3, 4]))["all"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": [[1, 2], [1, 9]]}, "pair 1: pairs has question 9, which is not among the question_ids"),
        ({"pairs": [[1, 1]]}, r"pair 0: pairs has \[1, 1\], expected two different questions"),
        ({"pairs": [[1, True]]}, "pair 0: pairs has .*expected two question ids"),
        ({"pairs": []}, "no pairs to score"),
        ({"pairs": None}, "pairs is NoneType, expected a list"),
        ({"question_ids": [1, 2, 3, "1"]}, "question '1' occurs 2 times in question_ids"),
        ({"question_ids": [1, 2, 3]}, "4 predictions, 4 references, 3 question_ids"),
        ({"questions": ["a", "b", "c", 4]}, "question 4: questions is 4, expected text"),
    ],
)
def test_names_question_or_pair_and_field(options, message):
    with pytest.raises(InputError, match=message):
        pair_accuracy(**options)
