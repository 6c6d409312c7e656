"""LSTM Q, LSTM Q + I and deeper LSTM Q + norm I of Antol et al. 2015."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output, check_hidden, classifier, needed
from hf_vqa_mc.models.model import Model, VqaModel, check_sizes
from hf_vqa_mc.models.prefix_lstm import question_states
from hf_vqa_mc.models.question_words import PADDING
from hf_vqa_mc.recipe import ANTOL, OPEN_ENDED, Recipe


@strict
class QuestionLstmVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Sizes of an LSTM; the defaults are LSTM Q of Antol et al. 2015 (section 5.1)."""

    model_type = "vqa_question_lstm"

    sees_image: bool = False
    image_size: int = 2048
    """dimensions of image features"""
    normalise_image: bool = False
    """whether image features are L2-normalised"""
    vocabulary_size: int = 10000
    """number of word indices"""
    word_size: int = 300
    """dimensions of a learned word vector"""
    lstm_size: int = 512
    """units of each layer of the LSTM"""
    lstm_layers: int = 1
    """layers of the LSTM"""
    joint_size: int = 0
    """units of the layer (tanh) after the LSTM, which the image is projected to; 0: no such layer, and the image is
    projected linearly to the size of the LSTM's states"""
    hidden_sizes: list[int] | tuple[int, ...] = ()
    """units of the classifier's hidden layers; the paper's is a softmax layer"""
    fusion: Literal["product", "concatenation"] = "product"
    """of question and image"""
    activation: Literal["tanh", "relu", "elu"] = "tanh"
    """of the classifier's hidden layers"""
    dropout: float | int = 0.5
    """of the projected question and image, and of the classifier's hidden layers"""

    def validate_sizes(self) -> None:
        """Raise InputError unless sizes are positive and dropout is in [0, 1)."""
        check_sizes(self, "image_size", "vocabulary_size", "word_size", "lstm_size", "lstm_layers")
        check_hidden(self)


class QuestionLstmForOpenEndedVqa(VqaModel):
    """Word vectors (tanh) -> LSTM -> its last cell and hidden states, times the image -> classifier."""

    config_class = QuestionLstmVqaConfig
    base_model_prefix = "question_lstm"

    def __init__(self, config: QuestionLstmVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.lstm = nn.LSTM(config.word_size, config.lstm_size, config.lstm_layers, batch_first=True)
        states = 2 * config.lstm_size * config.lstm_layers
        joint = config.joint_size or states
        self.question = nn.Linear(states, joint) if config.joint_size else None
        self.image = nn.Linear(config.image_size, joint) if config.sees_image else None
        self.dropout = nn.Dropout(config.dropout)
        if config.sees_image and config.fusion == "concatenation":
            joint *= 2
        self.classifier = classifier(joint, config.hidden_sizes, config.num_labels, config.dropout, config.activation)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self, question_indices: Tensor, image_features: Tensor | None = None, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_indices: int64 (batch, words), right-padded with 0; each question has one word at least.
            image_features: (batch, image_size), if the model sees the image.
            labels: int64 (batch,): indices of the answers, or (batch, answers): scores in [0, 1].

        Returns:
            ``logits`` (batch, answers); with labels also ``loss``, see `answer_output`.

        Raises:
            InputError: the image is missing, or a question has no words.
        """
        states = question_states(self.lstm, self.words, question_indices)
        joint = states if self.question is None else self.dropout(self.question(self.dropout(states)).tanh())
        if self.image is not None:
            image = needed(image_features, "image_features", self.config)
            image = self.image(functional.normalize(image, dim=-1) if self.config.normalise_image else image)
            image = image if self.question is None else self.dropout(image.tanh())
            joint = joint * image if self.config.fusion == "product" else torch.cat([joint, image], -1)
        return answer_output(self.classifier(joint), labels)


def _declared(
    name: str,
    title: str,
    description: str,
    source: str = "Antol et al. 2015, section 5.1",
    settings: Mapping[str, object] | None = None,
    recipe: Recipe = OPEN_ENDED,
    **preset: object,
) -> Model:
    sees_image = bool(preset.get("sees_image"))
    return Model(
        name=name,
        title=title,
        description=description,
        source=source,
        config_class=QuestionLstmVqaConfig,
        model_class=QuestionLstmForOpenEndedVqa,
        inputs=frozenset(("question_indices", *(["image_features"] if sees_image else []))),
        preset={"sees_image": sees_image, "joint_size": 0, "fusion": "product", **preset},
        settings=settings or {},
        recipe=recipe,
        open_ended=True,
    )


LSTM_Q = _declared("lstm-q", "LSTM Q", "an LSTM on the question")
LSTM_Q_I = _declared("lstm-q-i", "LSTM Q + I", "an LSTM on the question times the projected image", sees_image=True)
_DEEPER: dict[str, Any] = {"word_size": 200, "lstm_layers": 2, "joint_size": 1024, "recipe": ANTOL}
DEEPER_LSTM_Q = _declared("deeper-lstm-q", "deeper LSTM Q", "a two-layer LSTM on the question", **_DEEPER)
DEEPER_LSTM_Q_NORM_I = _declared(
    "deeper-lstm-q-norm-i",
    "deeper LSTM Q + norm I",
    "a two-layer LSTM on the question times the projected, L2-normalised image",
    sees_image=True,
    normalise_image=True,
    **_DEEPER,
)

_GQA: dict[str, Any] = {
    "source": "Hudson and Manning 2019, section 4.2",
    "settings": {"hidden_sizes": [512], "activation": "elu"},
    "fusion": "concatenation",
}
"""The paper reports no sizes; 512 units, with ELU, are those of its MAC network's output."""
LSTM = _declared("lstm", "LSTM", "an LSTM on the question", **_GQA)
CNN_LSTM = _declared("cnn-lstm", "CNN + LSTM", "an LSTM on the question, and the image", sees_image=True, **_GQA)
