"""The compiled training step of the MLPs' hidden layer and output on CPUs.

Batch normalisation, ReLU, dropout and output unit are computed in blocks of units that stay in the cache. The fastest
of nine formulations in plain torch takes 1.7 to 2.5 times the CPU time (100 x 4 candidates, 8,192 units).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.candidate_head import CandidateHead

UNITS = 256
"""Units per block: those of some hundred candidates fit into a core's L2 cache."""
ONE_BIT = 0.5
"""The dropout probability (the paper's) for which one random bit per unit is enough."""

Floats = NDArray[np.float32]
Arrays = tuple[Any, ...]


def block_by_block(
    head: CandidateHead, shared: Tensor, own: Tensor, question: Tensor, answer: Tensor | None
) -> Tensor | None:
    """`CandidateHead.forward` in training; None where it does not apply: on a GPU, or with another dropout."""
    if not _fits_kernels(own, head.dropout):
        return None
    answer = torch.arange(len(own)) if answer is None else answer
    count = len(answer)
    if count < 2:
        raise InputError(f"batch normalisation needs at least two candidates, found {count}; use larger batches")
    seed = int(torch.randint(2**62, ())) if head.dropout else None
    parameters = (head.norm.weight, head.norm.bias, head.output.weight[0])
    inputs = (shared, own, question, answer)
    scores, mean, variance = _Blocks.apply(head.norm.eps, seed, *inputs, *parameters)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        momentum = head.norm.momentum or 0.0
        for running, of_batch in (
            (head.norm.running_mean, mean),
            (head.norm.running_var, variance * (count / (count - 1))),
        ):
            if running is not None:
                running.lerp_(of_batch, momentum)
        if head.norm.num_batches_tracked is not None:
            head.norm.num_batches_tracked += 1
    found: Tensor = scores + head.output.bias
    return found


def _fits_kernels(own: Tensor, dropout: float) -> bool:
    return own.device.type == "cpu" and own.dtype == torch.float32 and dropout in (0.0, ONE_BIT)


