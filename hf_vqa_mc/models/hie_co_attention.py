"""HieCoAtt* of Chao et al. 2018 (A.3): Lu et al.'s hierarchical co-attention without its classifier, then an MLP."""

from typing import Literal

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.models.co_attention import CoAttentionModel
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import Model, check_sizes
from hf_vqa_mc.models.spatial_attention import check_grid
from hf_vqa_mc.models.vqa_processor import QUESTION_INPUTS


@strict
class HieCoAttentionVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """The sizes of HieCoAtt*; those of its MLP are Chao et al.'s (section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_hie_co_attention"

    image_size: int = 2048
    """dimensions of an image cell: ResNet's last channels"""
    text_size: int = 300
    """dimensions of a word vector"""
    co_attention: Literal["alternating", "parallel"] = "alternating"
    """alternating (default of Lu et al.'s code) or parallel"""
    level_size: int = 512
    """dimensions of embedded words, phrases and cells, of the attentions and of the LSTM (Lu et al.)"""
    lstm_layers: int = 2
    """layers of the question level (Lu et al.'s code)"""
    joint_size: int = 1024
    """dimensions of the joint representation h_s (Lu et al. on VQA; 512 on COCO-QA)"""
    encoder_dropout: float | int = 0.5
    """dropout of all layers before h_s (Lu et al.)"""
    hidden_size: int = 8192
    """units of the hidden layer of the MLP"""
    dropout: float | int = 0.5
    """dropout of the MLP"""

    def validate_sizes(self) -> None:
        """Raise InputError unless sizes are positive."""
        check_sizes(self, "image_size", "text_size", "level_size", "lstm_layers", "joint_size", "hidden_size")


class HieCoAttentionForMultipleChoiceVqa(CoAttentionModel):
    """Co-attention at the levels of words, phrases and question; the joint representation is the MLP's image input."""

    config_class = HieCoAttentionVqaConfig
    base_model_prefix = "hie_co_attention"

    def __init__(self, config: HieCoAttentionVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Linear(config.text_size, config.level_size)
        sizes = {name: getattr(config, name) for name in ("text_size", "hidden_size", "dropout")}
        self.mlp = MlpForMultipleChoiceVqa(MlpVqaConfig(image_size=config.joint_size, **sizes))
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        choice_vectors: Tensor,
        image_grid: Tensor,
        question_vectors: Tensor,
        question_tokens: Tensor,
        question_mask: Tensor,
        choice_mask: Tensor | None = None,
        labels: Tensor | None = None,
        choice_indices: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """Score each question's choices.

        Arguments are those of `MlpForMultipleChoiceVqa.forward`, with image_grid (batch, cells, image_size),
        question_tokens (batch, words, text_size): word vectors in order, and question_mask: bool (batch, words), right
        padded.

        Returns:
            As `MlpForMultipleChoiceVqa`, and ``attentions``: over the image at each level, (batch, cells).

        Raises:
            InputError: image_grid has another shape.
        """
        check_grid(image_grid, self.config.image_size)
        tokens = question_tokens.masked_fill(~question_mask.unsqueeze(-1), 0.0)
        joint, attentions = self.joint(image_grid, self.words(tokens), question_mask)
        output: MultipleChoiceModelOutput = self.mlp(
            choice_vectors, joint, question_vectors, choice_mask, labels, choice_indices
        )
        output.attentions = attentions
        return output


HIE_CO_ATTENTION = Model(
    name="hiecoatt",
    title="HieCoAtt*",
    description="image and question attend to each other at the levels of words, phrases and the whole question; the "
    "result is scored with question and candidate answer by one hidden layer",
    source="Lu et al. 2016; Chao et al. 2018, section 6.1 and supplement, A.3",
    config_class=HieCoAttentionVqaConfig,
    model_class=HieCoAttentionForMultipleChoiceVqa,
    inputs=frozenset(("image_grid", *QUESTION_INPUTS)),
)
