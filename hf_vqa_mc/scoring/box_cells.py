"""Shares of boxes in the cells of a square grid: to score attention, pool cells over boxes and draw boxes as maps.

Edges are in widths and heights of the image, in [0, 1].
"""

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-6
"""Sides of a box are at least that long, so that a box without area lies in the cell of its corner."""


def covered(first: NDArray[np.float64], last: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The share of each of ``size`` columns or rows of cells between two edges, float64 (boxes, size)."""
    grid = np.arange(size + 1) / size
    inside = np.minimum(grid[1:], last[:, None]) - np.maximum(grid[:-1], first[:, None])
    return np.asarray(np.maximum(inside, 0.0) * size)


def box_weights(boxes: NDArray[np.floating], size: int) -> NDArray[np.float64]:
    """The share of each box's area in each cell, with which a matrix product averages cells over boxes.

    Transposed, it spreads one value per box evenly over the box.

    Args:
        boxes: (boxes, 4): left, top, right and bottom edge.
        size: cells per side.

    Returns:
        Float64 (boxes, size**2), with the cells in row-major order; each row sums to 1.
    """
    edges = boxes.astype(np.float64)
    first = np.clip(edges[:, :2], 0.0, 1 - LEAST)
    last = np.clip(edges[:, 2:], first + LEAST, 1.0)
    columns, lines = (covered(first[:, axis], last[:, axis], size) for axis in (0, 1))
    cells = (lines[:, :, None] * columns[:, None, :]).reshape(len(edges), -1)
    return np.asarray(cells / cells.sum(1, keepdims=True))