class _Blocks(torch.autograd.Function):
    """The head in training; for the backward pass it saves only means, variances and the dropout mask."""

    @staticmethod
    def forward(ctx: Any, eps: float, seed: int | None, *given: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ANN401
        """From shared, own, question, answer, gamma, beta, weight: scores, means and variances of the hidden units."""
        kept = [tensor.contiguous() for tensor in given]
        own, count = kept[1], len(kept[3])
        hidden = own.shape[1]
        mask, blocks = _dropout_mask(count, hidden, seed), -(-hidden // UNITS)
        ctx.numbers = np.float32(eps), np.float32(1.0 if seed is None else 1.0 / ONE_BIT), mask
        mean, variance, parts = own.new_empty(hidden), own.new_empty(hidden), own.new_empty(blocks, count)
        arguments = [_arrays(kept[:4]), _arrays(kept[4:]), ctx.numbers, _arrays([mean, variance]), *_arrays([parts])]
        in_threads(_score, blocks, arguments)
        ctx.save_for_backward(*kept, mean, variance)
        ctx.mark_non_differentiable(mean, variance)
        return parts.sum(0), mean, variance

    @staticmethod
    def backward(ctx: Any, d_scores: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Gradients of shared, own, gamma, beta and weight."""
        kept = ctx.saved_tensors
        shared, own, gamma = kept[0], kept[1], kept[4]
        found = [torch.zeros_like(shared), torch.zeros_like(own), *(torch.empty_like(gamma) for _ in range(3))]
        (d_unit,) = _arrays([d_scores.contiguous()])
        arguments = [_arrays(kept[:4]), _arrays(kept[4:]), ctx.numbers, d_unit, _arrays(found)]
        in_threads(_differentiate, -(-own.shape[1] // UNITS), arguments)
        d_shared, d_own, *of_parameters = found
        return None, None, d_shared, d_own, None, None, *of_parameters


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


def _arrays(tensors: Sequence[Tensor]) -> Arrays:
    return tuple(tensor.detach().numpy() for tensor in tensors)


def _dropout_mask(count: int, hidden: int, seed: int | None) -> NDArray[np.uint8]:
    """Dropout mask: uint8 (candidates, H) of 0 and 1; all 1 without a seed."""
    if seed is None:
        return np.ones((count, hidden), np.uint8)
    bits = np.random.Generator(np.random.SFC64(seed)).bytes(-(-count * hidden // 8))
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=count * hidden).reshape(count, hidden)


_kernel = njit(nogil=True, fastmath={"reassoc", "contract", "nsz"}, cache=True, error_model="numpy")
# Inner loops write one array each, since otherwise the compiler does not vectorise them (aliasing). A block's hidden
# units are contiguous in `sums`, since rows of all units would conflict in the cache.


@_kernel
def _score(
    low: int, high: int, inputs: Arrays, parameters: Arrays, numbers: Arrays, moments: Arrays, parts: Floats
) -> None:
    """Fill the means and variances of the hidden units, (H,), and each block's part of the scores, (blocks, n)."""
    own, answer, (gamma, beta, weight) = inputs[1], inputs[3], parameters
    (eps, scale, mask), (mean, variance) = numbers, moments
    count, hidden = len(answer), own.shape[1]
    sums = np.empty((count, UNITS), np.float32)
    slope, shift = np.empty(UNITS, np.float32), np.empty(UNITS, np.float32)
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        _add(first, last, inputs, sums)
        _find_moments(sums, mean[first:last], variance[first:last])
        for h in range(last - first):
            slope[h] = gamma[first + h] / np.sqrt(variance[first + h] + eps)
            shift[h] = beta[first + h] - mean[first + h] * slope[h]
        out = weight[first:last]
        for i in range(count):
            both, kept = sums[i], mask[i, first:last]
            score = np.float32(0)
            for h in range(last - first):
                normal = both[h] * slope[h] + shift[h]
                score += max(normal, np.float32(0)) * np.float32(kept[h]) * out[h]
            parts[block, i] = score * scale


@_kernel
def _add(first: int, last: int, inputs: Arrays, sums: Floats) -> None:
    """Fill the candidates' hidden units `first` to `last`."""
    shared, own, question, answer = inputs
    for i in range(len(answer)):
        common, single, both = shared[question[i], first:last], own[answer[i], first:last], sums[i]
        for h in range(last - first):
            both[h] = common[h] + single[h]


@_kernel
def _find_moments(sums: Floats, mean: Floats, variance: Floats) -> None:
    """Fill a block's means and variances, in two passes for precision."""
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
    low: int, high: int, inputs: Arrays, parameters: Arrays, numbers: Arrays, d_scores: Floats, gradients: Arrays
) -> None:
    """Fill the gradients; those of shared and own must be 0 initially."""
    (_, own, question, answer), (gamma, beta, weight, mean, variance) = inputs, parameters
    (eps, scale, mask), (d_shared, d_own, d_gamma, d_beta, d_weight) = numbers, gradients
    count, hidden = len(answer), own.shape[1]
    units, d_units = np.empty((count, UNITS), np.float32), np.empty((count, UNITS), np.float32)
    inverse = np.empty(UNITS, np.float32)
    for block in range(low, high):
        first = block * UNITS
        last = min(first + UNITS, hidden)
        for h in range(last - first):
            inverse[h] = np.float32(1) / np.sqrt(variance[first + h] + eps)
        _add(first, last, inputs, units)
        centre, factor, shift = mean[first:last], gamma[first:last], beta[first:last]
        for i in range(count):
            unit, d_unit, kept, of_score = units[i], d_units[i], mask[i, first:last], d_scores[i] * scale
            for h in range(last - first):
                unit[h] = (unit[h] - centre[h]) * inverse[h]
            for h in range(last - first):
                d_unit[h] = of_score * np.float32(kept[h]) if unit[h] * factor[h] + shift[h] > 0 else np.float32(0)
        of_beta, of_gamma = d_beta[first:last], d_gamma[first:last]
        _total(units, d_units, of_beta, of_gamma)
        for h in range(last - first):
            d_weight[first + h] = factor[h] * of_gamma[h] + shift[h] * of_beta[h]
            of_beta[h] *= weight[first + h]
            of_gamma[h] *= weight[first + h]
            inverse[h] *= factor[h]
        _through_norm(units, d_units, inverse, weight[first:last], of_beta, of_gamma)
        for i in range(count):
            d_unit, of_common, of_single = d_units[i], d_shared[question[i], first:last], d_own[answer[i], first:last]
            for h in range(last - first):
                of_common[h] += d_unit[h]
            for h in range(last - first):
                of_single[h] += d_unit[h]


@_kernel
def _total(units: Floats, d_units: Floats, of_one: Floats, of_unit: Floats) -> None:
    """Fill a block's sums of `d_units` and of `d_units * units` over the candidates."""
    of_one[:], of_unit[:] = np.float32(0), np.float32(0)
    for i in range(len(units)):
        unit, d_unit = units[i], d_units[i]
        for h in range(len(of_one)):
            of_one[h] += d_unit[h]
        for h in range(len(of_one)):
            of_unit[h] += d_unit[h] * unit[h]


@_kernel
def _through_norm(
    units: Floats, d_units: Floats, slope: Floats, weight: Floats, of_beta: Floats, of_gamma: Floats
) -> None:
    """Backpropagate a block's gradients through the output unit and batch normalisation, in place."""
    count, width = np.float32(len(units)), len(weight)
    for i in range(len(units)):
        unit, d_unit = units[i], d_units[i]
        for h in range(width):
            d_unit[h] = slope[h] * (d_unit[h] * weight[h] - (of_beta[h] + unit[h] * of_gamma[h]) / count)


CandidateHead.compiled = block_by_block
