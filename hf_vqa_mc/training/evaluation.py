"""What a model picks: all processes score blocks of questions in turn, the same blocks however many they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.utils import gather_object
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.candidate_head import in_threads
from hf_vqa_mc.models.candidate_scores import ROWS, Table, candidate_scores
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.training.inputs import Inputs
from hf_vqa_mc.training.questions import NONE, Questions

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE = 128
"""Questions that a model scores in one call."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Picked:
    """What a model makes of a split's questions."""

    questions: Questions
    logits: NDArray[np.float32]
    """(questions, most choices), the smallest number where there are fewer"""

    @property
    def places(self) -> NDArray[np.int64]:
        """(questions,): the place of each one's picked choice; the first of equal ones."""
        places: NDArray[np.int64] = self.logits.argmax(1)
        return places

    @property
    def accuracy(self) -> float:
        """Part of the questions whose target is picked."""
        return float((self.places == self.questions.labels).mean())

    def results(self) -> dict[str, Any]:
        """The figures of `scoring.mc_accuracy`, standard errors clustered by image, and the number of questions."""
        asked = self.questions
        names = list(CHOICE_KINDS)
        told = [[names[kind] for kind in kinds if kind != NONE] for kinds in asked.kinds.tolist()]
        scored: Mapping[str, Any] = mc_accuracy(
            self.places.tolist(),
            asked.labels.tolist(),
            choice_kinds=told,
            question_types=asked.types,
            image_ids=asked.image_ids,
            question_ids=asked.question_ids,
        )
        kept = ("accuracy", "stderr", "chance", "chosen_kinds", "offered_kinds", "per_question_type")
        return {name: scored[name] for name in kept} | {"questions": len(asked)}


@torch.no_grad()
def picked(
    model: "PreTrainedModel",
    questions: Questions,
    inputs: Inputs,
    accelerator: "Accelerator",
    progress: Progress = lambda step, done, total: None,
) -> Picked:
    """Let a model pick among each question's choices, without dropout and with running statistics.

    Each block of questions is scored by one process, by itself, so that the result is the same however many processes
    there are.

    Args:
        model: on the accelerator's device, the same in all processes; left in evaluation mode.
        questions: of a split.
        inputs: of the model.
        accelerator: of the processes.
        progress: told (step, done, total).

    Returns:
        The same in all processes.

    Raises:
        InputError: a score is no number.
    """
    model.train(False)
    blocks = [slice(first, min(first + ROWS, len(questions))) for first in range(0, len(questions), ROWS)]
    mine = []
    for number in range(accelerator.process_index, len(blocks), accelerator.num_processes):
        mine.append((number, _scores(model, questions, blocks[number], inputs, accelerator.device)))
        progress("scoring", number + 1, len(blocks))
    gathered = gather_object(mine) if accelerator.num_processes > 1 else mine
    logits = np.concatenate([scores for _, scores in sorted(gathered, key=lambda block: block[0])])
    if not np.isfinite(logits).all():
        raise InputError(
            f"{questions.place}: the model's scores are not all numbers; its weights, or features of images, are not"
        )
    return Picked(questions, logits)


def _scores(
    model: "PreTrainedModel", questions: Questions, block: slice, inputs: Inputs, device: torch.device
) -> NDArray[np.float32]:
    if isinstance(model, MlpForMultipleChoiceVqa) and device.type == "cpu":
        return _from_tables(model, questions, block, inputs)
    batches = [np.arange(first, min(first + AT_ONCE, block.stop)) for first in range(block.start, block.stop, AT_ONCE)]
    found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(batches)
    reading = Lock()

    def score(low: int, high: int) -> None:
        with torch.no_grad():  # which each thread has of its own
            for number in range(low, high):
                with reading:
                    tensors = inputs.tensors(questions, batches[number], questions.choices[batches[number]])
                logits = model(**{name: tensor.to(device) for name, tensor in tensors.items()}).logits
                found[number] = logits.float().cpu().numpy()

    if device.type == "cpu":
        _each_in_one_thread(score, len(batches))
    else:
        score(0, len(batches))
    return np.concatenate(found)


def _each_in_one_thread(score: Callable[[int, int], None], batches: int) -> None:
    """Score batches side by side; how many threads share a product would change its last digits."""

    def alone(low: int, high: int) -> None:
        torch.set_num_threads(1)  # of this thread; in part also of the process, which gets its own again
        score(low, high)

    threads = torch.get_num_threads()
    try:
        in_threads(alone, batches, [])
    finally:
        torch.set_num_threads(threads)


def _from_tables(
    model: MlpForMultipleChoiceVqa, questions: Questions, block: slice, inputs: Inputs
) -> NDArray[np.float32]:
    """The same, each different image, question and answer of the block through the first layer once."""
    offered = questions.choices[block] != NONE
    seen = {}
    if "question_vectors" in inputs.needed:
        seen["questions"] = Table(inputs.vectors, questions.asked[block])
    if "image_features" in inputs.needed:
        different, places = np.unique(questions.image_ids[block], return_inverse=True)
        seen["images"] = Table(inputs.image_features(different.tolist()), places)
    logits = np.full(offered.shape, np.finfo(np.float32).min)
    answers = Table(inputs.vectors, questions.choices[block][offered])
    logits[offered] = candidate_scores(model, answers, np.nonzero(offered)[0], **seen)
    return logits
