"""The interface of image backbones, and the built-in ``pixels``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.regions import Regions

Precision = Literal["float32", "bfloat16"]
"""Precision of a model's computation and of its stored features."""

PIXELS = "pixels"
MOST_CELLS = 64
"""Maximum number of cells per side of ``pixels``."""


IMAGE_INPUTS = ("image_features", "image_grid", "image_regions")
"""A model's input: pooled features, features of grid cells, or features of regions."""


@dataclass(frozen=True)
class RegionKind:
    """How the regions of images were found."""

    detector: str
    """a name on the Hub, or the name of a folder; "" if the regions were imported"""
    revision: str
    """of the detector, see `FeatureKind`; "" if the regions were imported"""
    fewest: int
    most: int
    """maximum number of regions of an image"""
    threshold: float
    """minimum score of a region, if an image has more than ``fewest``"""


@dataclass(frozen=True)
class FeatureKind:
    """A kind of image features: the same kind and the same image give the same features."""

    backbone: str
    """``pixels``, ``efficientnet-lite1``, a name on the Hub, or the name of a folder"""
    revision: str
    """commit of the weights on the Hub, or checksum of the folder or of the weights"""
    grid: int | None
    """cells per side; None for one vector per image"""
    dim: int
    precision: Precision
    regions: RegionKind | None = None
    """with regions, the averages of the grid's cells over them; imported ones have no grid"""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image's features: (dim,); (cells, dim) in row-major order; or (maximum of regions, dim)."""
        if self.regions is not None:
            return (self.regions.most, self.dim)
        return (self.dim,) if self.grid is None else (self.grid**2, self.dim)

    @property
    def input_name(self) -> str:
        """The input of a model, one of `IMAGE_INPUTS`."""
        return IMAGE_INPUTS[2 if self.regions is not None else self.grid is not None]

    @property
    def folder_name(self) -> str:
        """The name of the folder of such features."""
        parts = [file_name(self.backbone), self.revision[:12], f"grid{self.grid}" if self.grid else ""]
        if self.regions is not None:
            of = self.regions
            limits = f"{of.fewest}to{of.most}at{of.threshold:g}" if of.detector else "regions"
            parts += [file_name(of.detector) if of.detector else "", of.revision[:12], limits]
        parts.append(self.precision)
        return "-".join(part for part in parts if part and part != "float32")

    def as_json(self) -> dict[str, Any]:
        """All fields; ``regions`` only of features of regions."""
        found = asdict(self)
        return found if self.regions is not None else {name: of for name, of in found.items() if name != "regions"}

    @classmethod
    def from_json(cls, fields: object, location: str) -> "FeatureKind":
        """The kind with the fields of ``as_json``; raises InputError if they are not valid."""
        kinds: dict[str, Any] = {"backbone": str, "revision": str, "grid": (int, type(None)), "dim": int}
        if (
            not isinstance(fields, dict)
            or fields.keys() - {"regions"} != {*kinds, "precision"}
            or not all(isinstance(fields[name], kind) for name, kind in kinds.items())
            or fields["precision"] not in ("float32", "bfloat16")
        ):
            raise InputError(f"{location}: not a kind of features: {shown(fields)}; run vqa-mc features again")
        try:
            regions = RegionKind(**fields["regions"]) if "regions" in fields else None
            return cls(**{**fields, "regions": regions})
        except TypeError as error:
            raise InputError(f"{location}: not a kind of regions: {shown(fields['regions'])}") from error


class Backbone(ABC):
    """Computes image features; the features of an image do not depend on the rest of its batch."""

    kept = 1.0
    """the part of a square image that ``prepare`` keeps: the side of the centre crop, as a fraction"""

    def __init__(self, kind: FeatureKind) -> None:
        self.kind = kind

    @abstractmethod
    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Preprocess an image; the shape is the same for all images. Called from several threads."""

    @abstractmethod
    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features float32 (batch, *kind.shape) of stacked outputs of ``prepare``."""

    def encode_prepared(self, prepared: Sequence[Any]) -> Sequence[NDArray[np.float32] | Regions]:
        """Features of each image of a batch, from outputs of ``prepare``."""
        return list(self.forward(np.stack(prepared)))

    def encode(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Features of a batch of images: float32 (batch, *kind.shape)."""
        if not images:
            return np.empty((0, *self.kind.shape), np.float32)
        return self.forward(np.stack([self.prepare(image) for image in images]))


class Pixels(Backbone):
    """Downscaled pixel values, for quick tests and for images of simple shapes and colours.

    Without a grid the image is resized to 16x16 (box filter, aspect ratio ignored); with one, each cell to 4x4. Values
    of 0 to 255 are scaled to [-1, 1]; pixels are in row-major order. Raises InputError if the grid is out of range.
    """

    SIDE, CELL_SIDE = 16, 4

    def __init__(self, grid: int | None = None) -> None:
        if grid is not None and not 1 <= grid <= MOST_CELLS:
            raise InputError(f"--grid {grid}: expected 1 to {MOST_CELLS} cells per side for pixels")
        self._side = self.SIDE if grid is None else self.CELL_SIDE
        super().__init__(FeatureKind(PIXELS, "1", grid, 3 * self._side**2, "float32"))

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Float32 (*kind.shape)."""
        cells = self.kind.grid or 1
        side = cells * self._side
        shrunk = image.convert("RGB").resize((side, side), Image.Resampling.BOX)
        pixels = np.asarray(shrunk, np.float32) / np.float32(127.5) - 1
        rows = pixels.reshape(cells, self._side, cells, self._side, 3).swapaxes(1, 2)  # (row, column, y, x, colour)
        return np.ascontiguousarray(rows.reshape(self.kind.shape))

    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """The output of ``prepare``."""
        return prepared


def device_and_precision(device: str | None, precision: Precision | None) -> tuple[torch.device, Precision]:
    """By default the GPU if there is one, and bfloat16 on it."""
    found = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return found, precision or ("bfloat16" if found.type == "cuda" else "float32")


def file_name(name: str) -> str:
    """A file name for a model or dataset.

    >>> file_name("microsoft/resnet-152")
    'microsoft--resnet-152'
    """
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name.strip("/").replace("/", "--"))
    return safe.lstrip(".") or "_"
