"""GQA's grounding score: the share of attention on the objects of question and answer."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import ById, by_question_id

LEAST = 1e-6  # sides of a box are at least that long, so that a box without area lies in the cell of its corner

POINTING = ("question", "fullAnswer")  # annotations whose objects count; those of the short answer do not
SCENE = "scene"  # field of an operation that adds the whole image
TOLERANCE = 0.01  # of the sum of an attention
BOX = 5  # numbers of an attended box: four edges and the attention
CELLS = 1 << 22  # maximum number of map values per batch, unless a single map has more

_EXPECTED = "a square map of finite numbers, or boxes [left, top, right, bottom, attention]"

Region = tuple[float, float, float, float]  # left, top, right and bottom edge, in widths and heights of the image


class AttentionSum(UserWarning):
    """An attention is negative or does not sum to 1."""


WHOLE_IMAGE: Region = (0.0, 0.0, 1.0, 1.0)


def grounding_scores(
    records: Mapping[str, Mapping[str, Any]], attentions: ById, scene_graphs: Mapping[Any, Any]
) -> NDArray[np.float64]:
    """The attention on the regions that question and full answer point to, float64 (questions,).

    A cell or box counts by the share of its area inside; a region that is pointed to twice counts twice; a question
    that points nowhere scores 0. As in the official program, the whole image counts once if an operation has a field
    ``scene``; the operations of GQA's own files have none.

    ``records`` are GQA's balanced questions by id, scene graphs by image id. The attentions of all questions are
    either square maps of numbers, float (n, n) of any n, ``map[i][j]`` with i along x; or lists of attended boxes,
    float (n, 5): left, top, right and bottom edge in [0, 1] of the image, and the attention. Boxes are the branch
    ``--objectFeatures`` of the official program (Hudson and Manning 2019, section 4.4), which as published reads a
    name that is not defined.
    """
    given = by_question_id("attentions", attentions, "attention")
    regions = _regions(records, scene_graphs)
    for name in (name for name in records if name not in given):
        raise InputError(f"question {name!r} has no attention; expected a map or boxes for every balanced question")
    locations = [f"question {name!r}" for name in records]
    found, are_boxes = checked_attentions([given[name] for name in records], locations)
    weights = [one[:, 4] if are_boxes else one for one in found]
    odd = [row for row, one in enumerate(weights) if one.min() < 0 or abs(one.sum() - 1) > TOLERANCE]
    if odd:
        text = (
            f"the attention of {len(odd):,} questions is negative or does not sum to 1, so the grounding is no share "
            f"of attention: the weights of {locations[odd[0]]} sum to {weights[odd[0]].sum():.4g}"
        )
        warnings.warn(AttentionSum(text), stacklevel=3)
    scores = np.zeros(len(records))
    if are_boxes:
        for row, boxes in enumerate(found):
            shares = inside(boxes[:, :4], np.array(regions[row], np.float64).reshape(-1, 4))
            scores[row] = boxes[:, 4] @ shares.sum(axis=1)
        return scores
    for size in {len(one) for one in found}:
        rows = [row for row, one in enumerate(found) if len(one) == size]
        at_once = max(CELLS // (size**2 * max(len(regions[row]) + 1 for row in rows)), 1)  # a copy per region
        for start in range(0, len(rows), at_once):
            some = np.array(rows[start : start + at_once])
            question = np.repeat(np.arange(len(some)), [len(regions[row]) for row in some])
            edges = np.array([edges for row in some for edges in regions[row]], np.float64).reshape(-1, 4)
            across, down = covered(edges[:, 0], edges[:, 2], size), covered(edges[:, 1], edges[:, 3], size)
            of_regions = np.stack([found[row] for row in some])[question]
            on_region = np.einsum("ri,rij,rj->r", across, of_regions, down)
            scores[some] = np.bincount(question, on_region, minlength=len(some))
    return scores


def checked_attentions(given: Sequence[Any], locations: Sequence[str]) -> tuple[list[NDArray[np.float64]], bool]:
    """The attentions of questions as arrays, and whether they are boxes (n, 5) and not square maps (n, n).

    5 x 5 numbers are boxes only if every line of all of them could be one. Raises InputError for what is neither.
    """
    found = [_numbers(one, location) for one, location in zip(given, locations, strict=True)]
    are_boxes = all(one.shape[1] == BOX for one in found) and (
        any(len(one) != BOX for one in found) or all(map(_inside_image, found))
    )
    for one, array, location in zip(given, found, locations, strict=True):
        if are_boxes and not _inside_image(array):
            expected = "boxes with edges from 0 to 1, left <= right and top <= bottom"
            raise InputError(f"{location}: attention is {shown(one)}, expected {expected}")
        if not are_boxes and array.shape[0] != array.shape[1]:
            raise InputError(f"{location}: attention is {shown(one)}, expected {_EXPECTED}, of one kind for all")
    return found, are_boxes


def _numbers(given: Any, location: str) -> NDArray[np.float64]:  # noqa: ANN401  whatever users give
    try:
        lines = given.tolist() if hasattr(given, "tolist") and not isinstance(given, np.ndarray) else given  # torch
        attention = np.asarray(lines)
        numbers = attention.dtype.kind in "fiu" and bool(np.isfinite(attention).all())
    except (TypeError, ValueError):  # rows of different length, or not an array
        attention, numbers = np.zeros(()), False
    if not numbers or attention.ndim != 2 or not attention.size:
        raise InputError(f"{location}: attention is {shown(given)}, expected {_EXPECTED}")
    return attention.astype(np.float64, copy=False)


def _inside_image(boxes: NDArray[np.float64]) -> bool:
    edges = boxes[:, :4]
    return bool(((edges >= 0) & (edges <= 1)).all() and (edges[:, :2] <= edges[:, 2:]).all())


def _regions(records: Mapping[str, Mapping[str, Any]], scene_graphs: Mapping[Any, Any]) -> list[list[Region]]:
    graphs = {str(image_id): graph for image_id, graph in scene_graphs.items()}
    regions: dict[str, dict[str, Region]] = {}
    found = []
    for question, record in records.items():
        image = str(record.get("imageId"))
        if image not in regions:
            if image not in graphs:
                raise InputError(f"question {question!r}: image {image!r} has no scene graph; add it to scene_graphs")
            width, height = graphs[image]["width"], graphs[image]["height"]
            regions[image] = {
                str(name): (one["x"] / width, one["y"] / height, (one["x"] + one["w"]) / width,
                            (one["y"] + one["h"]) / height)
                for name, one in graphs[image]["objects"].items()
            }  # fmt: skip
        try:
            pointed = [str(pointer) for name in POINTING for pointer in record["annotations"][name].values()]
        except (KeyError, TypeError, AttributeError):
            given = shown(record.get("annotations"))
            raise InputError(
                f"question {question!r}: annotations is {given}, expected a record whose {' and '.join(POINTING)} "
                "map words to object ids"
            ) from None
        for name in (name for name in pointed if name not in regions[image]):
            raise InputError(f"question {question!r}: object {name!r} of image {image!r} is not in its scene graph")
        whole = [WHOLE_IMAGE] if any(SCENE in operation for operation in record["semantic"]) else []
        found.append([regions[image][name] for name in pointed] + whole)
    return found


def covered(first: NDArray[np.float64], last: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The share of each of ``size`` columns or rows of cells between two edges, float64 (boxes, size)."""
    grid = np.arange(size + 1) / size
    inside = np.minimum(grid[1:], last[:, None]) - np.maximum(grid[:-1], first[:, None])
    return np.asarray(np.maximum(inside, 0.0) * size)


def inside(boxes: NDArray[np.float64], regions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of each box's area in each region, float64 (boxes, regions); both are (number, 4), see `Region`."""
    first = np.clip(boxes[:, None, :2], 0.0, 1 - LEAST)
    last = np.clip(boxes[:, None, 2:], first + LEAST, 1.0)
    sides = np.minimum(last, regions[:, 2:]) - np.maximum(first, regions[:, :2])
    return np.asarray((np.maximum(sides, 0.0) / (last - first)).prod(axis=2))


def box_weights(boxes: NDArray[np.floating], size: int) -> NDArray[np.float64]:
    """The share of each box's area in each cell, float64 (boxes, size**2), cells in row-major order; rows sum to 1.

    ``boxes`` (boxes, 4): left, top, right and bottom edge; ``size``: cells per side.
    """
    edges = np.arange(size + 1) / size
    left, top = (grid.ravel() for grid in np.meshgrid(edges[:-1], edges[:-1]))
    return inside(boxes.astype(np.float64), np.stack([left, top, left + 1 / size, top + 1 / size], axis=1))
