"""Attention* of Chao et al. 2018 (supplement, A.2): spatial attention guided by the question, then MLP-IQA."""

from huggingface_hub.dataclasses import strict
from torch import Tensor
from torch.nn import functional
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.models.attention import GuidedAttention, check_grid
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import Model, VqaConfig, VqaModel


@strict
class SpatialAttentionVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """The sizes of Attention*; those of its MLP are the paper's (section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_spatial_attention"

    image_size: int = 2048
    """dimensions of an image cell: ResNet's last channels"""
    text_size: int = 300
    """dimensions of a word vector"""
    attention_size: int = 512
    """units of the attention; HieCoAtt's 512, since the paper does not report it"""
    hidden_size: int = 8192
    """units of the hidden layer of the MLP"""
    dropout: float | int = 0.5
    """of the MLP"""


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
        """Score each question's choices.

        Arguments are those of `MlpForMultipleChoiceVqa.forward`, with image_grid (batch, cells, image_size).

        Returns:
            As `MlpForMultipleChoiceVqa`, and ``attentions``: one, (batch, cells).

        Raises:
            InputError: image_grid has another shape.
        """
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
    source="Chao et al. 2018, section 6.1 and supplement, A.2",
    config_class=SpatialAttentionVqaConfig,
    model_class=SpatialAttentionForMultipleChoiceVqa,
    inputs=frozenset(("image_grid", "question_vectors")),
)
