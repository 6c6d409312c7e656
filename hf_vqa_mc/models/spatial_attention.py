"""Attention* of Chao et al. 2018 (supplement, A.2): the question chooses where to look, the rest is MLP-IQA."""

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.guided_attention import GuidedAttention
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig


@strict
class SpatialAttentionVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """The sizes of Attention*; those of its MLP are the paper's (section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_spatial_attention"

    image_size: int = 2048
    """numbers of a cell of the image grid: ResNet's last channels"""
    text_size: int = 300
    """numbers of a word vector"""
    attention_size: int = 512
    """units between cells, question and attention; ours, as the paper gives none: HieCoAtt's 512"""
    hidden_size: int = 8192
    dropout: float | int = 0.5

    def validate_sizes(self) -> None:
        """Nothing is of size 0."""
        for name in ("image_size", "text_size", "attention_size", "hidden_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, expected 1 or more")


class SpatialAttentionForMultipleChoiceVqa(PreTrainedModel):  # type: ignore[no-untyped-call]
    """One attention over the image grid, guided by the question's average word vector; its image goes into MLP-IQA.

    Where the attention is even, the model is MLP-IQA on the average cell, which is what ResNet's pooled features are.
    """

    config_class = SpatialAttentionVqaConfig
    base_model_prefix = "spatial_attention"

    def __init__(self, config: SpatialAttentionVqaConfig) -> None:
        super().__init__(config)
        self.attention = GuidedAttention(config.image_size, config.text_size, config.attention_size)
        self.mlp = MlpForMultipleChoiceVqa(
            MlpVqaConfig(
                image_size=config.image_size,
                text_size=config.text_size,
                hidden_size=config.hidden_size,
                dropout=config.dropout,
            )
        )
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """As torch does; the MLP has its own."""
        if isinstance(module, nn.Linear):
            module.reset_parameters()

    def forward(
        self,
        choice_vectors: Tensor,
        image_grid: Tensor,
        question_vectors: Tensor,
        choice_mask: Tensor | None = None,
        labels: Tensor | None = None,
        choice_places: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """Scores each question's choices.

        Args:
            choice_vectors: (batch, choices, text_size): average word vectors; with choice_places
                (different choices, text_size), each once.
            image_grid: (batch, cells, image_size)
            question_vectors: (batch, text_size): average word vectors.
            choice_mask: bool (batch, choices): which choices there are; all unless given.
            labels: int64 (batch,): the places of the targets, for the loss.
            choice_places: int64 (batch, choices): which row of choice_vectors each choice is.

        Returns:
            As `MlpForMultipleChoiceVqa`, and ``attentions``: one, (batch, cells).

        Raises:
            InputError: the image is no grid.
        """
        check_grid(image_grid, self.config.image_size)
        attended, attention = self.attention(image_grid, functional.normalize(question_vectors, dim=-1))
        output: MultipleChoiceModelOutput = self.mlp(
            choice_vectors, attended, question_vectors, choice_mask, labels, choice_places
        )
        output.attentions = (attention,)
        return output


def check_grid(image_grid: Tensor, size: int) -> None:
    """Refuses what is no image grid (batch, cells, size), such as pooled features.

    Raises:
        InputError: the shape is another.
    """
    if image_grid.ndim != 3 or image_grid.shape[1] < 1 or image_grid.shape[2] != size:
        raise InputError(
            f"image_grid has the shape {tuple(image_grid.shape)}, expected (batch, cells, {size}); "
            "vqa-mc features --grid extracts image grids"
        )
