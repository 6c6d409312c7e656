"""What a model is trained for: how its batches are made, and how it is evaluated."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.result import Frame
from hf_vqa_mc.training.questions import OfSplit
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

Done = TypeVar("Done")


class Part(NamedTuple):
    """The share of a step's batch that a process computes."""

    tensors: dict[str, Tensor]
    """arguments of the model, with labels"""
    weight: float
    """fraction of the step's loss"""


Batches = Callable[[int, int, int], Part]
"""From step (from 0), process (from 0) and number of processes to the share of this process."""


class Evaluation(Protocol):
    """A model's answers to the questions of a split."""

    @property
    def score(self) -> float:
        """The dataset's metric, in [0, 1]; the best checkpoint has the highest."""

    def results(self) -> dict[str, Any]:
        """Figures for training.json: ``metric``, ``accuracy`` in it, ``questions``; without answers only the last."""

    def to_pandas(self) -> Frame:
        """One row per question."""

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the predictions as ``vqa-mc score`` reads them."""


class Task(ABC, Generic[OfSplit]):
    """Picking one of a question's choices, or an answer from a vocabulary."""

    @abstractmethod
    def batches(self, train: OfSplit, settings: TrainingSettings) -> Batches:
        """The batches of each step."""

    @abstractmethod
    def evaluate(
        self, model: "PreTrainedModel", questions: OfSplit, accelerator: "Accelerator", progress: Progress = silent
    ) -> Evaluation:
        """Answer all questions in evaluation mode; the result does not depend on the number of processes.

        Raises InputError if a score is not finite. The model must be on the accelerator's device, and is left in
        evaluation mode.
        """


def share_of(rows: int, process: int, processes: int) -> NDArray[np.int64]:
    """The indices of a step's rows in the share of a process."""
    return np.array_split(np.arange(rows), processes)[process]


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
