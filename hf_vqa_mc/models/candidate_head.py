"""The hidden layer and the output of the MLPs on many candidates a question.

A candidate's hidden units are W_i·I + W_q·Q + W_a·A; the first two terms are its question's, the last its answer's,
and each is computed once. On a CPU what follows (batch normalisation, ReLU, dropout, the output unit) runs some units
at a time for all candidates, so that they stay in the cache and no intermediate of all candidates and units goes
through memory.
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
from hf_vqa_mc.errors import InputError

UNITS = 256
"""Units at a time: those of some hundred candidates stay in a core's second cache."""
FAIR = 0.5
"""The one probability of dropout whose coins are single bits; it is the paper's."""

Floats = NDArray[np.float32]


class CandidateHead(nn.Module):
    """Batch normalisation, ReLU, dropout and one output unit on the sum of a question's part and an answer's.

    Args:
        hidden_size: number of hidden units H.
        dropout: probability in [0, 1) of leaving a unit out in training.
    """

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(hidden_size)
        self.dropout = dropout
        self.output = nn.Linear(hidden_size, 1)

    def forward(self, shared: Tensor, own: Tensor, question: Tensor, answer: Tensor | None = None) -> Tensor:
        """The candidates' scores.

        Args:
            shared: (questions, H): what a question's candidates have in common.
            own: (answers, H): what candidates with the same answer have in common.
            question: int64 (candidates,): which question each is a candidate of.
            answer: int64 (candidates,): which answer each is; without it each has a row of its own.

        Returns:
            (candidates,)
        """
        if self.training and _fits_kernels(own, self.dropout):
            return self._block_by_block(shared, own, question, torch.arange(len(own)) if answer is None else answer)
        hidden = functional.relu(self.norm(shared[question] + (own if answer is None else own[answer])))
        scores: Tensor = self.output(functional.dropout(hidden, self.dropout, self.training)).squeeze(-1)
        return scores

    def _block_by_block(self, shared: Tensor, own: Tensor, question: Tensor, answer: Tensor) -> Tensor:
        count = len(answer)
        if count < 2:
            raise InputError(f"batch normalisation needs two candidates at least, found {count}; take larger batches")
        seed = int(torch.randint(2**62, ())) if self.dropout else None
        scores, mean, variance = _Blocks.apply(  # type: ignore[no-untyped-call]
            shared,
            own,
            question,
            answer,
            self.norm.weight,
            self.norm.bias,
            self.output.weight[0],
            self.norm.eps,
            seed,
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
        answer: Tensor,
        gamma: Tensor,
        beta: Tensor,
        weight: Tensor,
        eps: float,
        seed: int | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        kept = [tensor.contiguous() for tensor in (shared, own, question, answer, gamma, beta, weight)]
        count, hidden = len(answer), own.shape[1]
        coins, blocks = _coins(count, hidden, seed), -(-hidden // UNITS)
        numbers = np.float32(eps), np.float32(1.0 if seed is None else 1.0 / FAIR)
        mean, variance, parts = own.new_empty(hidden), own.new_empty(hidden), own.new_empty(blocks, count)
        arguments: list[Any] = [*map(_array, kept), *numbers, coins, *map(_array, (mean, variance, parts))]
        in_threads(_score, blocks, arguments)
        ctx.save_for_backward(*kept, mean, variance)
        ctx.numbers, ctx.coins = numbers, coins
        ctx.mark_non_differentiable(mean, variance)
        return parts.sum(0), mean, variance

    @staticmethod
    def backward(ctx: Any, d_scores: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        kept = ctx.saved_tensors
        shared, own, _question, _answer, gamma, *_ = kept
        found = [torch.zeros_like(shared), torch.zeros_like(own), *(torch.empty_like(gamma) for _ in range(3))]
        scores = _array(d_scores.contiguous())
        arguments: list[Any] = [*map(_array, kept), *ctx.numbers, ctx.coins, scores, *map(_array, found)]
        in_threads(_differentiate, -(-own.shape[1] // UNITS), arguments)
        d_shared, d_own, d_gamma, d_beta, d_weight = found
        return d_shared, d_own, None, None, d_gamma, d_beta, d_weight, None, None


def in_threads(kernel: Callable[..., None], blocks: int, arguments: Sequence[Any]) -> None:
    """Runs a kernel on blocks 0 to `blocks`, some in each of as many threads as torch uses.

    numba's own threads would spin for a while after each call, and take the processors from torch's.

    Args:
        kernel: called with the first block, the one after the last, and the arguments; must not hold the GIL.
        blocks: how many there are.
        arguments: what the kernel takes besides.
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


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().numpy()


def _coins(count: int, hidden: int, seed: int | None) -> NDArray[np.uint8]:
    """Which unit each candidate keeps: uint8 (candidates, H) of zeros and ones; ones without a seed."""
    if seed is None:
        return np.ones((count, hidden), np.uint8)
    bits = np.random.Generator(np.random.SFC64(seed)).bytes(-(-count * hidden // 8))
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count * hidden).reshape(count, hidden)


_kernel = njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
# The kernels' inner loops write one array each: with more, the compiler would have to prove too many pairs apart to
# use vectors. A block's hidden units are kept side by side in `sums`: rows of all units lie so far apart that they
# would displace one another in the cache.


@_kernel
def _score(
    low: int,
    high: int,
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    answer: NDArray[np.int64],
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
    count, hidden = len(answer), own.shape[1]
    sums = np.empty((count, UNITS), np.float32)
    slope, shift = np.empty(UNITS, np.float32), np.empty(UNITS, np.float32)
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        _add(first, last, shared, own, question, answer, sums)
        _find_moments(sums, mean[first:last], variance[first:last])
        for h in range(last - first):
            slope[h] = gamma[first + h] / np.sqrt(variance[first + h] + eps)
            shift[h] = beta[first + h] - mean[first + h] * slope[h]
        out = weight[first:last]
        for i in range(count):
            both, kept = sums[i], coins[i, first:last]
            score = np.float32(0)
            for h in range(last - first):
                normal = both[h] * slope[h] + shift[h]
                score += max(normal, np.float32(0)) * np.float32(kept[h]) * out[h]
            parts[block, i] = score * scale


@_kernel
def _add(
    first: int,
    last: int,
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    answer: NDArray[np.int64],
    sums: Floats,
) -> None:
    """Fills the candidates' hidden units `first` to `last`."""
    for i in range(len(answer)):
        common, single, both = shared[question[i], first:last], own[answer[i], first:last], sums[i]
        for h in range(last - first):
            both[h] = common[h] + single[h]


@_kernel
def _find_moments(sums: Floats, mean: Floats, variance: Floats) -> None:
    """Fills a block's means and variances; in two passes, as a difference of squares would lose digits."""
    count, width = np.float32(len(sums)), len(mean)
    mean[:], variance[:] = np.float32(0), np.float32(0)
    for i in range(len(sums)):
        both = sums[i]
        for h in range(width):
            mean[h] += both[h]
    for h in range(width):
        mean[h] /= count
    for i in range(len(sums)):
        both = sums[i]
        for h in range(width):
            deviation = both[h] - mean[h]
            variance[h] += deviation * deviation
    for h in range(width):
        variance[h] /= count


@_kernel
def _differentiate(
    low: int,
    high: int,
    shared: Floats,
    own: Floats,
    question: NDArray[np.int64],
    answer: NDArray[np.int64],
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
    """Fills the gradients; `d_shared` and `d_own` must hold zeros."""
    count, hidden = len(answer), own.shape[1]
    units, pulls = np.empty((count, UNITS), np.float32), np.empty((count, UNITS), np.float32)
    inverse = np.empty(UNITS, np.float32)
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        for h in range(last - first):
            inverse[h] = np.float32(1) / np.sqrt(variance[first + h] + eps)
        _add(first, last, shared, own, question, answer, units)
        centre, factor, shift = mean[first:last], gamma[first:last], beta[first:last]
        for i in range(count):
            unit, pull, kept, of_score = units[i], pulls[i], coins[i, first:last], d_scores[i] * scale
            for h in range(last - first):
                unit[h] = (unit[h] - centre[h]) * inverse[h]
            for h in range(last - first):
                pull[h] = of_score * np.float32(kept[h]) if unit[h] * factor[h] + shift[h] > 0 else np.float32(0)
        of_beta, of_gamma = d_beta[first:last], d_gamma[first:last]
        _total(units, pulls, of_beta, of_gamma)
        for h in range(last - first):
            d_weight[first + h] = factor[h] * of_gamma[h] + shift[h] * of_beta[h]
            of_beta[h] *= weight[first + h]
            of_gamma[h] *= weight[first + h]
            inverse[h] *= factor[h]
        _through_norm(units, pulls, inverse, weight[first:last], of_beta, of_gamma)
        for i in range(count):
            pull, of_common, of_single = pulls[i], d_shared[question[i], first:last], d_own[answer[i], first:last]
            for h in range(last - first):
                of_common[h] += pull[h]
            for h in range(last - first):
                of_single[h] += pull[h]


@_kernel
def _total(units: Floats, pulls: Floats, of_one: Floats, of_unit: Floats) -> None:
    """Fills a block's sums over the candidates, of `pulls` and of `pulls` times `units`."""
    of_one[:], of_unit[:] = np.float32(0), np.float32(0)
    for i in range(len(units)):
        unit, pull = units[i], pulls[i]
        for h in range(len(of_one)):
            of_one[h] += pull[h]
        for h in range(len(of_one)):
            of_unit[h] += pull[h] * unit[h]


@_kernel
def _through_norm(
    units: Floats, pulls: Floats, slope: Floats, weight: Floats, of_beta: Floats, of_gamma: Floats
) -> None:
    """Makes of a block's gradients before the output unit those before batch normalisation."""
    count, width = np.float32(len(units)), len(weight)
    for i in range(len(units)):
        unit, pull = units[i], pulls[i]
        for h in range(width):
            pull[h] = slope[h] * (pull[h] * weight[h] - (of_beta[h] + unit[h] * of_gamma[h]) / count)
