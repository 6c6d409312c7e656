"""Linear models and multilayer perceptrons that answer from a vocabulary (Antol, Kafle and Hudson)."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.model import Model, VqaConfig, VqaModel
from hf_vqa_mc.recipe import HUDSON, OPEN_ENDED, Recipe

SEEN = {
    "image": ("image_features", "image_size"),
    "question": ("question_bags", "bag_size"),
    "question_vector": ("question_vectors", "text_size"),
    "caption": ("caption_bags", "caption_size"),
}
"""What a model sees to its input and the setting of its size."""
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}


@strict
class AnswerMlpVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Inputs and sizes of an MLP; the defaults are BoW Q + I of Antol et al. 2015 (section 5.1)."""

    model_type = "vqa_answer_mlp"

    inputs: list[str] | tuple[str, ...] = ("image", "question")
    separate: bool = False  #: whether each input has a first hidden layer of a separately trained model
    image_size: int = 2048  #: dimensions of image features
    bag_size: int = 1030  #: length of a question's bag of words
    text_size: int = 300  #: dimensions of a question's vector
    caption_size: int = 1000  #: words of captions
    hidden_sizes: list[int] | tuple[int, ...] = (1000, 1000)  #: units of the hidden layers; none: a linear model
    activation: Literal["tanh", "relu", "elu"] = "tanh"
    dropout: float | int = 0.5  #: of the hidden layers

    may_be_zero = ("bag_size", "caption_size")  # of what the model does not see

    def validate_separate(self) -> None:
        """Raise InputError if inputs have first layers of their own, and these have no size."""
        if self.separate and not self.hidden_sizes:
            raise InputError("hidden_sizes is empty; expected the size of the first hidden layer of each input")


