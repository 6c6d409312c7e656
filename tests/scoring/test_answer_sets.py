from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.answer_sets import MEASURES, set_accuracy

NAMES = [one.name for one in MEASURES]
ANSWERS = ("red", "blue", "two", "a dog", "Zebra", "é", "white")


def score(rows, **options):
    """The metric of rows given as records."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return set_accuracy(columns.pop("predictions"), columns.pop("references"), **columns, **options)


def closed_set(name, k, kind="similar_question"):
    """The rows of a set, which all pick the first choice."""
    return [
        {
            "predictions": 0,
            "references": row,
            "choices": list(ANSWERS[:k]),
            "set_ids": name,
            "set_kinds": kind,
            "questions": f"What is it, {row}?",
            "image_ids": f"{name}-{row}",
        }
        for row in range(k)
    ]


def crossed_set(name, questions, images, kind, target):
    """A row for each question on each image; ``target`` gives the label from both numbers."""
    k = questions if kind == "latin" else questions * images
    return [
        {
            "predictions": 0,
            "references": target(question, image),
            "choices": list(ANSWERS[:k]),
            "set_ids": name,
            "set_kinds": kind,
            "questions": f"Is it {'abc'[question]}?",
            "image_ids": f"{name}-{image}",
        }
        for question in range(questions)
        for image in range(images)
    ]


def latin_square(name, k):
    return crossed_set(name, k, k, "latin", lambda question, image: (question + image) % k)


def test_all_figures_of_two_sets_equal_those_worked_out_by_hand():
    rows = closed_set("a", 2) + closed_set("b", 4)
    for row in rows[:2] + rows[3:]:
        row["predictions"] = row["references"]  # set a is right, set b all but one
    rows[2]["predictions"] = 3
    outside = {**rows[0], "predictions": 1, "set_ids": "", "set_kinds": ""}
    result = score([*rows, outside], per_question=True)
    assert (result["rows"], result["sets"], result["rows_without_set"]) == (6, 2, 1)
    assert (result["row_accuracy"], result["set_accuracy"]) == (5 / 6, 0.5)
    assert result["chance"]["row_accuracy"] == pytest.approx((2 / 2 + 4 / 4) / 6)
    assert result["chance"]["set_accuracy"] == pytest.approx((2**-2 + 4**-4) / 2)
    # deviations 1/6, summed by set: 2/6 and 3/6 - 5/6
    assert result["stderr"]["row_accuracy"] == pytest.approx((2 * (4 / 36 + 4 / 36)) ** 0.5 / 6)
    assert result["stderr"]["set_accuracy"] == pytest.approx(0.5)
    assert [name for name in NAMES if result[name] is None] == NAMES[2:]
    small, large = result["per_kind"]["similar_question, k = 2"], result["per_kind"]["similar_question, k = 4"]
    assert (small["row_accuracy"], small["set_accuracy"], small["sets"]) == (1.0, 1.0, 1)
    assert (large["row_accuracy"], large["set_accuracy"], large["chance"]["set_accuracy"]) == (
        0.75,
        0.0,
        pytest.approx(1 / 256),
    )
    assert result["per_question"] == {
        "row_accuracy": [1, 1, 0, 1, 1, 1, None],
        "set_accuracy": [1, 1, 0, 0, 0, 0, None],
    }


def test_questions_and_images_of_a_latin_square_are_right_as_a_whole():
    rows = latin_square("square", 3)
    for row in rows:
        row["predictions"] = row["references"]
    rows[0]["predictions"] = 1  # question a on image 0
    result = score(rows, per_question=True)
    assert [result[name] for name in NAMES[:4]] == pytest.approx([8 / 9, 0, 2 / 3, 2 / 3])
    assert [result["chance"][name] for name in NAMES[:4]] == pytest.approx([1 / 3, 3.0**-9, 3.0**-3, 3.0**-3])
    assert result["per_question"]["question_accuracy"] == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert result["per_question"]["image_accuracy"] == [0, 1, 1] * 3


def test_a_grid_has_its_own_questions_and_images_and_other_sets_have_none():
    rows = crossed_set("grid", 2, 3, "grid", lambda question, image: 3 * question + image)
    for row in rows[:3]:
        row["predictions"] = row["references"]
        row["questions"] = row["questions"].upper()  # the same question by its words
    rows[0]["questions"] = "is it a"
    result = score(rows + closed_set("other", 6, "same_image"))
    assert (result["question_accuracy"], result["image_accuracy"]) == (0.5, 0.0)
    assert result["chance"]["question_accuracy"] == pytest.approx(6.0**-3)
    assert result["chance"]["image_accuracy"] == pytest.approx(6.0**-2)
    assert result["per_kind"]["same_image, k = 6"]["question_accuracy"] is None


def test_scores_are_assigned_jointly():
    rows = closed_set("a", 3)
    scores = [[3.0, 0.0, 0.0], [4.0, 3.5, 0.0], [2.0, 1.0, 0.9]]  # each row alone would take the first choice
    for row, values in zip(rows, scores, strict=True):
        row["scores"] = values
    result = score(rows)
    assert (result["row_accuracy"], result["assignment_row_accuracy"], result["assignment_set_accuracy"]) == (
        1 / 3,
        1,
        1,
    )
    assert result["chance"]["assignment_row_accuracy"] == pytest.approx(1 / 3)
    assert result["chance"]["assignment_set_accuracy"] == pytest.approx(1 / 6)


def test_the_questions_of_a_latin_square_are_assigned_separately():
    rows = latin_square("square", 2)
    for row, values in zip(rows, [[1, 0], [9, 8.5], [0, 1], [0, 3]], strict=True):
        row["scores"] = values  # question b is assigned wrongly
    result = score(rows)
    assert (result["assignment_row_accuracy"], result["assignment_set_accuracy"]) == (0.5, 0)
    assert result["chance"]["assignment_set_accuracy"] == pytest.approx(1 / factorial(2) ** 2)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_the_best_assignment_is_the_best_of_all_permutations(k, seed):
    rows, rng = closed_set("a", k), np.random.default_rng(seed)
    scores = rng.normal(size=(k, k))
    for row, values in zip(rows, scores.tolist(), strict=True):
        row["scores"] = values
    best = max(
        permutations(range(k)), key=lambda picked: sum(scores[row, choice] for row, choice in enumerate(picked))
    )
    result = score(rows)
    assert result["assignment_row_accuracy"] == pytest.approx(np.mean(np.array(best) == np.arange(k)))
    assert result["assignment_set_accuracy"] == float(best == tuple(range(k)))


@st.composite
def datasets(draw):
    """Rows of several sets with integer scores, which often tie, and rows in no set."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["same_image", "latin", "grid"]))
        name = f"set {number}"
        if kind == "latin":
            rows += latin_square(name, draw(st.integers(2, 3)))
        elif kind == "grid":
            rows += crossed_set(name, 2, 3, "grid", lambda question, image: 3 * question + image)
        else:
            rows += closed_set(name, draw(st.integers(2, 5)), kind)
    rows += [{**row, "set_ids": "", "set_kinds": ""} for row in closed_set("none", draw(st.integers(0, 3)))]
    for row in rows:
        row["predictions"] = int(rng.integers(len(row["choices"])))
        row["scores"] = rng.integers(0, 3, len(row["choices"])).tolist()
    return rows, rng


