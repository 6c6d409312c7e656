"""Features and boxes of the regions of an image."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

FEWEST, MOST, THRESHOLD = 10, 100, 0.2
"""Limits of the regions per image, and the minimum score of those beyond the fewest: Anderson et al. 2018 (section 3)
take all regions above a threshold; the numbers are those of their program, tools/generate_tsv.py."""
UNKNOWN = -1.0
"""Score and label of regions whose publisher reports none."""


class Regions(NamedTuple):
    """The regions of an image."""

    features: NDArray[np.float32]
    """(regions, dim)"""
    boxes: NDArray[np.float32]
    """(regions, 6): left, top, right and bottom edge in widths and heights of the image, score, and index of the
    label; the last two may be `UNKNOWN`"""


def region_tensors(images: Sequence[Regions]) -> dict[str, Tensor]:
    """The regions of images as a model takes them, padded with 0.

    Returns:
        ``image_regions`` float32 (images, regions, dim), ``region_mask`` bool (images, regions), and ``region_boxes``
        float32 (images, regions, 4): left, top, right and bottom edge in widths and heights of the image.
    """
    counts = torch.tensor([len(one.features) for one in images])
    return {
        "image_regions": pad_sequence([torch.from_numpy(one.features) for one in images], batch_first=True),
        "region_mask": torch.arange(int(counts.max())) < counts[:, None],
        "region_boxes": pad_sequence([torch.from_numpy(one.boxes[:, :4]) for one in images], batch_first=True),
    }
