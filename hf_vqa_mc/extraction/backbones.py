"""What turns an image into features: the interface, and the built-in ``pixels``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.errors import InputError, shown

Precision = Literal["float32", "bfloat16"]
"""What a model computes in and its features are stored in."""

MOST_CELLS = 64
"""Cells per side of the largest grid that ``pixels`` makes."""


@dataclass(frozen=True)
class FeatureKind:
    """What image features are: the same kind and the same image give the same features."""

    backbone: str
    """``pixels``, a name on the Hub, or the last part of a folder's path"""
    revision: str
    """the commit of the weights, or a checksum of a folder's"""
    grid: int | None
    """cells per side; None for one vector per image"""
    dim: int
    precision: Precision

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image's features: (dim,), or (cells, dim), the cells row by row."""
        return (self.dim,) if self.grid is None else (self.grid**2, self.dim)

    @property
    def folder_name(self) -> str:
        """What the folder with such features is called."""
        parts = [file_name(self.backbone), self.revision[:12], f"grid{self.grid}" if self.grid else "", self.precision]
        return "-".join(part for part in parts if part and part != "float32")

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: object, location: str) -> "FeatureKind":
        """The kind with the fields of ``as_json``.

        Raises:
            InputError: they are something else; names the location.
        """
        kinds: dict[str, Any] = {"backbone": str, "revision": str, "grid": (int, type(None)), "dim": int}
        if (
            not isinstance(fields, dict)
            or fields.keys() != {*kinds, "precision"}
            or not all(isinstance(fields[name], kind) for name, kind in kinds.items())
            or fields["precision"] not in ("float32", "bfloat16")
        ):
            raise InputError(
                f"{location} does not say what the features are: {shown(fields)}; run vqa-mc features again"
            )
        return cls(**fields)


class Backbone(ABC):
    """Turns images into features; each image by itself, whichever others it comes with.

    Args:
        kind: what it makes.
    """

    def __init__(self, kind: FeatureKind) -> None:
        self.kind = kind

    @abstractmethod
    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """One image as the backbone takes it, the same shape for every image; threads may call it side by side."""

    @abstractmethod
    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features of a batch, float32 (batch, *kind.shape), of what ``prepare`` made, stacked."""

    def encode(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Features of a batch of images: float32 (batch, dim), or (batch, cells, dim)."""
        if not images:
            return np.empty((0, *self.kind.shape), np.float32)
        return self.forward(np.stack([self.prepare(image) for image in images]))


class Pixels(Backbone):
    """Downscaled pixel values: no weights, for trying things out and for simple shapes and colours.

    Without a grid the image is downscaled to 16x16 (width and height each by its own factor, every pixel the mean of
    those that it covers); with one, each cell to 4x4. Red, green and blue of 0 to 255 become -1 to 1; the pixels
    of an image, and of a cell, follow each other row by row.

    Args:
        grid: cells per side; None for one vector per image.

    Raises:
        InputError: there is no such grid.
    """

    SIDE, CELL_SIDE = 16, 4

    def __init__(self, grid: int | None = None) -> None:
        if grid is not None and not 1 <= grid <= MOST_CELLS:
            raise InputError(f"--grid {grid}: pixels makes grids of 1 to {MOST_CELLS} cells per side")
        self._side = self.SIDE if grid is None else self.CELL_SIDE
        super().__init__(FeatureKind("pixels", "1", grid, 3 * self._side**2, "float32"))

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Float32 (*kind.shape)."""
        cells = self.kind.grid or 1
        side = cells * self._side
        shrunk = image.convert("RGB").resize((side, side), Image.Resampling.BOX)
        pixels = np.asarray(shrunk, np.float32) / np.float32(127.5) - 1
        rows = pixels.reshape(cells, self._side, cells, self._side, 3).swapaxes(1, 2)  # (row, column, y, x, colour)
        return np.ascontiguousarray(rows.reshape(self.kind.shape))

    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """What ``prepare`` made is the feature."""
        return prepared


def file_name(name: str) -> str:
    """The name of a model or dataset as a file name.

    >>> file_name("microsoft/resnet-152")
    'microsoft--resnet-152'
    """
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name.strip("/").replace("/", "--"))
    return safe.lstrip(".") or "_"
