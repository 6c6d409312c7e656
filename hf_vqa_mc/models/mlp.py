"""MLP-A, -IA, -QA and -IQA of Chao et al. 2018: one hidden layer scores each candidate answer independently."""

from typing import Any, cast

import numpy as np
import torch
from huggingface_hub.dataclasses import strict
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.model import Model, VqaConfig

INPUTS = ("image", "question", "answer")  # possible inputs; a model sees the answer and any of the others


@strict
class MlpVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Inputs and sizes of an MLP; the defaults are the paper's MLP-IQA (section 3.1; supplement, A.1)."""

    model_type = "vqa_mc_mlp"

    inputs: list[str] | tuple[str, ...] = INPUTS
    image_size: int = 2048  #: dimensions of image features: ResNet's pooled ones
    text_size: int = 300  #: dimensions of a word vector
    hidden_size: int = 8192  #: units of the hidden layer
    dropout: float | int = 0.5  #: of the hidden layer


class CandidateHead(nn.Module):
    """Batch normalisation, ReLU, dropout and one output unit on the sum of a question's part and an answer's.

    A candidate's hidden units are W_i·I + W_q·Q + W_a·A; the first two terms are computed once per question, the last
    one once per answer.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(hidden_size)
        self.dropout = dropout
        self.output = nn.Linear(hidden_size, 1)

    def forward(self, shared: Tensor, own: Tensor, question: Tensor, answer: Tensor | None = None) -> Tensor:
        """The candidates' scores, (candidates,).

        ``shared`` (questions, H) and ``own`` (answers, H) are the parts of the hidden units; ``question`` and
        ``answer``, by default its own index, are int64 (candidates,): the indices of each candidate's parts. On a CPU
        without gradients a kernel scores them, within float32 rounding of the plain formulation.
        """
        if answer is None:
            answer = torch.arange(len(own), device=own.device)
        needs_torch = self.training or torch.is_grad_enabled() or own.device.type != "cpu"
        if not needs_torch and own.dtype == torch.float32:
            running = dict(self.norm.named_buffers())
            slope = self.norm.weight / (running["running_var"] + self.norm.eps).sqrt()
            shifted = torch.addcmul(self.norm.bias - slope * running["running_mean"], shared, slope)
            found = own.new_empty(len(question))
            given = question, shifted, answer, own * slope, self.output.weight[0], found
            _fill(*(tensor.numpy() for tensor in given))
            return found + self.output.bias
        hidden = functional.relu(self.norm(shared[question] + own[answer]))
        scores: Tensor = self.output(functional.dropout(hidden, self.dropout, self.training)).squeeze(-1)
        return scores


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)
def _fill(
    question_of: NDArray[Any],
    questions: NDArray[Any],
    answer_of: NDArray[Any],
    answers: NDArray[Any],
    weight: NDArray[Any],
    scores: NDArray[Any],
) -> None:
    """Scores of candidates, the sum of weight * max(0, question + answer): 20 times as fast as torch, in one pass."""
    for i in range(len(scores)):
        question, answer = question_of[i], answer_of[i]
        score = np.float32(0)
        for h in range(len(weight)):
            score += max(questions[question, h] + answers[answer, h], np.float32(0)) * weight[h]
        scores[i] = score


class MlpForMultipleChoiceVqa(PreTrainedModel):  # type: ignore[no-untyped-call]
    """L2-normalised inputs, concatenated -> Linear -> BatchNorm -> ReLU -> dropout -> Linear to one score.

    The first layer has one part per input, computed once per question, image and distinct answer.
    """

    config_class = MlpVqaConfig
    base_model_prefix = "mlp"

    def __init__(self, config: MlpVqaConfig) -> None:
        super().__init__(config)
        sizes = {"image": config.image_size, "question": config.text_size, "answer": config.text_size}
        seen = [name for name in INPUTS if name in config.inputs]
        self.first = nn.ModuleDict({one: nn.Linear(sizes[one], config.hidden_size, one == "answer") for one in seen})
        self.head = CandidateHead(config.hidden_size, config.dropout)
        self.post_init()  # type: ignore[no-untyped-call]

    def parts(self) -> dict[str, nn.Linear]:
        """The first layer's part of each input."""
        return {name: cast("nn.Linear", part) for name, part in self.first.items()}

    def _init_weights(self, module: nn.Module) -> None:
        """As `torch.nn.Linear`, with the fan-in of all inputs together for the parts of the first layer."""
        if isinstance(module, nn.Linear):
            parts = list(self.parts().values())
            is_part = any(module is part for part in parts)
            fan_in = sum(part.in_features for part in parts) if is_part else module.in_features
            for tensor in (module.weight, module.bias):
                if tensor is not None:
                    nn.init.uniform_(tensor, -(fan_in**-0.5), fan_in**-0.5)
        elif isinstance(module, nn.BatchNorm1d):
            module.reset_parameters()

    def forward(
        self,
        choice_vectors: Tensor,
        image_features: Tensor | None = None,
        question_vectors: Tensor | None = None,
        choice_mask: Tensor | None = None,
        labels: Tensor | None = None,
        choice_indices: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """Score each question's choices.

        Args:
            choice_vectors: average word vectors, (batch, choices, text_size), or (choices, text_size) with indices.
            image_features: (batch, image_size), if the model sees the image.
            question_vectors: (batch, text_size), if the model sees the question.
            choice_mask: bool (batch, choices); by default all are valid.
            labels: int64 (batch,): target indices, for the loss.
            choice_indices: int64 (batch, choices): row of each choice in choice_vectors.

        Returns:
            ``logits`` (batch, choices), the smallest float for masked choices; with labels also ``loss``: binary
            cross-entropy, averaged over the choices.
        """
        seen = {"image": image_features, "question": question_vectors}
        shape = (choice_vectors if choice_indices is None else choice_indices).shape[:2]
        mask = choice_vectors.new_ones(shape, dtype=torch.bool) if choice_mask is None else choice_mask
        question, _ = mask.nonzero(as_tuple=True)
        distinct = choice_vectors[mask] if choice_indices is None else choice_vectors
        answer = None if choice_indices is None else choice_indices[mask]
        own = self.parts()["answer"](functional.normalize(distinct, dim=-1))
        shared = own.new_zeros(len(mask), own.shape[1])
        for name, part in self.parts().items():
            if name != "answer":
                given = seen[name]
                if given is None:
                    raise InputError(f"{self.config.model_type} needs {name} features; found none")
                shared = shared + part(functional.normalize(given, dim=-1))
        scores = self.head(shared, own, question, answer)  # of the valid choices, in the order of the mask
        logits = scores.new_full(mask.shape, torch.finfo(scores.dtype).min).masked_scatter(mask, scores)
        loss = None
        if labels is not None:
            is_target = functional.one_hot(labels, mask.shape[1]).to(torch.bool)
            loss = functional.binary_cross_entropy_with_logits(scores, is_target[mask].to(scores.dtype))
        return MultipleChoiceModelOutput(loss=loss, logits=logits)


def _declared(letters: str, description: str) -> Model:
    """The declaration of an MLP by the initials of its inputs."""
    seen = {"i": "image_features", "q": "question_vectors"}
    inputs = frozenset(of for letter, of in seen.items() if letter in letters)
    of_paper = "Chao et al. 2018, section 3.1 and supplement, A.1", MlpVqaConfig, MlpForMultipleChoiceVqa
    preset = {"inputs": [name for name in INPUTS if name[0] in letters]}
    return Model(f"mlp-{letters}", f"MLP-{letters.upper()}", description, *of_paper, inputs, preset)


MLP_A = _declared("a", "one hidden layer that sees nothing but a candidate answer")
MLP_IA = _declared("ia", "one hidden layer that sees the image and a candidate answer, not the question")
MLP_QA = _declared("qa", "one hidden layer that sees the question and a candidate answer, not the image")
MLP_IQA = _declared("iqa", "one hidden layer that sees image, question and a candidate answer")
