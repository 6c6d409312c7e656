"""Nearest images equal those of brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hf_vqa_mc.engines.complementary import complementary
from hf_vqa_mc.engines.complementary.complementary import nearest_images


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
    monkeypatch.setattr(complementary, "_QUERIES", 8)
    for one, other in zip(nearest_images(features, 7), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_images_that_are_all_the_same_are_near_in_their_order():
    found = nearest_images(np.ones((5, 3), np.float32), 2)
    assert found.images.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    assert (found.distances == 0).all()


def test_an_image_alone_has_no_neighbours():
    found = nearest_images(np.ones((1, 3), np.float32), 24)
    assert found.images.shape == found.distances.shape == (1, 0)
