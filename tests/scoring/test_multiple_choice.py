import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy

ROW = st.integers(2, 6).flatmap(
    lambda n: st.tuples(
        st.integers(0, n - 1),
        st.integers(0, n - 1),
        st.lists(st.sampled_from(["a", "A", "b", "ß", "SS", "x y", "İ"]), min_size=n, max_size=n),
        st.sampled_from(["what", "how many"]),
    )
)


@given(st.lists(ROW, min_size=1, max_size=30))
def test_equals_counting_by_hand(rows):
    picked, targets, choices, types = (list(column) for column in zip(*rows, strict=True))
    by_index = mc_accuracy(picked, targets, choices=choices, question_types=types, per_question=True)
    scores = [float(p == t) for p, t in zip(picked, targets, strict=True)]
    assert by_index["per_question"] == scores
    assert by_index["accuracy"] == pytest.approx(sum(scores) / len(scores), abs=1e-12)
    assert by_index["chance"] == pytest.approx(sum(1 / len(c) for c in choices) / len(choices), abs=1e-12)
    for name, accuracy in by_index["per_question_type"].items():
        of_type = [score for score, kind in zip(scores, types, strict=True) if kind == name]
        assert accuracy == pytest.approx(sum(of_type) / len(of_type), abs=1e-12)

    texts = [c[p] for c, p in zip(choices, picked, strict=True)]
    by_text = mc_accuracy(texts, targets, choices=choices, per_question=True)
    assert by_text["per_question"] == [
        float(str(text).lower() == str(c[t]).lower()) for text, c, t in zip(texts, choices, targets, strict=True)
    ]


def test_tells_which_decoys_are_picked_and_which_would_be_at_random():
    result = mc_accuracy([0, 1, 2, 2], [0, 0, 0, 0], choice_kinds=[["target", "iou", "qou"]] * 3 + [[0, 2, 3]])
    assert result["chosen_kinds"] == {"target": 0.25, "iou": 0.25, "qou": 0.5}
    assert result["offered_kinds"] == pytest.approx({"target": 1 / 3, "iou": 1 / 3, "qou": 1 / 3})


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([], [], {}, "no questions to score"),
        ([-1], [1], {}, "predictions is -1, expected an index from 0"),
        ([2], [1], {"choices": [["a", "b"]]}, "predictions is 2, expected an index of its 2 choices"),
        (["a"], [0], {}, "which requires choices"),
        (["c"], [0], {"choices": [["a", "b"]]}, r"predictions is 'c', expected one of its choices \['a', 'b'\]"),
        ([0], [0], {"choices": ["ab"]}, "choices is 'ab', expected a list of text"),
        ([0], [0], {"choices": [["a", "b"]], "choice_kinds": [["target"]]}, "one per choice, 2 in all"),
        ([0], [0], {"image_ids": [None]}, "image_ids is None"),
    ],
)
def test_errors_name_question_and_field(predictions, references, options, message):
    with pytest.raises(InputError, match=message):
        mc_accuracy(predictions, references, **options)
