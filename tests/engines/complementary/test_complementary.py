"""Candidates for complementary images: nearest images as by brute force, selection, order, statistics; given files."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hf_vqa_mc.engines.complementary.complementary import COMPLEMENTARY, complementary, nearest_images
from hf_vqa_mc.engines.complementary.premise import ImageFacts, captions_in
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.normalisation import comparable, words
from tests.engines.complementary.small_dataset import triplets_of

ON_A_LINE = np.arange(6, dtype=np.float32)[:, None]
IDS = [f"i{position}" for position in range(6)]
WEATHER = triplets_of(
    ("i0", "is it raining", "yes"),
    ("i1", "is it raining", "Yes."),
    ("i2", "is it raining", "no"),
    ("i3", "how many dogs are there", "2"),
    ("i9", "is it raining", "no"),
)


def first_row(**options):
    return complementary(ON_A_LINE, IDS, WEATHER, **options)[0].to_pylist()[0]


def literal_probability(triplets, image_ids, features, k, row, candidate):
    """The formula at the top of `complementary`, in plain Python."""
    rows, features = triplets.to_pylist(), features.astype(np.float64)
    mine = rows[row]
    distance = {other: float(np.linalg.norm(features[candidate] - one)) for other, one in enumerate(features)}
    near = sorted((other for other in distance if other != candidate), key=lambda other: (distance[other], other))[:k]
    reach = sum(distance[other] for other in near) / len(near)
    weight = {candidate: 10.0} | {other: math.exp(-((distance[other] / reach) ** 2)) for other in near}
    same, total = 0.0, 0.0
    for position, other in enumerate(rows):
        image = image_ids.index(other["image_id"])
        if position == row or image not in weight:
            continue
        cosine = cosine_of(mine["question"], other["question"])
        if cosine >= 0.5:
            total += weight[image] * cosine**8
            same += weight[image] * cosine**8 * (comparable(other["target"]) == comparable(mine["target"]))
    return 1 - (same + literal_prior(rows, row)) / (total + 1), total


def literal_prior(rows, row):
    mine, share = rows[row], 0.0
    for group in (lambda text: 0, lambda text: words(text)[:2], shares_of_words):
        others = [
            other
            for position, other in enumerate(rows)
            if position != row and group(other["question"]) == group(mine["question"])
        ]
        same = sum(comparable(other["target"]) == comparable(mine["target"]) for other in others)
        share = (same + share) / (len(others) + 1)
    return share


def shares_of_words(text):
    counts = Counter(words(text))
    return {word: Fraction(n, sum(counts.values())) for word, n in counts.items()}


def cosine_of(one, other):
    a, b = Counter(words(one)), Counter(words(other))
    lengths = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return sum(a[word] * b[word] for word in a) / lengths


def test_probabilities_are_those_of_the_formula_taken_literally():
    rng = np.random.default_rng(3)
    ids = [f"i{position}" for position in range(12)]
    features = rng.normal(size=(12, 3)).astype(np.float32)
    vocabulary = ["is", "it", "a", "cat", "dog", "red"]
    triplets = triplets_of(
        *(
            (ids[rng.integers(12)], " ".join(rng.choice(vocabulary, rng.integers(1, 5))), answer)
            for answer in rng.choice(["yes", "no", "2", "two"], 36)
        )
    )
    found, _ = complementary(features, ids, triplets, k=5)
    for row, figures in enumerate(found.to_pylist()):
        for image_id, differs, evidence in zip(
            figures["candidates"], figures["differs"], figures["evidence"], strict=True
        ):
            literal = literal_probability(triplets, ids, features, 5, row, ids.index(image_id))
            assert (differs, evidence) == pytest.approx(literal, abs=1e-9)


def test_candidates_are_the_nearest_images_and_those_with_another_answer_come_first():
    row = first_row(k=3)
    assert sorted(row["candidates"]) == ["i1", "i2", "i3"]
    assert row["candidates"][0] == "i2"
    assert row["candidates"][-1] == "i1"
    assert row["distances"][0] == 2.0
    assert row["differs"][0] > 0.8
    assert row["differs"][-1] < 0.2
    assert row["differs"] == sorted(row["differs"], reverse=True)


def test_where_nothing_is_known_the_nearest_come_first_and_the_evidence_is_none():
    alone = triplets_of(("i0", "why", "because"), ("i5", "how many dogs are there", "2"))
    row = complementary(ON_A_LINE, IDS, alone)[0].to_pylist()[0]
    assert row["candidates"] == ["i1", "i2", "i3", "i4", "i5"]
    assert row["evidence"] == [0.0] * 5


def test_probabilities_lie_in_0_to_1_and_columns_are_as_promised():
    found, figures = complementary(ON_A_LINE, IDS, WEATHER)
    assert found.schema == COMPLEMENTARY
    for row in found.to_pylist():
        assert all(0.0 <= share <= 1.0 for share in row["differs"])
        assert row["image_id"] not in row["candidates"]
        assert {len(row[name]) for name in ("candidates", "distances", "differs", "evidence", "premise")} == {5}
    assert figures["candidates_missing"] == 19 * 4
    assert found["question_id"].to_pylist() == ["q0", "q1", "q2", "q3"]
    assert figures["left_out"] == {"no features of the image": 1}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_an_error(value):
    features = ON_A_LINE.copy()
    features[1] = value
    with pytest.raises(InputError, match="image_id 'i1' are not finite"):
        complementary(features, IDS, WEATHER)


def test_features_of_another_datasets_images_are_refused():
    with pytest.raises(InputError, match=r"no question is about an image with features: .*'i0'.*'x'"):
        complementary(ON_A_LINE[:1], ["x"], WEATHER)


def test_an_image_alone_has_no_candidates_and_that_is_counted():
    found, figures = complementary(ON_A_LINE[:1], ["i0"], WEATHER)
    assert found["candidates"].to_pylist() == [[]]
    assert (figures["candidates_per_question"], figures["candidates_missing"]) == (0, 24)
    assert figures["first_candidate"]["mean_probability"] is None


def test_candidates_on_which_the_premise_fails_come_last():
    dogs = triplets_of(("i0", "what color is the dog", "red"), ("i1", "what color is the dog", "blue"))
    known = ImageFacts(instances={"i1": {"cat"}, "i2": {"dog"}}, categories=frozenset(["dog", "cat"]))
    row = complementary(ON_A_LINE, IDS, dogs, k=3, known=known)[0].to_pylist()[0]
    assert dict(zip(row["candidates"], row["premise"], strict=True)) == {"i1": "holds", "i2": "holds", "i3": "unknown"}
    quiet = triplets_of(("i0", "what color is the dog", "red"), ("i5", "why", "because"))
    row = complementary(ON_A_LINE, IDS, quiet, k=3, known=known)[0].to_pylist()[0]
    assert row["candidates"][-1] == "i1"
    assert row["premise"][-1] == "fails"


def test_questions_without_a_premise_have_premise_none():
    there = triplets_of(("i0", "is there a dog", "yes"), ("i1", "what color is the dog", "blue"))
    known = ImageFacts(instances={"i2": {"cat"}}, categories=frozenset(["dog", "cat"]))
    found, figures = complementary(ON_A_LINE, IDS, there, k=3, known=known)
    assert found["premise"][0].as_py() == ["none"] * 3
    assert "fails" in found["premise"][1].as_py()
    assert figures["premise"]["none"] == 3
    assert sum(figures["premise"].values()) == 6


def brute_force(features, k):
    exact = features.astype(np.float64)
    images, distances = [], []
    for position, one in enumerate(exact):
        squares = ((exact - one) ** 2).sum(axis=1)
        order = [other for other in np.argsort(squares, kind="stable").tolist() if other != position][:k]
        images.append(order)
        distances.append(np.sqrt(squares[order]))
    return np.array(images, np.int32).reshape(len(features), -1), np.array(distances).reshape(len(features), -1)


def check(features, k):
    found = nearest_images(features, k)
    images, distances = brute_force(features, k)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    np.testing.assert_array_equal(found.images, images)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(-2, 2)))
def test_the_nearest_images_are_those_of_brute_force_and_ties_are_in_order(features):
    check(features, 5)


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (1000.0, 0.01), (0.0, 1e18), (0.0, 1e-18)])
def test_they_are_exact_where_a_product_of_float32_is_not(offset, scale):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, 64))
    features = centres.repeat(15, axis=0) + rng.normal(size=(300, 64)) * 1e-4
    check((offset + features * scale).astype(np.float32), 24)


def test_blocks_do_not_show_in_the_result(monkeypatch):
    features = np.random.default_rng(1).integers(0, 3, (101, 4)).astype(np.float32)
    whole = nearest_images(features, 7)
    monkeypatch.setattr("hf_vqa_mc.engines.complementary.complementary._QUERIES", 8)
    for one, other in zip(nearest_images(features, 7), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_no_caption_is_named(real_data, tmp_path):
    captions = [*captions_in(real_data / "coco" / "COCO_MINI__captions_val2017.json.xz")]
    assert len(captions) > len(dict(captions)) > 0
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        next(captions_in(tmp_path / "none.json"))
    (tmp_path / "file.json").write_text('{"annotations": [{"image_id": 1, "caption": 3}]}')
    with pytest.raises(InputError, match=r"annotations\[0\], field 'caption'"):
        next(captions_in(tmp_path / "file.json"))
