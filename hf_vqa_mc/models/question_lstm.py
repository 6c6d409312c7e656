"""LSTM Q, LSTM Q + I and deeper LSTM Q + norm I of Antol et al. 2015.

On CPUs the LSTM computes the states of each distinct prefix of a batch's questions once: 500 questions of VQA v1 have
some 3,100 words, 1,900 distinct prefixes and 700 distinct words. A training step takes half the time of `nn.LSTM`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output, classifier, needed
from hf_vqa_mc.models.model import Model, QuestionImageConfig, VqaModel
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import ANTOL, HUDSON, OPEN_ENDED, Recipe


@strict
class QuestionLstmVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of an LSTM; the defaults are LSTM Q of Antol et al. 2015 (section 5.1)."""

    model_type = "vqa_question_lstm"

    sees_image: bool = False
    normalise_image: bool = False  #: whether image features are L2-normalised
    word_size: int = 300  #: dimensions of a learned word vector
    lstm_size: int = 512  #: units of each layer of the LSTM
    lstm_layers: int = 1  #: layers of the LSTM
    joint_size: int = 0
    """units of the layer (tanh) after the LSTM, which the image is projected to; 0: no such layer, and the image is
    projected linearly to the size of the LSTM's states"""
    hidden_sizes: list[int] | tuple[int, ...] = ()  #: units of the classifier's hidden layers; the paper has none
    fusion: Literal["product", "concatenation"] = "product"  #: of question and image
    activation: Literal["tanh", "relu", "elu"] = "tanh"  #: of the classifier's hidden layers
    dropout: float | int = 0.5  #: of the projected question and image, and of the classifier's hidden layers

    may_be_zero = ("joint_size",)


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
        """As `AttendingModel.forward`, with image_features (batch, image_size) if the model sees the image."""
        states = question_states(self.lstm, self.words, question_indices)
        joint = states if self.question is None else self.dropout(self.question(self.dropout(states)).tanh())
        if self.image is not None:
            image = needed(image_features, "image_features", self.config)
            image = self.image(functional.normalize(image, dim=-1) if self.config.normalise_image else image)
            image = image if self.question is None else self.dropout(image.tanh())
            joint = joint * image if self.config.fusion == "product" else torch.cat([joint, image], -1)
        return answer_output(self.classifier(joint), labels)


def prefixes_of(question_indices: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    """The distinct prefixes of questions, int64 (batch, words), right-padded; the shortest first.

    Returns the last word of each prefix; for each length, the index of each prefix's prefix without the last word; and
    the index of the prefix that is the whole question, (batch,).
    """
    lengths = (question_indices != PADDING).sum(1)
    vocabulary = int(question_indices.max()) + 1
    rows, total = torch.arange(len(lengths)), 0
    within, questions = torch.zeros_like(lengths), torch.zeros_like(lengths)
    words, parents = [], []
    for position in range(int(lengths.max())):
        rows = rows[lengths[rows] > position]
        pairs = within[rows] * vocabulary + question_indices[rows, position]
        distinct, within[rows] = torch.unique(pairs, return_inverse=True)
        questions[rows] = within[rows] + total
        total += len(distinct)
        words.append(distinct % vocabulary)
        parents.append(distinct // vocabulary)
    return torch.cat(words), parents, questions


def last_states(lstm: nn.LSTM, words: nn.Embedding, question_indices: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden and cell states after the last word, each (layers, batch, size); word vectors are activated by tanh."""
    last_words, parents, questions = prefixes_of(question_indices)
    distinct, inverse = torch.unique(last_words, return_inverse=True)
    inputs, hidden_states, cell_states = words(distinct).tanh(), [], []
    for layer in range(lstm.num_layers):
        weight, recurrent, bias, other_bias = lstm.all_weights[layer]
        gates = functional.linear(inputs, weight, bias + other_bias)
        gates = gates if layer else gates.index_select(0, inverse)
        inputs, cells = _recurrence(gates, recurrent, parents)
        hidden_states.append(inputs.index_select(0, questions))
        cell_states.append(cells.index_select(0, questions))
    return torch.stack(hidden_states), torch.stack(cell_states)


def question_states(lstm: nn.LSTM, words: nn.Embedding, question_indices: Tensor) -> Tensor:
    """Cell and hidden states of all layers after the last word, (batch, states), also on GPUs, see `last_states`."""
    if question_indices.device.type == "cpu":
        hidden, cell = last_states(lstm, words, question_indices)
    else:
        hidden, cell = lstm(packed(words(question_indices).tanh(), question_indices))[1]
    return torch.cat([*cell, *hidden], -1)


def _recurrence(gates: Tensor, recurrent: Tensor, parents: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Hidden and cell states of all prefixes of a layer, from what the last word adds to its gates."""
    hidden_states = cell_states = [gates.new_zeros(1, recurrent.shape[1])]  # of no words
    for values, parent in zip(torch.split(gates, [len(one) for one in parents]), parents, strict=True):
        values = torch.addmm(values, hidden_states[-1].index_select(0, parent), recurrent.T)
        enter, forget, new, out = values.chunk(4, 1)
        cell = enter.sigmoid() * new.tanh() + forget.sigmoid() * cell_states[-1].index_select(0, parent)
        hidden_states = [*hidden_states, out.sigmoid() * cell.tanh()]
        cell_states = [*cell_states, cell]
    return torch.cat(hidden_states[1:]), torch.cat(cell_states[1:])


def _declared(
    name: str,
    title: str,
    description: str,
    source: str = "Antol et al. 2015, section 5.1",
    settings: Mapping[str, object] | None = None,
    recipe: Recipe = OPEN_ENDED,
    **preset: object,
) -> Model:
    preset = {"sees_image": False, "joint_size": 0, "fusion": "product"} | preset
    inputs = frozenset(("question_indices", *(["image_features"] if preset["sees_image"] else [])))
    classes = QuestionLstmVqaConfig, QuestionLstmForOpenEndedVqa
    return Model(name, title, description, source, *classes, inputs, preset, settings or {}, recipe, open_ended=True)


LSTM_Q = _declared("lstm-q", "LSTM Q", "an LSTM on the question")
LSTM_Q_I = _declared("lstm-q-i", "LSTM Q + I", "an LSTM on the question times the projected image", sees_image=True)
_DEEPER: dict[str, Any] = {"word_size": 200, "lstm_layers": 2, "joint_size": 1024, "recipe": ANTOL}
DEEPER_LSTM_Q = _declared("deeper-lstm-q", "deeper LSTM Q", "a two-layer LSTM on the question", **_DEEPER)
_DEEPER |= {"sees_image": True, "normalise_image": True}
_WHAT = "a two-layer LSTM on the question times the projected, L2-normalised image"
DEEPER_LSTM_Q_NORM_I = _declared("deeper-lstm-q-norm-i", "deeper LSTM Q + norm I", _WHAT, **_DEEPER)

_GQA: dict[str, Any] = {
    "source": "Hudson and Manning 2019, section 4.2",
    "settings": {"hidden_sizes": [512], "activation": "elu"},
    "fusion": "concatenation",
    "recipe": HUDSON,
}
"""The paper reports no sizes; 512 units, with ELU, are those of its MAC network's output."""
LSTM = _declared("lstm", "LSTM", "an LSTM on the question", **_GQA)
CNN_LSTM = _declared("cnn-lstm", "CNN + LSTM", "an LSTM on the question, and the image", sees_image=True, **_GQA)
