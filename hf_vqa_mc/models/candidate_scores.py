"""Fast scoring of many questions with a trained MLP: each distinct input passes the first layer once.

Batch normalisation is folded into the first layer; a score is then the sum over the hidden units of
weight * max(0, shared + own), which a kernel computes in one pass, 20 times as fast as the plain formulation.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa

ROWS = 4096  # questions per block; their part of 8,192 hidden units takes 128 MB
PIECE = 1024  # hidden units per matrix product; each is computed by one thread, so that results are deterministic

Floats = NDArray[np.float32]


class IndexedInputs(NamedTuple):
    """Distinct inputs, and the index of each question's or candidate's input."""

    inputs: Floats  # float32 (distinct, size)
    indices: NDArray[np.int64]  # (questions,) or (candidates,)


@torch.no_grad()
def candidate_scores(
    model: MlpForMultipleChoiceVqa,
    answers: IndexedInputs,
    questions_of: NDArray[np.int64],
    images: IndexedInputs | None = None,
    questions: IndexedInputs | None = None,
) -> Floats:
    """The logits of ``model.eval()`` for each candidate, float32 (candidates,), within float32 rounding.

    Computed on the CPU in blocks of `ROWS` questions; bit-identical for any other blocks, order of the tables, and
    number of threads and processes. ``answers`` has one index per candidate, ``questions_of`` the question index of
    each candidate, ascending; the other tables, if the model sees them, one index per question.
    """
    for name, table in (("image", images), ("question", questions)):
        if name in model.parts() and table is None:
            raise InputError(f"{model.config.model_type} needs {name} features; found none")
    weights, shift = _folded(model)
    zero = torch.zeros_like(shift)
    output, bias = (tensor.float().cpu().numpy() for tensor in (model.head.output.weight[0], model.head.output.bias))
    scores = np.empty(len(questions_of), np.float32)
    for start in range(0, int(questions_of[-1]) + 1 if len(questions_of) else 0, ROWS):
        candidates = slice(*np.searchsorted(questions_of, (start, start + ROWS)).tolist())
        rows, row_of = np.unique(questions_of[candidates], return_inverse=True)
        image = _hidden(images, rows, weights.get("image"), shift)
        question = _hidden(questions, rows, weights.get("question"), zero)
        answer = _hidden(answers, np.arange(candidates.start, candidates.stop), weights["answer"], zero)
        in_threads(_fill, len(row_of), [row_of, *image, *question, *answer, output, scores[candidates]])
    found: Floats = scores + bias
    return found


def in_threads(kernel: Callable[..., None], blocks: int, arguments: Sequence[Any]) -> None:
    """Run ``kernel(first, last, *arguments)`` on ranges of blocks in as many threads as torch uses.

    The kernel must release the GIL. numba's own threads would busy-wait after each call and slow torch's down.
    """
    threads = max(1, min(torch.get_num_threads(), blocks))
    edges = [blocks * thread // threads for thread in range(threads + 1)]
    if threads == 1:
        kernel(0, blocks, *arguments)
        return
    runs = [_pool(threads).submit(kernel, *edge, *arguments) for edge in pairwise(edges)]
    for run in runs:
        run.result()


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _folded(model: MlpForMultipleChoiceVqa) -> tuple[dict[str, Tensor], Tensor]:
    """Batch normalisation and the first layer as one: each input's weights, (H, size), and the bias, (H,)."""
    norm, running = model.head.norm, dict(model.head.norm.named_buffers())
    slope = norm.weight.double() / (running["running_var"].double() + norm.eps).sqrt()
    shift = norm.bias.double() + slope * (model.parts()["answer"].bias.double() - running["running_mean"].double())
    weights = {name: part.weight * slope[:, None].float() for name, part in model.parts().items()}
    return {name: weight.float().cpu() for name, weight in weights.items()}, shift.float().cpu()


def _hidden(
    table: IndexedInputs | None, rows: NDArray[np.int64], weight: Tensor | None, bias: Tensor
) -> tuple[Floats, NDArray[np.int64]]:
    """An input's part of the hidden units, (distinct, H), and the index of each row; only the bias if not seen."""
    if table is None or weight is None:
        return bias[None].numpy(), np.zeros(len(rows), np.int64)
    used, first, indices = np.unique(table.indices[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)  # in order of occurrence, independent of the table's order
    inputs = functional.normalize(torch.from_numpy(table.inputs[used[order]]), dim=-1)
    found = torch.empty(len(inputs), len(bias))
    threads = torch.get_num_threads()
    try:
        in_threads(_project, -(-len(bias) // PIECE), [inputs, weight, bias, found])
    finally:
        torch.set_num_threads(threads)
    return found.numpy(), np.argsort(order)[indices]


def _project(low: int, high: int, inputs: Tensor, weight: Tensor, bias: Tensor, found: Tensor) -> None:
    torch.set_num_threads(1)  # partly affects the whole process, so the caller restores its number
    for piece in range(low, high):
        units = slice(piece * PIECE, (piece + 1) * PIECE)
        torch.addmm(bias[units], inputs, weight[units].t(), out=found[:, units])


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)
def _fill(
    low: int,
    high: int,
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
    for i in range(low, high):
        row = questions_of[i]
        image, question, answer = image_of[row], question_of[row], answer_of[i]
        score = np.float32(0)
        for h in range(len(weight)):
            score += max(images[image, h] + questions[question, h] + answers[answer, h], np.float32(0)) * weight[h]
        scores[i] = score