@given(datasets())
@settings(max_examples=60)
def test_the_order_of_rows_and_choices_changes_nothing(given_rows):
    rows, rng = given_rows
    shuffled = []
    for at in rng.permutation(len(rows)):
        row, order = dict(rows[at]), rng.permutation(len(rows[at]["choices"])).tolist()
        row["choices"] = [row["choices"][choice] for choice in order]
        row["scores"] = [row["scores"][choice] for choice in order]
        row |= {name: order.index(row[name]) for name in ("references", "predictions")}
        if at % 2:
            row["predictions"] = row["choices"][row["predictions"]]
        shuffled.append(row)
    assert score(shuffled) == score(rows)


@given(datasets(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_what_sees_the_choices_alone_is_right_in_exactly_one_row_per_choice(given_rows, seed):
    rows, rng = given_rows[0], np.random.default_rng(seed)
    picked = {}
    for row in rows:
        texts = sorted(row["choices"])
        row["predictions"] = picked.setdefault(tuple(texts), texts[rng.integers(len(texts))])
    result = score(rows)
    for figures in (result, *result["per_kind"].values()):
        assert figures["row_accuracy"] == pytest.approx(figures["chance"]["row_accuracy"], abs=1e-12)
        assert figures["set_accuracy"] == 0
        low, high = figures["interval"]["row_accuracy"]
        assert low <= figures["chance"]["row_accuracy"] <= high


@pytest.mark.parametrize("kind", ["same_question", "latin"])
def test_scores_that_depend_on_the_choices_alone_assign_at_chance(kind):
    k, rows = 3, []
    for number in range(400):
        rows += latin_square(str(number), k) if kind == "latin" else closed_set(str(number), k, kind)
    for row in rows:
        row["scores"] = [len(text) for text in row["choices"]]  # the same in all rows: every assignment is the best
    result = score(rows)
    for name in ("assignment_row_accuracy", "assignment_set_accuracy"):
        assert abs(result[name] - result["chance"][name]) < 4 * result["stderr"][name]


def test_only_the_order_of_scores_within_rows_and_their_differences_count():
    rows, rng = [row for number in range(20) for row in closed_set(str(number), 4)], np.random.default_rng(0)
    for row in rows:
        row["scores"] = rng.normal(size=4).tolist()
    moved = [{**row, "scores": [1e30 * (value + index) for value in row["scores"]]} for index, row in enumerate(rows)]
    assert score(moved)["assignment_row_accuracy"] == score(rows)["assignment_row_accuracy"]


def changed(rows, at, **values):
    rows[at] |= values
    return rows


BAD = {
    "no set": (changed(closed_set("", 2), 0), "set_ids is empty in all rows"),
    "missing row": (closed_set("s", 4)[:3], "set 's' has 3 rows with the choices .*; expected 4, each"),
    "target twice": (
        changed(closed_set("s", 3), 0, references=2),
        "set 's' has 3 rows with the choices .*; expected 3, each",
    ),
    "other choices": (
        changed(closed_set("s", 2), 1, choices=["red", "green"]),
        "set 's': row 2 differs; expected the choices",
    ),
    "no square": (changed(latin_square("s", 2), 0, image_ids="s-1"), "expected each question on each image"),
    "targets of a question": (
        crossed_set("s", 2, 2, "latin", lambda question, image: question),
        "each question and image with each target once",
    ),
    "no grid": (
        changed(crossed_set("s", 2, 2, "grid", lambda question, image: 2 * question + image), 3, questions="Why?"),
        "expected each question on each image",
    ),
    "too few scores": (
        [{**row, "scores": [1.0] * 2} for row in closed_set("s", 3)],
        r"row .: scores is .* expected 3 finite",
    ),
    "nan": ([{**row, "scores": [0, float("nan")]} for row in closed_set("s", 2)], "row .: scores is .* 2 finite"),
}


@pytest.mark.parametrize(("rows", "message"), BAD.values(), ids=BAD)
def test_what_is_no_closed_set_is_an_error_that_names_it(rows, message):
    with pytest.raises(InputError, match=message):
        score(rows)


@pytest.mark.parametrize("column", ["questions", "image_ids"])
def test_latin_squares_need_questions_and_images(column):
    rows = latin_square("s", 2)
    for row in rows:
        del row[column]
    with pytest.raises(InputError, match="set 's' of kind 'latin' needs questions and image_ids"):
        score(rows)
