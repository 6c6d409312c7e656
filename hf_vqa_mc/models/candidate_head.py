"""The hidden layer and the output of the MLPs on many candidates a question.

A candidate's hidden units are W_i·I + W_q·Q + W_a·A; the first two terms are its question's and are computed once. On
a CPU what follows (batch normalisation, ReLU, dropout, the output unit) runs some units at a time for all candidates,
so that they stay in the cache and no intermediate of all candidates and units goes through memory.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hf_vqa_mc.compiled import njit

UNITS = 64
"""Units at a time: those of some hundred candidates stay in a core's cache."""
FAIR = 0.5
"""The one probability of dropout whose coins are single bits; it is the paper's."""

Floats = NDArray[np.float32]


class CandidateHead(nn.Module):
    """Batch normalisation, ReLU, dropout and one output unit on the sum of a question's part and a candidate's.

    Args:
        hidden_size: number of hidden units H.
        dropout: probability in [0, 1) of leaving a unit out in training.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(hidden_size)
        self.dropout = dropout
        self.output = nn.Linear(hidden_size, 1)

    def forward(self, shared: Tensor, own: Tensor, question: Tensor) -> Tensor:
        """The candidates' scores.

        Args:
            shared: (questions, H): what a question's candidates have in common.
            own: (candidates, H)
            question: int64 (candidates,): which question each is a candidate of.

        Returns:
            (candidates,)
        """
        if self.training and _fits_kernels(own, self.dropout):
            return self._block_by_block(shared, own, question)
        hidden = functional.relu(self.norm(shared[question] + own))
        scores: Tensor = self.output(functional.dropout(hidden, self.dropout, self.training)).squeeze(-1)
        return scores

    def _block_by_block(self, shared: Tensor, own: Tensor, question: Tensor) -> Tensor:
        count = len(own)
        if count < 2:
            raise ValueError(f"batch normalisation needs two candidates at least, found {count}")
        seed = int(torch.randint(2**62, ())) if self.dropout else None
        scores, mean, variance = _Blocks.apply(  # type: ignore[no-untyped-call]
            shared, own, question, self.norm.weight, self.norm.bias, self.output.weight[0], self.norm.eps, seed
        )
        with torch.no_grad():
            momentum = self.norm.momentum or 0.0
            for running, of_batch in (
                (self.norm.running_mean, mean),
                (self.norm.running_var, variance * (count / (count - 1))),
            ):
                if running is not None:
                    running.lerp_(of_batch, momentum)
            if self.norm.num_batches_tracked is not None:
                self.norm.num_batches_tracked += 1
        found: Tensor = scores + self.output.bias
        return found


def _fits_kernels(own: Tensor, dropout: float) -> bool:
    return own.device.type == "cpu" and own.dtype == torch.float32 and dropout in (0.0, FAIR)


class _Blocks(torch.autograd.Function):
    """The head in training; of what is between hidden units and scores it keeps means, variances and coins only."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        shared: Tensor,
        own: Tensor,
        question: Tensor,
        gamma: Tensor,
        beta: Tensor,
        weight: Tensor,
        eps: float,
        seed: int | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        kept = [tensor.contiguous() for tensor in (shared, own, question, gamma, beta, weight)]
        count, hidden = own.shape
        coins, blocks = _coins(count, hidden, seed), -(-hidden // UNITS)
        numbers = np.float32(eps), np.float32(1.0 if seed is None else 1.0 / FAIR)
        mean, variance, parts = own.new_empty(hidden), own.new_empty(hidden), own.new_empty(blocks, count)
        arguments: list[Any] = [*map(_array, kept), *numbers, coins, *map(_array, (mean, variance, parts))]
        _in_threads(_score, blocks, arguments)
        ctx.save_for_backward(*kept, mean, variance)
        ctx.numbers, ctx.coins = numbers, coins
        ctx.mark_non_differentiable(mean, variance)
        return parts.sum(0), mean, variance

    @staticmethod
    def backward(ctx: Any, d_scores: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        kept = ctx.saved_tensors
        shared, own, _question, gamma, *_ = kept
        found = [torch.zeros_like(shared), torch.empty_like(own), *(torch.empty_like(gamma) for _ in range(3))]
        scores = _array(d_scores.contiguous())
        arguments: list[Any] = [*map(_array, kept), *ctx.numbers, ctx.coins, scores, *map(_array, found)]
        _in_threads(_differentiate, -(-own.shape[1] // UNITS), arguments)
        d_shared, d_own, d_gamma, d_beta, d_weight = found
        return d_shared, d_own, None, d_gamma, d_beta, d_weight, None, None


def _in_threads(kernel: Callable[..., None], blocks: int, arguments: Sequence[Any]) -> None:
    """Runs a kernel on all blocks of units, some in each of as many threads as torch uses.

    numba's own threads would spin for a while after each call, and take the processors from torch's.
    """
    threads = min(torch.get_num_threads(), blocks)
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


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().numpy()


def _coins(count: int, hidden: int, seed: int | None) -> NDArray[np.uint8]:
    """Which unit each candidate keeps: uint8 (candidates, H) of zeros and ones; ones without a seed."""
    if seed is None:
        return np.ones((count, hidden), np.uint8)
    bits = np.random.Generator(np.random.SFC64(seed)).bytes(-(-count * hidden // 8))
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count * hidden).reshape(count, hidden)


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
def _score(
    low: int,
    high: int,
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    gamma: Floats,
    beta: Floats,
    weight: Floats,
    eps: np.float32,
    scale: np.float32,
    coins: NDArray[np.uint8],
    mean: Floats,
    variance: Floats,
    parts: Floats,
) -> None:
    """Fills the means and variances of the hidden units, (H,), and each block's part of the scores, (blocks, n)."""
    count, hidden = own.shape
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        width = last - first
        sums = np.zeros(UNITS, np.float32)
        for i in range(count):
            common, single = shared[question[i], first:last], own[i, first:last]
            for h in range(width):
                sums[h] += common[h] + single[h]
        centre = mean[first:last]
        for h in range(width):
            centre[h] = sums[h] / np.float32(count)
            sums[h] = np.float32(0)
        for i in range(count):
            common, single = shared[question[i], first:last], own[i, first:last]
            for h in range(width):
                deviation = common[h] + single[h] - centre[h]
                sums[h] += deviation * deviation
        slope, shift = np.empty(UNITS, np.float32), np.empty(UNITS, np.float32)
        for h in range(width):
            variance[first + h] = sums[h] / np.float32(count)
            slope[h] = gamma[first + h] / np.sqrt(variance[first + h] + eps)
            shift[h] = beta[first + h] - mean[first + h] * slope[h]
        out = weight[first:last]
        for i in range(count):
            common, single, kept = shared[question[i], first:last], own[i, first:last], coins[i, first:last]
            score = np.float32(0)
            for h in range(width):
                normal = (common[h] + single[h]) * slope[h] + shift[h]
                score += max(normal, np.float32(0)) * np.float32(kept[h]) * out[h]
            parts[block, i] = score * scale


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
def _differentiate(
    low: int,
    high: int,
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    gamma: Floats,
    beta: Floats,
    weight: Floats,
    mean: Floats,
    variance: Floats,
    eps: np.float32,
    scale: np.float32,
    coins: NDArray[np.uint8],
    d_scores: Floats,
    d_shared: Floats,
    d_own: Floats,
    d_gamma: Floats,
    d_beta: Floats,
    d_weight: Floats,
) -> None:
    """Fills the gradients; `d_shared` must hold zeros."""
    count, hidden = own.shape
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        width = last - first
        inverse = np.empty(UNITS, np.float32)
        for h in range(width):
            inverse[h] = np.float32(1) / np.sqrt(variance[first + h] + eps)
        centre, factor, shift, out = mean[first:last], gamma[first:last], beta[first:last], weight[first:last]
        of_factor, of_shift, of_out = d_gamma[first:last], d_beta[first:last], d_weight[first:last]
        of_factor[:], of_shift[:], of_out[:] = np.float32(0), np.float32(0), np.float32(0)
        for i in range(count):
            common, single, kept = shared[question[i], first:last], own[i, first:last], coins[i, first:last]
            of_unit, of_score = d_own[i, first:last], d_scores[i] * scale
            for h in range(width):
                unit = (common[h] + single[h] - centre[h]) * inverse[h]
                normal = unit * factor[h] + shift[h]
                pull = of_score * np.float32(kept[h]) if normal > 0 else np.float32(0)
                of_unit[h] = pull * out[h]
                of_factor[h] += pull * out[h] * unit
                of_shift[h] += pull * out[h]
                of_out[h] += pull * normal
        for i in range(count):
            common, single = shared[question[i], first:last], own[i, first:last]
            of_unit, of_common = d_own[i, first:last], d_shared[question[i], first:last]
            for h in range(width):
                unit = (common[h] + single[h] - centre[h]) * inverse[h]
                through = of_unit[h] - (of_shift[h] + unit * of_factor[h]) / np.float32(count)
                of_unit[h] = factor[h] * inverse[h] * through
                of_common[h] += of_unit[h]
