"""Scoring many questions with a trained MLP: each different image, question and answer meets the first layer once.

In evaluation batch normalisation is a slope and a shift a hidden unit; folded into the first layer, a score is the sum
over the hidden units of weight * max(0, shared + own): one pass over two rows.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa

ROWS = 4096
"""Questions at a time; their part of 8,192 hidden units takes 128 MB."""

Floats = NDArray[np.float32]


class Table(NamedTuple):
    """Different inputs, and which of them each question or candidate has."""

    inputs: Floats
    """float32 (different ones, size)"""
    places: NDArray[np.int64]
    """(questions,) or (candidates,)"""


@torch.no_grad()
def candidate_scores(
    model: MlpForMultipleChoiceVqa,
    answers: Table,
    questions_of: NDArray[np.int64],
    images: Table | None = None,
    questions: Table | None = None,
) -> Floats:
    """What ``model.eval()`` gives for each candidate, within float32's rounding, some twenty times as fast.

    Args:
        model: on any device; scored on the CPU in float32.
        answers: their average word vectors; places one a candidate.
        questions_of: int64 (candidates,), ascending: which question each is a candidate of.
        images: their features; places one a question; if the model sees images.
        questions: their average word vectors; places one a question; if the model sees questions.

    Returns:
        float32 (candidates,): the logits.

    Raises:
        InputError: an input that the model sees is missing, or candidates are not in their questions' order.
    """
    if np.any(np.diff(questions_of) < 0):
        raise InputError("questions_of is not ascending; expected the candidates in their questions' order")
    for name, table in (("image", images), ("question", questions)):
        if name in model.parts() and table is None:
            raise InputError(f"{model.config.model_type} sees the {name}; expected its table, found none")
    weights, shift = _folded(model)
    nothing = Table(np.zeros((1, 0), np.float32), np.zeros(int(questions_of.max(initial=0)) + 1, np.int64))
    of_image = _Projection(images or nothing, weights.get("image"), shift)
    of_question = _Projection(questions or nothing, weights.get("question"), torch.zeros_like(shift))
    of_answer = _Projection(answers, weights["answer"], torch.zeros_like(shift))
    output, bias = (tensor.float().cpu().numpy() for tensor in (model.head.output.weight[0], model.head.output.bias))
    scores = np.empty(len(questions_of), np.float32)
    for rows, candidates in _blocks(questions_of):
        tables = [*of_image.take(rows), *of_question.take(rows), *of_answer.take(candidates)]
        arguments: list[Any] = [questions_of[candidates] - rows.start, *tables, output, scores[candidates]]
        _fill(*arguments)
    found: Floats = scores + bias
    return found


def _folded(model: MlpForMultipleChoiceVqa) -> tuple[dict[str, Tensor], Tensor]:
    """Batch normalisation and the first layer as one: each input's weights, (H, size), and the bias, (H,)."""
    norm = model.head.norm
    if norm.running_mean is None or norm.running_var is None:
        raise InputError("the model keeps no running statistics, without which it cannot score single candidates")
    slope = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()
    shift = norm.bias.double() + slope * (model.parts()["answer"].bias.double() - norm.running_mean.double())
    weights = {name: part.weight * slope[:, None].float() for name, part in model.parts().items()}
    return {name: weight.float().cpu() for name, weight in weights.items()}, shift.float().cpu()


class _Projection(NamedTuple):
    """An input's part of the normalised hidden units; just the bias of those that the model does not see."""

    table: Table
    weight: Tensor | None
    bias: Tensor

    def take(self, rows: slice) -> tuple[Floats, NDArray[np.int64]]:
        """Those of some rows, each different one once: float32 (different ones, H), and which each row has."""
        if self.weight is None:
            return self.bias[None].numpy(), np.zeros(rows.stop - rows.start, np.int64)
        used, places = np.unique(self.table.places[rows], return_inverse=True)
        inputs = functional.normalize(torch.from_numpy(self.table.inputs[used]), dim=-1)
        return functional.linear(inputs, self.weight, self.bias).numpy(), places


def _blocks(questions_of: NDArray[np.int64]) -> Iterator[tuple[slice, slice]]:
    """The questions of each block, and their candidates."""
    questions = int(questions_of[-1]) + 1 if len(questions_of) else 0
    for first in range(0, questions, ROWS):
        last = min(first + ROWS, questions)
        yield slice(first, last), slice(*np.searchsorted(questions_of, (first, last)).tolist())


@njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)
def _fill(
    questions_of: NDArray[np.int64],
    images: Floats,
    image_of: NDArray[np.int64],
    questions: Floats,
    question_of: NDArray[np.int64],
    answers: Floats,
    answer_of: NDArray[np.int64],
    weight: Floats,
    scores: Floats,
) -> None:
    for i in prange(len(scores)):
        row = questions_of[i]
        image, question, answer = image_of[row], question_of[row], answer_of[i]
        score = np.float32(0)
        for h in range(len(weight)):
            score += max(images[image, h] + questions[question, h] + answers[answer, h], np.float32(0)) * weight[h]
        scores[i] = score
