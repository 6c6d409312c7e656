"""Attention over the cells or regions of an image, or over words, as the models share it; Attention*."""

from abc import abstractmethod
from math import isqrt

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import MultipleChoiceModelOutput, SequenceClassifierOutput

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import Model, VqaConfig, VqaModel


class GuidedAttention(nn.Module):
    """Additive attention, softmax of w·tanh(W_x·x + W_g·guide + b), and the weighted average of the positions.

    As in stacked attention (Yang et al. 2016) and a step of co-attention (Lu et al. 2016). A position is an image cell
    or a word; guide_size is None without a guide; dropout is that of the tanh layer.
    """

    def __init__(self, size: int, guide_size: int | None, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.place = nn.Linear(size, hidden_size)
        self.guide = None if guide_size is None else nn.Linear(guide_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)  # a bias would cancel in the softmax
        self.dropout = dropout

    def forward(
        self, positions: Tensor, guide: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The average (batch, size) of positions (batch, positions, size), and the weights (batch, positions).

        ``guide`` is (batch, guide_size), ``mask`` bool (batch, positions); by default all are valid.
        """
        hidden = self.place(positions)  # (batch, positions, hidden)
        if self.guide is not None:
            hidden = hidden + self.guide(guide).unsqueeze(1)
        hidden = functional.dropout(torch.tanh(hidden), self.dropout, self.training)
        return average(positions, self.score(hidden).squeeze(-1), mask)


def average(positions: Tensor, scores: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Average weighted by the softmax of scores (batch, positions), and the weights; 0 if no position is valid."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is None:
        attention = scores.softmax(-1)
    else:
        attention = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return (attention.to(positions.dtype).unsqueeze(1) @ positions).squeeze(1), attention


class AttendingModel(VqaModel):  # type: ignore[no-untyped-call]
    """An open-ended model that attends to the cells of an image, or to its regions."""

    def forward(
        self,
        question_indices: Tensor,
        image_grid: Tensor | None = None,
        labels: Tensor | None = None,
        *,
        image_regions: Tensor | None = None,
        region_mask: Tensor | None = None,
        region_boxes: Tensor | None = None,
        image_features: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_indices: int64 (batch, words), right-padded with 0; each question has one word at least.
            image_grid: (batch, cells, image_size), in row-major order.
            labels: see `answer_output`.
            image_regions: (batch, regions, image_size), instead of image_grid.
            region_mask: bool (batch, regions); by default all are valid.
            region_boxes: not used.
            image_features: (batch, image_size), instead of image_grid for a model without attention.

        Returns:
            ``logits`` (batch, answers); with labels also ``loss``; ``attentions`` of each step, (batch, positions).
        """
        if image_features is not None:
            image_grid = image_features[:, None]
        cells = image_positions(self.config.image_size, image_grid, image_regions, region_mask)
        return self._answer(question_indices, cells, region_mask, labels)

    @abstractmethod
    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        """The output of ``forward`` for the cells or regions and the mask of `image_positions`."""


def image_positions(
    size: int, image_grid: Tensor | None, image_regions: Tensor | None, region_mask: Tensor | None
) -> Tensor:
    """Cells or regions of images, (batch, positions, size), 0 in padding; raises InputError for other shapes."""
    given = image_grid if image_regions is None else image_regions
    if given is None or (image_grid is not None and image_regions is not None):
        raise InputError("expected one of image_grid and image_regions")
    check_grid(given, size, "image_grid" if image_regions is None else "image_regions")
    return given if region_mask is None else given.masked_fill(~region_mask[..., None], 0)


def check_grid(image_grid: Tensor, size: int, name: str = "image_grid") -> None:
    """Raise InputError unless the shape of an image grid, or of regions, is (batch, cells, size)."""
    shape = tuple(image_grid.shape)
    if len(shape) != 3 or shape[1] < 1 or shape[2] != size:
        remedy = "--grid extracts image grids" if name == "image_grid" else "--detector finds regions"
        raise InputError(f"{name} has the shape {shape}, expected (batch, cells, {size}); vqa-mc features {remedy}")


def side_of(image_grid: Tensor) -> int:
    """The number of cells per side; raises InputError unless the grid is square."""
    side = isqrt(cells := image_grid.shape[1])
    if side**2 != cells:
        raise InputError(f"image_grid has {cells} cells, expected a square grid")
    return side


@strict
class SpatialAttentionVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """The sizes of Attention*; those of its MLP are Chao et al.'s (2018, section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_spatial_attention"

    image_size: int = 2048  #: dimensions of an image cell: ResNet's last channels
    text_size: int = 300  #: dimensions of a word vector
    attention_size: int = 512  #: units of the attention; HieCoAtt's 512, since the paper does not report it
    hidden_size: int = 8192  #: units of the hidden layer of the MLP
    dropout: float | int = 0.5  #: of the MLP


class SpatialAttentionForMultipleChoiceVqa(VqaModel):
    """Attention over the image grid, guided by the question's average word vector; its average is MLP-IQA's image.

    With uniform attention the model is MLP-IQA on the mean of the cells, as are ResNet's pooled features.
    """

    config_class = SpatialAttentionVqaConfig
    base_model_prefix = "spatial_attention"

    def __init__(self, config: SpatialAttentionVqaConfig) -> None:
        super().__init__(config)
        self.attention = GuidedAttention(config.image_size, config.text_size, config.attention_size)
        sizes = {name: getattr(config, name) for name in ("image_size", "text_size", "hidden_size", "dropout")}
        self.mlp = MlpForMultipleChoiceVqa(MlpVqaConfig(**sizes))
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        choice_vectors: Tensor,
        image_grid: Tensor,
        question_vectors: Tensor,
        choice_mask: Tensor | None = None,
        labels: Tensor | None = None,
        choice_indices: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """As `MlpForMultipleChoiceVqa.forward`, with image_grid (batch, cells, image_size); has ``attentions``."""
        check_grid(image_grid, self.config.image_size)
        attended, attention = self.attention(image_grid, functional.normalize(question_vectors, dim=-1))
        output: MultipleChoiceModelOutput = self.mlp(
            choice_vectors, attended, question_vectors, choice_mask, labels, choice_indices
        )
        output.attentions = (attention,)
        return output


ATTENTION = Model(
    name="attention",
    title="Attention*",
    description="attention over the image guided by the question, then as MLP-IQA",
    source="Chao et al. 2018, section 5.2 and supplement, A.2",
    config_class=SpatialAttentionVqaConfig,
    model_class=SpatialAttentionForMultipleChoiceVqa,
    inputs=frozenset(("image_grid", "question_vectors")),
)
