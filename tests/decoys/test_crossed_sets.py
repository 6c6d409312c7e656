"""Latin squares and grids, on made-up triplets: who may be in one, and what every lookup reaches, by counting."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.closed_sets import exact_sets
from hf_vqa_mc.data.benchmark import ROWS
from hf_vqa_mc.decoys.crossed_sets import IMAGE_SETS, QUESTION_SETS
from hf_vqa_mc.decoys.kind import GRID, LATIN, SET_KINDS
from hf_vqa_mc.errors import InputError
from tests.audits.planted import context_of
from tests.decoys.test_closed_sets import ANSWERS, built, rows_of, sets_of, triplets

COLORS = [f"what color is the {thing}" for thing in ("car", "dog", "house", "boat", "hat", "ball", "chair", "door")]


def crossing(images, answers, seed=0, questions=COLORS, noise=1.0):
    """Each question about each image; half of the images are in the split test.

    ``noise`` is the share of random answers; the others are those of random Latin squares.
    """
    rng = np.random.default_rng(seed)
    of_image, of_question = (rng.permutation(size) for size in (images, len(questions)))
    numbers = of_image[:, None] + of_question
    numbers += (rng.random(numbers.shape) < noise) * rng.integers(len(answers), size=numbers.shape)
    rows = [
        (f"i{image}", question, answers[numbers[image, at] % len(answers)])
        for image in range(images)
        for at, question in enumerate(questions)
    ]
    return triplets(rows, ["test" if int(image[1:]) % 2 else "train" for image, *_ in rows])


def best_lookup(rows, *columns):
    """Accuracy of the best table from some columns to a choice: it knows all rows, and there is no better rule."""
    groups = defaultdict(Counter)
    for row in rows:
        key = tuple(tuple(row[name]) if name == "choices" else row[name] for name in columns)
        groups[key][row["choices"][row["label"]]] += 1
    return sum(max(counts.values()) for counts in groups.values()) / len(rows)


@pytest.mark.parametrize(("size", "images", "noise"), [(2, 12, 1.0), (3, 30, 1.0), (4, 60, 0.2), (5, 60, 0.1)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_latin_square_has_each_answer_once_for_each_question_and_each_image(size, images, noise, seed):
    rows = rows_of(built("sets_latin", crossing(images, ANSWERS[:size], seed, noise=noise), set_size=size))
    assert len(sets_of(rows)) > 1
    for (split, _), members in sets_of(rows).items():
        assert len(members) == size**2
        assert {(row["set_kind"], row["set_leak"]) for row in members} == {(LATIN.name, 0.0)}
        assert {row["split"] for row in members} == {split}
        assert len({tuple(row["choices"]) for row in members}) == 1
        targets = [row["choices"][row["label"]] for row in members]
        for name in ("question", "image_id"):
            values = [row[name] for row in members]
            assert len(set(values)) == size
            assert len(set(zip(values, targets, strict=True))) == size**2
    assert Counter(row["label"] for row in rows) == dict.fromkeys(range(size), len(rows) / size)


@pytest.mark.parametrize("size", [2, 3])
def test_no_lookup_on_a_latin_square_beats_chance_without_both_image_and_question(size):
    # few answers, so that many sets have the same choices, and lookups across sets might combine them
    rows = rows_of(built("sets_latin", crossing(30, ANSWERS[: size + 1]), set_size=size))
    for columns in ((), ("question",), ("image_id",), ("set_id", "question"), ("set_id", "image_id")):
        assert best_lookup(rows, "choices", *columns) == pytest.approx(1 / size, abs=1e-12)
    assert best_lookup(rows, "question", "image_id", "choices") == 1


@pytest.mark.parametrize("size", [4, 6])
def test_a_grid_has_as_many_answers_as_rows_and_questions_that_begin_alike(size):
    questions = [*COLORS, *(f"how big is the {number}" for number in range(4))]
    rows = rows_of(built("sets_grid", crossing(30, ANSWERS, questions=questions), set_size=size))
    assert len(sets_of(rows)) > 3
    for members in sets_of(rows).values():
        images, asked = ({row[name] for row in members} for name in ("image_id", "question"))
        assert len({(row["image_id"], row["question"]) for row in members}) == len(images) * len(asked) == size
        assert len(images) > 1 < len(asked)
        assert sorted(row["label"] for row in members) == list(range(size))
        assert len({tuple(question.split()[:2]) for question in asked}) == 1
        assert {row["set_kind"] for row in members} == {GRID.name}
        assert best_lookup(members, "question") == len(asked) / size  # at most 1 / images
        assert best_lookup(members, "image_id") == len(images) / size
    assert best_lookup(rows, "choices") == pytest.approx(1 / size)


def test_an_image_and_a_question_are_in_few_sets_and_a_row_in_one():
    questions = [f"is number {number} there" for number in range(400)]
    rows = rows_of(built("sets_latin", crossing(4, ["yes", "no"], questions=questions), set_size=2))
    assert len({row["question_id"] for row in rows}) == len(rows)
    for name, most in (("question", QUESTION_SETS), ("image_id", IMAGE_SETS)):
        values = [{(row["split"], row[name]) for row in members} for members in sets_of(rows).values()]
        used = Counter(value for of_set in values for value in of_set)
        assert max(used.values()) <= most
    assert max(used.values()) == IMAGE_SETS  # it binds here
    assert rows == rows_of(built("sets_latin", crossing(4, ["yes", "no"], questions=questions), set_size=2))


def test_answers_that_may_mean_the_same_are_in_no_square():
    table = crossing(20, ["woman", "women"])
    with pytest.raises(InputError, match="no closed answer set can be formed of 160 rows"):
        built("sets_latin", table, set_size=2)


def test_another_spelling_of_an_answer_is_left_out():
    found = built("sets_latin", crossing(30, ["two", "2", "two", "red"]), set_size=2)
    assert {choice for row in rows_of(found) for choice in row["choices"]} == {"two", "red"}


@pytest.mark.parametrize("variant", ["sets_latin", "sets_grid"])
def test_where_questions_are_asked_once_the_error_says_so(variant):
    rows = [(image, f"what is it {image}", ANSWERS[image % 8]) for image in range(9)]
    with pytest.raises(InputError, match="of 9 rows: 9 with no other answer to the same question"):
        built(variant, triplets(rows), set_size=4)


def test_a_grid_of_a_prime_number_of_answers_is_refused():
    with pytest.raises(InputError, match="use --set-size 4 or 6"):
        built("sets_grid", crossing(4, ANSWERS), set_size=5)


@pytest.mark.parametrize(("variant", "size"), [("sets_latin", 3), ("sets_grid", 4), ("sets_same_question", 3)])
def test_the_audit_counts_what_the_declaration_promises(variant, size):
    found = built(variant, crossing(60, ANSWERS[: 3 if "latin" in variant else 6]), set_size=size)
    (kind,) = {row["set_kind"] for row in rows_of(found)}
    rows = [row | {"choice_kinds": []} for row in found.splits["train"].to_pylist()]
    context = context_of(pa.Table.from_pylist(rows, ROWS))
    exact = exact_sets(context.rows, context.split.clusters)
    assert {sees.value for sees in exact} == set(SET_KINDS[kind].exact)
