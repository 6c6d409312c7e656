"""Exact nearest images by their features: a float32 matrix product selects candidates, float64 decides."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError

_QUERIES, _IMAGES = 1024, 4096  # block sizes; memory besides the features depends on them, not on the number of images
_ROUNDING = 2.0**-24
"""Unit roundoff of float32 (Higham 2002, Sect. 3.1: the error of a dot product of n pairs is about n times this)."""


class Nearest(NamedTuple):
    """The k images nearest to each image, nearest first; ties in the order of the images."""

    images: NDArray[np.int32]  # (images, k)
    distances: NDArray[np.float64]  # (images, k): Euclidean


def check_features(features: NDArray[np.float32], image_ids: Sequence[str]) -> None:
    """Raise InputError unless the vector of each image is finite."""
    for start in range(0, len(features), _IMAGES):
        broken = np.flatnonzero(~np.isfinite(features[start : start + _IMAGES]).all(axis=1))
        if len(broken):
            raise InputError(
                f"the features of the image with image_id {image_ids[start + broken[0]]!r} are not finite (NaN "
                "or infinity); run vqa-mc features again"
            )


def nearest_images(features: NDArray[np.float32], k: int, progress: Callable[[int], None] | None = None) -> Nearest:
    """Find the k other images nearest to each image by Euclidean distance of finite features (images, dim)."""
    n, k = len(features), min(k, max(len(features) - 1, 0))
    found = Nearest(np.full((n, k), -1, np.int32), np.full((n, k), np.inf))
    if not k:
        return found
    # centred, and scaled to a largest value of 1, against cancellation and overflow
    blocks = [features[start : start + _IMAGES] for start in range(0, n, _IMAGES)]
    centre = np.sum([block.sum(axis=0, dtype=np.float64) for block in blocks], axis=0) / n
    scale = 1.0 / (max(float(np.abs(block - centre).max(initial=0.0)) for block in blocks) or 1.0)
    slack = (features.shape[1] + 16) * _ROUNDING
    for start in range(0, n, _QUERIES):
        queries = features[start : start + _QUERIES]
        mine, my_squares = _centred(queries, centre, scale)
        images, squares = found.images[start : start + _QUERIES], found.distances[start : start + _QUERIES]
        for first in range(0, n, _IMAGES):
            block = features[first : first + _IMAGES]
            theirs, their_squares = _centred(block, centre, scale)
            products = mine @ theirs.T
            _merge(queries, block, start, first, products, my_squares, their_squares, slack, scale, images, squares)
        np.sqrt(squares, out=squares)
        if progress:
            progress(min(start + _QUERIES, n))
    return found


def _centred(
    features: NDArray[np.float32], centre: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    exact = (features - centre) * scale
    return exact.astype(np.float32), np.einsum("ij,ij->i", exact, exact)


@njit(cache=True, nogil=True)
def _merge(
    queries: NDArray[np.float32],
    block: NDArray[np.float32],
    first_query: int,
    first_image: int,
    products: NDArray[np.float32],
    query_squares: NDArray[np.float64],
    block_squares: NDArray[np.float64],
    slack: float,
    scale: float,
    images: NDArray[np.int32],
    squares: NDArray[np.float64],
) -> None:
    """Insert the images of a block that are near enough into the sorted lists of some queries."""
    last = images.shape[1] - 1
    query_lengths, block_lengths = np.sqrt(query_squares), np.sqrt(block_squares)
    for i in range(len(queries)):
        bound = squares[i, last] * scale * scale
        for j in range(len(block)):
            if first_query + i == first_image + j:
                continue
            about = query_squares[i] + block_squares[j] - 2.0 * products[i, j]
            length = query_lengths[i] + block_lengths[j]
            if about - slack * length * length > bound:
                continue
            square = 0.0
            for d in range(queries.shape[1]):
                difference = np.float64(queries[i, d]) - np.float64(block[j, d])
                square += difference * difference
            if not square < squares[i, last]:
                continue
            at = last
            while at > 0 and square < squares[i, at - 1]:
                squares[i, at], images[i, at] = squares[i, at - 1], images[i, at - 1]
                at -= 1
            squares[i, at], images[i, at] = square, first_image + j
            bound = squares[i, last] * scale * scale
