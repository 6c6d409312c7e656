"""The interface of image backbones, and the built-in ``pixels``."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import file_name

Precision = Literal["float32", "bfloat16"]  # precision of a model's computation and of its stored features

MOST_CELLS = 64  # maximum number of cells per side of ``pixels``

Box = tuple[float, float, float, float]  # left, top, right and bottom edge in widths and heights of an image
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)
IMPORTED = "imported"  # revision of imported features, whose files are not hashed as a whole

FEWEST, MOST, THRESHOLD = 10, 100, 0.2
"""Limits of the regions per image, and the minimum score of those beyond the fewest: Anderson et al. 2018 (section 3)
take all regions above a threshold; the numbers are those of their program, tools/generate_tsv.py."""
UNKNOWN = -1.0  # score and label of regions whose publisher reports none

IMAGE_INPUTS = ("image_features", "image_grid", "image_regions")  # one vector, cells, or regions


@dataclass(frozen=True)
class RegionKind:
    """Limits of the regions of an image."""

    fewest: int = FEWEST  # fewer only if the detector proposes fewer
    most: int = MOST
    threshold: float = THRESHOLD  # minimum score of a region, if an image has more than ``fewest``


@dataclass(frozen=True)
class FeatureKind:
    """A kind of image features: the same kind and the same image give the same features."""

    backbone: str  # ``pixels``, ``efficientnet-lite1``, or a model's name on the Hub or its folder's; with @SIDE
    revision: str  # commit or checksum of the weights; `IMPORTED` features have none
    grid: int | None  # cells per side; None for one vector per image
    dim: int
    precision: Precision
    regions: RegionKind | None = None  # of features of regions, which have no grid

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
    def side(self) -> str:
        """The side of the images in pixels; "" if it is the model's own."""
        return self.backbone.partition("@")[2]

    @property
    def folder_name(self) -> str:
        """The name of the folder of such features."""
        parts = [file_name(self.backbone), self.revision[:12], f"grid{self.grid}" if self.grid else ""]
        if self.regions is not None:
            of = self.regions
            parts.append("regions" if self.revision == IMPORTED else f"{of.fewest}to{of.most}at{of.threshold:g}")
        parts.append(self.precision)
        return "-".join(part for part in parts if part and part != "float32")

    def as_json(self) -> dict[str, Any]:
        """All fields; ``regions`` only of features of regions."""
        found = asdict(self)
        return found if self.regions is not None else {name: of for name, of in found.items() if name != "regions"}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "FeatureKind":
        """The kind with the fields of ``as_json``."""
        limits = fields.get("regions")
        return cls(**{**fields, "regions": None if limits is None else RegionKind(**limits)})


class Regions(NamedTuple):
    """The regions of an image."""

    features: NDArray[np.float32]  # (regions, dim)
    boxes: NDArray[np.float32]
    """(regions, 6): left, top, right and bottom edge in widths and heights of the image, score, and index of the
    label; the last two may be `UNKNOWN`"""


class Backbone(ABC):
    """Computes image features; the features of an image do not depend on the rest of its batch."""

    batch_size = 64  # images per batch by default
    labels: Sequence[str] = ()  # of regions

    def __init__(self, kind: FeatureKind) -> None:
        self.kind = kind

    @abstractmethod
    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Preprocess an image. Called from several threads."""

    def view(self, size: tuple[int, int]) -> Box:
        """The part that the grid covers of an image of that width and height."""
        return WHOLE

    @abstractmethod
    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32] | list[Regions]:
        """Features of stacked outputs of ``prepare``: float32 (batch, *kind.shape), or the regions of each image."""

    def encode_prepared(self, prepared: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32] | Regions]:
        """Features of each image of a batch, from outputs of ``prepare``; those of the same shape share a pass."""
        by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for index, one in enumerate(prepared):
            by_shape[one.shape].append(index)
        found: dict[int, NDArray[np.float32] | Regions] = {}
        for indices in by_shape.values():
            found.update(zip(indices, self.forward(np.stack([prepared[index] for index in indices])), strict=True))
        return [found[index] for index in range(len(prepared))]

    def encode(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Features of a batch of images, unless they are of regions: float32 (batch, *kind.shape)."""
        if not images:
            return np.empty((0, *self.kind.shape), np.float32)
        return np.stack(self.encode_prepared([self.prepare(image) for image in images]))


class Network(Backbone):
    """A backbone with a network, by default on the GPU if there is one, and there in bfloat16 (autocast)."""

    def __init__(self, device: str | None, precision: Precision | None) -> None:
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._precision: Precision = precision or ("bfloat16" if self._device.type == "cuda" else "float32")

    @staticmethod
    def _centre(size: tuple[int, int], width: float, height: float) -> Box:
        """The view of a centre crop of an image, from their sizes in the same unit."""
        across, down = width / size[0] / 2, height / size[1] / 2
        return (0.5 - across, 0.5 - down, 0.5 + across, 0.5 + down)

    @contextmanager
    def _inference(self) -> Iterator[None]:
        is_half = self._precision == "bfloat16"
        with torch.inference_mode(), torch.autocast(self._device.type, torch.bfloat16, enabled=is_half):
            yield


class Pixels(Backbone):
    """Downscaled pixel values, for quick tests and for images of simple shapes and colours.

    Without a grid the image is resized to 16x16 (box filter, aspect ratio ignored); with one, each cell to 4x4. Values
    of 0 to 255 are scaled to [-1, 1]; pixels are in row-major order. Raises InputError if the grid is out of range.
    """

    NAME, SIDE, CELL_SIDE = "pixels", 16, 4

    def __init__(self, grid: int | None = None) -> None:
        if grid is not None and not 1 <= grid <= MOST_CELLS:
            raise InputError(f"--grid {grid}: expected 1 to {MOST_CELLS} cells per side for pixels")
        self._side = self.SIDE if grid is None else self.CELL_SIDE
        super().__init__(FeatureKind(self.NAME, "1", grid, 3 * self._side**2, "float32"))

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


def image_tensors(
    kind: FeatureKind, images: NDArray[np.float32] | Sequence[NDArray[np.float32] | Regions]
) -> dict[str, Tensor]:
    """The features of images as a model takes them: ``image_features`` or ``image_grid``, float32 (images, *shape).

    Regions, padded with 0, are ``image_regions`` float32 (images, regions, dim), ``region_mask`` bool (images,
    regions), and ``region_boxes`` float32 (images, regions, 4): left, top, right and bottom edge, see `Box`.
    """
    if kind.regions is None:
        return {kind.input_name: torch.from_numpy(np.asarray(images, np.float32).reshape(-1, *kind.shape))}
    regions = [one for one in images if isinstance(one, Regions)]
    counts = torch.tensor([len(one.features) for one in regions])
    return {
        "image_regions": pad_sequence([torch.from_numpy(one.features) for one in regions], batch_first=True),
        "region_mask": torch.arange(int(counts.max())) < counts[:, None],
        "region_boxes": pad_sequence([torch.from_numpy(one.boxes[:, :4]) for one in regions], batch_first=True),
    }
