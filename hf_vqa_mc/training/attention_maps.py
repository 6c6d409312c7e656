"""Maps of a model's attention over the whole image, from attention to cells or regions."""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.scoring.gqa_grounding import box_weights, covered

MAP_SIDE = 7
"""Cells per side of maps of attention to regions: those of GQA's program (``--mapSize``)."""


def region_maps(attention: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Spread the attention to each region evenly over its box.

    Args:
        attention: (questions, regions); 0 for padding.
        boxes: (questions, regions, 4), see `box_weights`.

    Returns:
        Float32 (questions, `MAP_SIDE` squared): the attention to each cell, in row-major order.
    """
    weights = box_weights(boxes.reshape(-1, 4), MAP_SIDE).reshape(*attention.shape, -1)
    return np.asarray(np.einsum("qr,qrc->qc", attention, weights), np.float32)


def cell_maps(attention: NDArray[np.float32], views: NDArray[np.float64]) -> NDArray[np.float32]:
    """Maps of whole images from attention to grids that cover a part of each.

    Args:
        attention: (questions, cells), in row-major order.
        views: (questions, 4), see `Box`.

    Returns:
        Float32 (questions, cells): the attention to each cell of the image, at least `MAP_SIDE` per side, in row-major
        order.
    """
    side = isqrt(attention.shape[1])
    size = max(side, MAP_SIDE)

    def shares(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each row or column of the grid in those of the map, (questions, side, size)."""
        edges = np.linspace(first, last, side + 1, axis=1)
        inside = covered(edges[:, :-1].ravel(), edges[:, 1:].ravel(), size)
        return np.asarray(inside / inside.sum(1, keepdims=True)).reshape(len(views), side, size)

    left, top, right, bottom = views.T
    grid, rows, columns = attention.reshape(-1, side, side), shares(top, bottom), shares(left, right)
    maps = np.einsum("qij,qiy,qjx->qyx", grid, rows, columns, optimize=True)
    return np.asarray(maps.reshape(len(maps), -1), np.float32)
