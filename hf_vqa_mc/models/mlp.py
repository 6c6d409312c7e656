"""MLP-A, -IA, -QA and -IQA of Chao et al. 2018: one hidden layer scores each candidate answer by itself."""

from collections.abc import Mapping
from typing import cast

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.models.candidate_head import CandidateHead

INPUTS = ("image", "question", "answer")
"""What a candidate may be judged by; a model sees the answer and any of the others."""


@strict
class MlpVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """What an MLP sees, and its sizes; the defaults are the paper's MLP-IQA (section 3.1; supplement, A.1)."""

    model_type = "vqa_mc_mlp"

    inputs: list[str] | tuple[str, ...] = INPUTS
    image_size: int = 2048
    """numbers of an image's features: ResNet's pooled ones"""
    text_size: int = 300
    """numbers of a word vector"""
    hidden_size: int = 8192
    dropout: float | int = 0.5

    def validate_sizes(self) -> None:
        """Nothing is of size 0, and some units are kept in training."""
        for name in ("image_size", "text_size", "hidden_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, expected 1 or more")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}, expected 0 or more, and less than 1")

    def validate_inputs(self) -> None:
        """A candidate is judged by itself at least, and by nothing else than image and question."""
        for name in self.inputs:
            if name not in INPUTS:
                raise unknown_name("input", name, INPUTS)
        if "answer" not in self.inputs or len(set(self.inputs)) < len(self.inputs):
            raise InputError(
                f"inputs is {list(self.inputs)}, expected answer and any of image and question, each once"
            )


class MlpForMultipleChoiceVqa(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Each input L2-normalised, concatenated -> Linear -> BatchNorm -> ReLU -> dropout -> Linear to one score.

    The first layer is kept in one part an input, as question and image have the same share of all their candidates,
    and an answer of all candidates that it is.
    """

    config_class = MlpVqaConfig
    base_model_prefix = "mlp"

    def __init__(self, config: MlpVqaConfig) -> None:
        super().__init__(config)
        sizes = {"image": config.image_size, "question": config.text_size, "answer": config.text_size}
        self.first = nn.ModuleDict(
            {
                name: nn.Linear(sizes[name], config.hidden_size, bias=name == "answer")
                for name in INPUTS
                if name in config.inputs
            }
        )
        self.head = CandidateHead(config.hidden_size, config.dropout)
        self.post_init()  # type: ignore[no-untyped-call]

    def parts(self) -> dict[str, nn.Linear]:
        """The first layer's part of each input that the model sees."""
        return {name: cast("nn.Linear", part) for name, part in self.first.items()}

    def _init_weights(self, module: nn.Module) -> None:
        """As `torch.nn.Linear` does, the parts of the first layer as what they are: one layer of all inputs."""
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
        choice_places: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """Scores each question's choices.

        Args:
            choice_vectors: (batch, choices, text_size): average word vectors; with choice_places
                (different choices, text_size), each once.
            image_features: (batch, image_size), if the model sees the image.
            question_vectors: (batch, text_size), if the model sees the question.
            choice_mask: bool (batch, choices): which choices there are; all unless given.
            labels: int64 (batch,): the places of the targets, for the loss.
            choice_places: int64 (batch, choices): which row of choice_vectors each choice is.

        Returns:
            ``logits`` (batch, choices), the smallest number where there is no choice; with labels also ``loss``:
            binary logistic, the mean over the choices.

        Raises:
            InputError: an input that the model sees is missing, or choices and their places do not fit.
        """
        seen = {"image": image_features, "question": question_vectors}
        _check_choices(choice_vectors, choice_places)
        shape = (choice_vectors if choice_places is None else choice_places).shape[:2]
        mask = choice_vectors.new_ones(shape, dtype=torch.bool) if choice_mask is None else choice_mask
        question, _ = mask.nonzero(as_tuple=True)
        different, answer = _different(choice_vectors, choice_places, mask)
        own = self.parts()["answer"](functional.normalize(different, dim=-1))
        shared = self._shared(seen, own, len(mask))
        return multiple_choice_output(self.head(shared, own, question, answer), mask, labels)

    def _shared(self, seen: Mapping[str, Tensor | None], own: Tensor, questions: int) -> Tensor:
        """The part of the hidden units that a question's candidates have in common, (questions, hidden_size)."""
        shared = own.new_zeros(questions, own.shape[1])
        for name, part in self.parts().items():
            if name == "answer":
                continue
            given = seen[name]
            if given is None:
                raise InputError(f"{self.config.model_type} sees the {name}; expected its features, found none")
            shared = shared + part(functional.normalize(given, dim=-1))
        return shared


def _different(vectors: Tensor, places: Tensor | None, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """The rows that the first layer has to see; in the mask's order, or with which of them each choice is."""
    if places is None:
        return vectors[mask], None
    answer = places[mask]
    if answer.device.type == "cpu" and len(answer):  # elsewhere torch looks itself; here kernels go by them
        low, high = (int(one) for one in answer.aminmax())
        if low < 0 or high >= len(vectors):
            raise InputError(
                f"choice_places goes from {low} to {high}, expected 0 to {len(vectors) - 1}: "
                "the rows of choice_vectors"
            )
    return vectors, answer


def _check_choices(vectors: Tensor, places: Tensor | None) -> None:
    if places is None:
        if vectors.ndim != 3:
            raise InputError(
                f"choice_vectors has the shape {tuple(vectors.shape)}, expected (batch, choices, numbers); "
                "different choices, each once, need choice_places"
            )
    elif vectors.ndim != 2 or places.ndim != 2 or places.dtype != torch.int64:
        raise InputError(
            f"choice_vectors has the shape {tuple(vectors.shape)} and choice_places, {places.dtype}, "
            f"{tuple(places.shape)}; expected (different choices, numbers) and torch.int64 (batch, choices)"
        )


def multiple_choice_output(scores: Tensor, mask: Tensor, labels: Tensor | None) -> MultipleChoiceModelOutput:
    """The scores of the choices there are, put in their places, and their loss.

    Args:
        scores: (choices that there are,), in the order of the mask.
        mask: bool (batch, choices)
        labels: int64 (batch,) or None.
    """
    logits = scores.new_full(mask.shape, torch.finfo(scores.dtype).min)
    logits = logits.masked_scatter(mask, scores)
    loss = None
    if labels is not None:
        is_target = functional.one_hot(labels, mask.shape[1]).to(torch.bool)
        loss = functional.binary_cross_entropy_with_logits(scores, is_target[mask].to(scores.dtype))
    return MultipleChoiceModelOutput(loss=loss, logits=logits)
