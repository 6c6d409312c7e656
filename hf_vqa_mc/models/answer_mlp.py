"""Multilayer perceptrons that answer from a vocabulary: BoW Q, I and BoW Q + I of Antol et al. 2015."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.models.model import Model, check_sizes

INPUTS = ("image", "question")


@strict
class AnswerMlpVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Inputs and sizes of an MLP; the defaults are BoW Q + I of Antol et al. 2015 (section 5.1)."""

    model_type = "vqa_answer_mlp"

    inputs: list[str] | tuple[str, ...] = INPUTS
    image_size: int = 2048
    """dimensions of image features"""
    bag_size: int = 1030
    """length of a question's bag of words"""
    hidden_sizes: list[int] | tuple[int, ...] = (1000, 1000)
    """units of the hidden layers; none: a linear model"""
    dropout: float | int = 0.5

    def validate_sizes(self) -> None:
        """Raise InputError unless sizes are positive and dropout is in [0, 1)."""
        check_sizes(self, "image_size", "bag_size")
        check_hidden(self.hidden_sizes, self.dropout)

    def validate_inputs(self) -> None:
        """Raise InputError unless inputs are image, question, or both."""
        for name in self.inputs:
            if name not in INPUTS:
                raise unknown_name("input", name, INPUTS)
        if not self.inputs or len(set(self.inputs)) < len(self.inputs):
            raise InputError(f"inputs is {list(self.inputs)}, expected image, question or both")


class AnswerMlpForOpenEndedVqa(PreTrainedModel):  # type: ignore[no-untyped-call]
    """L2-normalised image features and a bag of words, concatenated -> hidden layers (tanh, dropout) -> answers."""

    config_class = AnswerMlpVqaConfig
    base_model_prefix = "answer_mlp"

    def __init__(self, config: AnswerMlpVqaConfig) -> None:
        super().__init__(config)
        sizes = {"image": config.image_size, "question": config.bag_size}
        self.layers = classifier(
            sum(sizes[name] for name in config.inputs), config.hidden_sizes, config.num_labels, config.dropout
        )
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            module.reset_parameters()

    def forward(
        self,
        question_bags: Tensor | None = None,
        image_features: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_bags: (batch, bag_size), if the model sees the question.
            image_features: (batch, image_size), if the model sees the image.
            labels: int64 (batch,): indices of the answers, or (batch, answers): scores in [0, 1].

        Returns:
            ``logits`` (batch, answers); with labels also ``loss``, see `answer_output`.

        Raises:
            InputError: an input of the model is missing.
        """
        given = []
        if "image" in self.config.inputs:
            given.append(functional.normalize(needed(image_features, "image_features", self.config), dim=-1))
        if "question" in self.config.inputs:
            given.append(needed(question_bags, "question_bags", self.config))
        return answer_output(self.layers(torch.cat(given, -1)), labels)


def classifier(
    size: int, hidden_sizes: list[int] | tuple[int, ...], answers: int | None, dropout: float
) -> nn.Sequential:
    """Hidden layers, each with tanh and dropout, and the layer of the answers."""
    layers: list[nn.Module] = []
    for hidden in hidden_sizes:
        layers += [nn.Linear(size, hidden), nn.Tanh(), nn.Dropout(dropout)]
        size = hidden
    return nn.Sequential(*layers, nn.Linear(size, answers or 0))


def answer_output(logits: Tensor, labels: Tensor | None) -> SequenceClassifierOutput:
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
    return SequenceClassifierOutput(loss=loss, logits=logits)


def needed(tensor: Tensor | None, name: str, config: PreTrainedConfig) -> Tensor:
    """The tensor; raises InputError if it is None."""
    if tensor is None:
        raise InputError(f"{config.model_type} needs {name}; found none")
    return tensor


def check_hidden(hidden_sizes: list[int] | tuple[int, ...], dropout: float) -> None:
    """Raise InputError unless sizes are positive and dropout is in [0, 1)."""
    if any(size < 1 for size in hidden_sizes):
        raise InputError(f"hidden_sizes is {list(hidden_sizes)}, expected sizes of 1 or more")
    if not 0 <= dropout < 1:
        raise InputError(f"dropout is {dropout}, expected 0 or more, and less than 1")


def _declared(name: str, title: str, description: str, *inputs: str) -> Model:
    seen = {"image": "image_features", "question": "question_bags"}
    return Model(
        name=name,
        title=title,
        description=description,
        source="Antol et al. 2015, section 5.1",
        config_class=AnswerMlpVqaConfig,
        model_class=AnswerMlpForOpenEndedVqa,
        inputs=frozenset(seen[one] for one in inputs),
        preset={"inputs": list(inputs)},
        open_ended=True,
    )


BOW_Q = _declared("bow-q", "BoW Q", "an MLP on the bag of the question's words", "question")
IMAGE = _declared("image", "I", "an MLP that sees only the image", "image")
BOW_Q_I = _declared("bow-q-i", "BoW Q + I", "an MLP on image and bag of words", "image", "question")
"""Trained as a whole; Antol et al. concatenate the first hidden layers of two networks trained separately."""
