import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.counterexamples import counterexample_recall
from hf_vqa_mc.scoring.statistics import standard_error
from tests.scoring.literal_counterexamples import literal_recall

NUMBER = st.sampled_from([-1, 0, 0.0, -0.0, 0.5, 1, 2**53, 2**53 + 1]) | st.floats(
    allow_nan=False, allow_infinity=False
)
ROW = st.integers(3, 8).flatmap(
    lambda n: st.tuples(
        st.lists(NUMBER, min_size=n, max_size=n),
        st.lists(NUMBER, min_size=n, max_size=n),
        st.integers(0, n - 1),
        st.sampled_from("abc"),
    )
)


@given(st.lists(ROW, min_size=1, max_size=20), st.sets(st.integers(1, 3), min_size=1))
def test_equals_sorting_by_hand(rows, ks):
    scores, distances, picked, images = (list(column) for column in zip(*rows, strict=True))
    result = counterexample_recall(
        scores, picked, ks=sorted(ks), distances=distances, image_ids=images, per_question=True
    )
    for k in ks:
        name = f"recall@{k}"
        hits = [literal_recall(of_row, index, k) for of_row, index in zip(scores, picked, strict=True)]
        near = [literal_recall([-d for d in ds], index, k) for ds, index in zip(distances, picked, strict=True)]
        assert result["per_question"][name] == hits
        assert result[name] == pytest.approx(sum(hits) / len(hits), abs=1e-12)
        assert result["stderr"][name] == standard_error(np.array(hits), images)
        assert result["distance"][name] == pytest.approx(sum(near) / len(near), abs=1e-12)
        assert result["random"][name] == pytest.approx(sum(k / len(s) for s in scores) / len(scores), abs=1e-12)


def test_reports_recall_at_1_and_5_of_24_neighbours_with_what_chance_reaches():
    result = counterexample_recall([list(range(24))] * 2, [23, 19])
    assert (result["recall@1"], result["recall@5"]) == (0.5, 1.0)
    assert result["random"] == {"recall@1": 1 / 24, "recall@5": 5 / 24}
    assert result["distance"] is None
    assert result["per_question"] is None


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([], [], {}, "no questions to score"),
        ([[1, 2, 3, 4]], [0], {"question_ids": [7]}, "question 7: predictions has 4 candidates, too few for k = 5"),
        ([[1, 2]] * 2, [0, 2], {"ks": [1]}, "row 2: references is 2, expected an index of its 2 candidates"),
        ([[1, 2]], [-1], {"ks": [1]}, "references is -1"),
        ([[1, float("nan")]], [0], {"ks": [1]}, r"row 1: predictions is \[1, nan\], expected a list of finite"),
        ([1], [0], {"ks": [1]}, "predictions is 1, expected a list"),
        ([[1, 2]], [0], {"ks": [0]}, "ks: 0, expected whole numbers from 1"),
        ([[1, 2]], [0], {"ks": 1}, "ks is int, expected a list"),
        ([[1, 2]], [0], {"ks": [1], "distances": [[1, 2, 3]]}, "distances is .*, expected one per candidate, 2"),
        ([[1, 2]], [0], {"ks": [1], "image_ids": [None]}, "image_ids is None"),
    ],
)
def test_errors_name_question_and_field(predictions, references, options, message):
    with pytest.raises(InputError, match=message):
        counterexample_recall(predictions, references, **options)
