"""HieCoAtt of Lu et al. 2016 with its own classifier of answers, as in Goyal et al. 2017."""

from typing import Literal

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.co_attention import CoAttentionModel
from hf_vqa_mc.models.model import Model, check_sizes
from hf_vqa_mc.models.question_words import PADDING
from hf_vqa_mc.models.spatial_attention import AttendingModel
from hf_vqa_mc.recipe import Recipe


@strict
class CoAttentionVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Sizes of HieCoAtt; the defaults are those of Lu et al. 2016 (section 4.2) and its code."""

    model_type = "vqa_hie_co_attention"

    image_size: int = 2048
    """dimensions of an image cell"""
    vocabulary_size: int = 10000
    """number of word indices"""
    co_attention: Literal["alternating", "parallel"] = "alternating"
    """alternating (default of Lu et al.'s code) or parallel"""
    level_size: int = 512
    """dimensions of words, phrases and cells, of the attentions and of the LSTM"""
    lstm_layers: int = 2
    """layers of the question level (Lu et al.'s code)"""
    joint_size: int = 1024
    """dimensions of the joint representation h_s (on VQA; 512 on COCO-QA)"""
    encoder_dropout: float | int = 0.5
    """of all layers, and of h_s"""

    def validate_sizes(self) -> None:
        """Raise InputError unless sizes are positive."""
        check_sizes(self, "image_size", "vocabulary_size", "level_size", "lstm_layers", "joint_size")


class CoAttentionForOpenEndedVqa(CoAttentionModel, AttendingModel):
    """Co-attention at the levels of words, phrases and question, then a linear classifier of answers."""

    config_class = CoAttentionVqaConfig
    base_model_prefix = "co_attention"

    def __init__(self, config: CoAttentionVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary_size, config.level_size, PADDING)
        self.classifier = nn.Linear(config.joint_size, config.num_labels or 0)
        self.post_init()  # type: ignore[no-untyped-call]

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        words = self.words(question_indices)
        joint, attentions = self.joint(cells, words, question_indices != PADDING, mask)
        dropped = functional.dropout(joint, float(self.config.encoder_dropout), self.training)
        return answer_output(self.classifier(dropped), labels, attentions)


HIE_CO_ATTENTION = Model(
    name="hiecoatt-answers",
    title="HieCoAtt",
    description="image and question attend to each other at the levels of words, phrases and the whole question",
    source="Lu et al. 2016",
    config_class=CoAttentionVqaConfig,
    model_class=CoAttentionForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_grid", "image_regions")),
    recipe=Recipe("rmsprop", 4e-4, 300, 15.0),
    open_ended=True,
)
"""Optimizer, rate and batch size are the paper's (section 4.2), which trains up to 256 epochs and stops early; the
number of epochs is ours."""