class AnswerMlpForOpenEndedVqa(VqaModel):
    """Inputs (images L2-normalised), concatenated -> hidden layers (activation, dropout) -> answers.

    With separate first layers: each input -> its first hidden layer, which is not trained; these are concatenated.
    """

    config_class = AnswerMlpVqaConfig
    base_model_prefix = "answer_mlp"

    def __init__(self, config: AnswerMlpVqaConfig) -> None:
        super().__init__(config)
        sizes = {name: getattr(config, SEEN[name][1]) for name in config.inputs}
        hidden = list(config.hidden_sizes)
        self.first = nn.ModuleDict()
        if config.separate:
            first = hidden.pop(0)
            self.first = nn.ModuleDict({name: nn.Linear(size, first) for name, size in sizes.items()})
            self.first.requires_grad_(False)
            sizes = dict.fromkeys(sizes, first)
        self.activation = ACTIVATIONS[config.activation]()
        self.dropout = nn.Dropout(config.dropout)
        self.layers = classifier(sum(sizes.values()), hidden, config.num_labels, config.dropout, config.activation)
        self.post_init()  # type: ignore[no-untyped-call]

    def take_first_layer(self, other: PreTrainedModel, name: str) -> None:
        """Copy the first hidden layer of a model with one input, ``name`` in messages; raises InputError if others."""
        ((seen, own),) = ((one, layer) for one, layer in self.first.items() if [one] == list(other.config.inputs))
        size, activation = [*other.config.hidden_sizes, 0][0], other.config.activation
        if (size, activation) != (self.config.hidden_sizes[0], self.config.activation):
            raise InputError(
                f"{name} has a first layer of {size} units with {activation}; expected {self.config.hidden_sizes[0]} "
                f"with {self.config.activation} for {seen}: set hidden_sizes"
            )
        own.load_state_dict(other.get_submodule("layers.0").state_dict())

    def forward(
        self,
        question_bags: Tensor | None = None,
        question_vectors: Tensor | None = None,
        caption_bags: Tensor | None = None,
        image_features: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_bags: (batch, bag_size), if the model sees "question".
            question_vectors: (batch, text_size), if it sees "question_vector".
            caption_bags: (batch, caption_size), if it sees "caption".
            image_features: (batch, image_size), if it sees "image".
            labels: int64 (batch,): indices of the answers, or (batch, answers): scores in [0, 1].

        Returns:
            ``logits`` (batch, answers); with labels also ``loss``, see `answer_output`.
        """
        tensors = {
            "image_features": image_features,
            "question_bags": question_bags,
            "question_vectors": question_vectors,
            "caption_bags": caption_bags,
        }
        given = []
        for name in self.config.inputs:
            value = needed(tensors[SEEN[name][0]], SEEN[name][0], self.config)
            if name == "image":
                value = functional.normalize(value, dim=-1)
            if self.config.separate:
                value = self.dropout(self.activation(self.first[name](value)))
            given.append(value)
        return answer_output(self.layers(torch.cat(given, -1)), labels)


def classifier(
    size: int, hidden_sizes: list[int] | tuple[int, ...], answers: int | None, dropout: float, activation: str = "tanh"
) -> nn.Sequential:
    """Hidden layers, each with activation and dropout, and the layer of the answers."""
    layers: list[nn.Module] = []
    for hidden in hidden_sizes:
        layers += [nn.Linear(size, hidden), ACTIVATIONS[activation](), nn.Dropout(dropout)]
        size = hidden
    return nn.Sequential(*layers, nn.Linear(size, answers or 0))


def answer_output(
    logits: Tensor, labels: Tensor | None, attentions: tuple[Tensor, ...] | None = None
) -> SequenceClassifierOutput:
    """The output of an open-ended model.

    The loss is cross-entropy for indices of answers; for scores of all answers it is the binary cross-entropy, summed
    over the answers and averaged over the questions.
    """
    loss = None
    if labels is not None:
        if labels.is_floating_point():
            loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / len(labels)
        else:
            loss = functional.cross_entropy(logits, labels)
    return SequenceClassifierOutput(loss=loss, logits=logits, attentions=attentions)


def needed(tensor: Tensor | None, name: str, config: PreTrainedConfig) -> Tensor:
    """The tensor; raises InputError if it is None."""
    if tensor is None:
        raise InputError(f"{config.model_type} needs {name}; found none")
    return tensor


def _declared(
    name: str,
    title: str,
    description: str,
    *inputs: str,
    source: str = "Antol et al. 2015, section 5.1",
    settings: Mapping[str, object] | None = None,
    recipe: Recipe = OPEN_ENDED,
    **preset: object,
) -> Model:
    taken = source, AnswerMlpVqaConfig, AnswerMlpForOpenEndedVqa, frozenset(SEEN[one][0] for one in inputs)
    preset = {"inputs": list(inputs), "separate": False, "activation": "tanh"} | preset
    return Model(name, title, description, *taken, preset, settings or {}, recipe, open_ended=True)


BOW_Q = _declared("bow-q", "BoW Q", "an MLP on the bag of the question's words", "question")
IMAGE = _declared("image", "I", "an MLP that sees only the image", "image")
CAPTION = _declared("caption", "C", "an MLP on the bag of a caption's words", "caption")
BOW_Q_I = _declared("bow-q-i", "BoW Q + I", "an MLP on image and bag of words", "image", "question")
"""Trained as a whole, unlike ``concat-q-i``."""


def _separate(name: str, title: str, *inputs: str) -> Model:
    description = f"an MLP on the first hidden layers of separately trained networks for {', '.join(inputs)}"
    return _declared(name, title, description, *inputs, separate=True)


CONCAT_Q_I = _separate("concat-q-i", "Q + I", "question", "image")
CONCAT_Q_C = _separate("concat-q-c", "Q + C", "question", "caption")
CONCAT_Q_I_C = _separate("concat-q-i-c", "Q + I + C", "question", "image", "caption")

_LINEAR: dict[str, Any] = {"source": "Kafle and Kanan 2017, section 5", "hidden_sizes": []}
_BOTH, _WHAT = ("question_vector", "image"), "on the question's vector and the image"
LINEAR_Q = _declared("linear-q", "QUES", "a linear model on the question's vector", "question_vector", **_LINEAR)
LINEAR_I = _declared("linear-i", "IMG", "a linear model on the image", "image", **_LINEAR)
LINEAR_Q_I = _declared("linear-q-i", "Q + I", f"a linear model {_WHAT}", *_BOTH, **_LINEAR)
_MLP_Q_I: dict[str, Any] = {"settings": {"hidden_sizes": [6000, 4000, 2000], "dropout": 0.3}, "activation": "relu"}
MLP_Q_I = _declared("mlp-q-i", "MLP", f"an MLP {_WHAT}", *_BOTH, source=_LINEAR["source"], **_MLP_Q_I)
"""The vectors of the paper are skip-thought's."""
_CNN: dict[str, Any] = {"settings": {"hidden_sizes": [512]}, "activation": "elu", "recipe": HUDSON}
CNN = _declared(
    "cnn", "CNN", "an MLP that sees only the image", "image", source="Hudson and Manning 2019, section 4.2", **_CNN
)
"""The paper reports no size; 512 units, with ELU, are those of its MAC network's output."""
