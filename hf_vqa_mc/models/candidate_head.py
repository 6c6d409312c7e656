"""The hidden layer and the output of the MLPs on many candidates a question.

A candidate's hidden units are W_i·I + W_q·Q + W_a·A; the first two terms are its question's and are computed once. On
a CPU what follows (batch normalisation, ReLU, dropout, the output unit) runs some units at a time for all candidates,
so that they stay in the cache and no intermediate of all candidates and units goes through memory.
"""

from typing import Any

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hf_vqa_mc.compiled import njit

UNITS = 64
"""Units at a time: as many as a word of dropout's coins has bits."""
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
        coins = _coins(-(-hidden // UNITS), count, seed)
        numbers = np.float32(eps), np.float32(1.0 if seed is None else 1.0 / FAIR)
        mean, variance, parts = own.new_empty(hidden), own.new_empty(hidden), own.new_empty(len(coins), count)
        arguments: list[Any] = [*map(_array, kept), *numbers, coins, *map(_array, (mean, variance, parts))]
        _score(*arguments)
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
        _differentiate(*arguments)
        d_shared, d_own, d_gamma, d_beta, d_weight = found
        return d_shared, d_own, None, d_gamma, d_beta, d_weight, None, None


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().numpy()


def _coins(blocks: int, count: int, seed: int | None) -> NDArray[np.uint64]:
    """A word of bits for each block of units and candidate, uint64 (blocks, candidates); all set without a seed."""
    if seed is None:
        return np.full((blocks, count), 2**64 - 1, np.uint64)
    draw = np.random.Generator(np.random.SFC64(seed))
    return draw.integers(0, 2**64, (blocks, count), np.uint64)


@njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
def _score(
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    gamma: Floats,
    beta: Floats,
    weight: Floats,
    eps: np.float32,
    scale: np.float32,
    coins: NDArray[np.uint64],
    mean: Floats,
    variance: Floats,
    parts: Floats,
) -> None:
    """Fills the means and variances of the hidden units, (H,), and each block's part of the scores, (blocks, n)."""
    count, hidden = own.shape
    for block in prange(len(coins)):
        first = block * UNITS
        width = min(UNITS, hidden - first)
        sums = np.zeros(UNITS, np.float32)
        for i in range(count):
            for h in range(width):
                sums[h] += shared[question[i], first + h] + own[i, first + h]
        for h in range(width):
            mean[first + h] = sums[h] / np.float32(count)
            sums[h] = np.float32(0)
        for i in range(count):
            for h in range(width):
                deviation = shared[question[i], first + h] + own[i, first + h] - mean[first + h]
                sums[h] += deviation * deviation
        slope, shift = np.empty(UNITS, np.float32), np.empty(UNITS, np.float32)
        for h in range(width):
            variance[first + h] = sums[h] / np.float32(count)
            slope[h] = gamma[first + h] / np.sqrt(variance[first + h] + eps)
            shift[h] = beta[first + h] - mean[first + h] * slope[h]
        for i in range(count):
            bits = coins[block, i]
            score = np.float32(0)
            for h in range(width):
                normal = (shared[question[i], first + h] + own[i, first + h]) * slope[h] + shift[h]
                kept = np.float32((bits >> np.uint64(h)) & np.uint64(1))
                score += max(normal, np.float32(0)) * kept * weight[first + h]
            parts[block, i] = score * scale


@njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
def _differentiate(
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
    coins: NDArray[np.uint64],
    d_scores: Floats,
    d_shared: Floats,
    d_own: Floats,
    d_gamma: Floats,
    d_beta: Floats,
    d_weight: Floats,
) -> None:
    """Fills the gradients; `d_shared` must hold zeros."""
    count, hidden = own.shape
    for block in prange(len(coins)):
        first = block * UNITS
        width = min(UNITS, hidden - first)
        inverse = np.empty(UNITS, np.float32)
        sums = np.zeros((3, UNITS), np.float32)
        for h in range(width):
            inverse[h] = np.float32(1) / np.sqrt(variance[first + h] + eps)
        for i in range(count):
            bits, of_score = coins[block, i], d_scores[i] * scale
            for h in range(width):
                unit = (shared[question[i], first + h] + own[i, first + h] - mean[first + h]) * inverse[h]
                normal = unit * gamma[first + h] + beta[first + h]
                kept = of_score * np.float32((bits >> np.uint64(h)) & np.uint64(1))
                of_normal = kept * weight[first + h] if normal > 0 else np.float32(0)
                d_own[i, first + h] = of_normal
                sums[0, h] += of_normal * unit
                sums[1, h] += of_normal
                sums[2, h] += kept * max(normal, np.float32(0))
        for h in range(width):
            d_gamma[first + h], d_beta[first + h], d_weight[first + h] = sums[0, h], sums[1, h], sums[2, h]
            sums[0, h] /= np.float32(count)
            sums[1, h] /= np.float32(count)
        for i in range(count):
            for h in range(width):
                unit = (shared[question[i], first + h] + own[i, first + h] - mean[first + h]) * inverse[h]
                of_sum = gamma[first + h] * inverse[h] * (d_own[i, first + h] - sums[1, h] - unit * sums[0, h])
                d_own[i, first + h] = of_sum
                d_shared[question[i], first + h] += of_sum
