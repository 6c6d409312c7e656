"""Batches of questions: which questions and decoys a step has, and how blocks are distributed over processes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.training.questions import NONE, Questions

if TYPE_CHECKING:
    from accelerate import Accelerator

Done = TypeVar("Done")


class Part(NamedTuple):
    """The share of a step's batch that a process computes."""

    tensors: dict[str, Tensor]  # arguments of the model, with labels
    weight: float  # fraction of the step's loss


Batches = Callable[[int, int, int], Part]  # from step, process (both from 0) and processes to its share


class Order:
    """The questions of each step, by seed and step alone: each epoch is a permutation; batches can span two epochs."""

    def __init__(self, questions: int, batch_size: int, seed: int) -> None:
        self._questions, self._batch_size, self._seed = questions, batch_size, seed
        self._orders: dict[int, NDArray[np.int64]] = {}

    def rows(self, number: int) -> NDArray[np.int64]:
        """The questions of a step, from 0."""
        positions = np.arange(number * self._batch_size, (number + 1) * self._batch_size)
        epochs, rows = np.divmod(positions, self._questions)
        self._orders = {
            epoch: self._orders[epoch] if epoch in self._orders else self._rng(2 * epoch).permutation(self._questions)
            for epoch in np.unique(epochs).tolist()
        }
        return np.concatenate([order[rows[epochs == epoch]] for epoch, order in self._orders.items()])

    def rng(self, number: int) -> np.random.Generator:
        """The generator of a step's other random choices."""
        return self._rng(2 * number + 1)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=[self._seed % 2**64, purpose]))


def sampled_choices(
    questions: Questions, rows: NDArray[np.int64], decoys: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(rows, 1 + decoys): indices of target and decoys of one kind, padded with NONE (Chao et al. 2018, A.4)."""
    kinds, labels = questions.kinds[rows], questions.labels[rows, None]
    np.put_along_axis(kinds, labels, NONE, 1)  # exclude the target
    keys = rng.random((len(rows), kinds.max() + 1)) if kinds.max() >= 0 else np.ones((len(rows), 1))
    for kind in range(keys.shape[1]):
        keys[~(kinds == kind).any(1), kind] = 2.0
    of_kind = kinds == keys.argmin(1)[:, None]
    order = np.where(of_kind, rng.random(kinds.shape), 2.0).argsort(1)[:, :decoys]
    return np.concatenate([labels, np.where(np.take_along_axis(of_kind, order, 1), order, NONE)], 1)


def by_blocks(
    rows: int, size: int, compute: Callable[[slice], Done], accelerator: "Accelerator", progress: Progress
) -> Sequence[Done]:
    """The results of all blocks of ``size`` rows, in order; each is computed by one process, all return them."""
    blocks = [slice(first, min(first + size, rows)) for first in range(0, rows, size)]
    mine = []
    for number in range(accelerator.process_index, len(blocks), accelerator.num_processes):
        mine.append((number, compute(blocks[number])))
        progress("scoring", number + 1, len(blocks))
    gathered = gather_object(mine) if accelerator.num_processes > 1 else mine
    return [found for _, found in sorted(gathered, key=lambda block: block[0])]
