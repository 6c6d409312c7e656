"""Object detectors of transformers as backbones: the regions of an image, each with its box, score and label."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind, Network, Precision, RegionKind, Regions
from hf_vqa_mc.extraction.model_files import ModelFiles, check_weights

PROBE_SIZE = (96, 64)  # width and height of an image that is encoded to learn the size of the features


class Detector(Network):
    """A detector loaded with AutoModelForObjectDetection and AutoImageProcessor: DETR, RT-DETR, YOLOS and others.

    A region is an object query. Its features are the query's last hidden state, from which the detector predicts box
    and label, as in GRIT (Nguyen et al. 2022); Anderson et al. 2018 pool the feature map of a Faster R-CNN over each
    box. Queries are selected by their limits, but without non-maximum suppression: such detectors learn to find each
    object once.

    Images are never padded, and only images of the same size share a pass: padding changes the features of DETR.
    """

    batch_size = 8

    def __init__(
        self, name: str, limits: RegionKind, *, device: str | None = None, precision: Precision | None = None
    ) -> None:
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
