"""Training and evaluation of models that score the choices of a question."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.candidate_scores import ROWS, Table, candidate_scores, in_threads
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa
from hf_vqa_mc.result import Frame, frame_of
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.statistics import mean_by
from hf_vqa_mc.training.batches import Batches, ChoiceInputs, Part, Sample, Sampler, by_blocks, share_of
from hf_vqa_mc.training.metric import ACCURACY, CONSENSUS, consensus_of_choices, consensus_of_picked
from hf_vqa_mc.training.questions import NONE, ONE_KIND, Questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE = 128
"""Questions per forward pass."""
DECIMALS = 6
"""Decimals of the scores in predictions files; float32 has 7 significant digits."""


@dataclass(frozen=True, eq=False)
class Picked:
    """A model's scores of a split's choices."""

    questions: Questions
    logits: NDArray[np.float32]
    """(questions, choices), padded with the smallest float"""
    consensus: NDArray[np.float64] | None = None
    """(questions, choices): consensus accuracy of each choice if that is the dataset's metric"""

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """(questions,): index of the choice with the highest score; the first of ties."""
        labels: NDArray[np.int64] = self.logits.argmax(1)
        return labels

    @property
    def score(self) -> float:
        """The consensus accuracy of the picked choices if questions have several human answers.

        Otherwise the fraction of questions whose target is picked.
        """
        if self.consensus is not None:
            return float(self.consensus[np.arange(len(self.labels)), self.labels].mean())
        return float((self.labels == self.questions.labels).mean())

    def results(self) -> dict[str, Any]:
        """Figures of `scoring.mc_accuracy`, with errors and intervals clustered by image, and the number of questions.

        If the metric is consensus accuracy, the figures up to ``chance`` and those by type are of it;
        ``target_accuracy`` has the former of picking the target.
        """
        given, names = self.questions, list(CHOICE_KINDS)
        kinds = [[names[kind] for kind in row if kind != NONE] for row in given.kinds.tolist()]
        scored: Mapping[str, Any] = mc_accuracy(
            self.labels.tolist(),
            given.labels.tolist(),
            choice_kinds=kinds,
            question_types=given.types,
            image_ids=given.image_ids,
            question_ids=given.question_ids,
        )
        kept = ("accuracy", "stderr", "interval", "chance", "chosen_kinds", "offered_kinds", "per_question_type")
        found = {"metric": ACCURACY, **{name: scored[name] for name in kept}, "questions": len(given)}
        if not (given.kinds > ONE_KIND).any():  # the dataset has none
            found |= {"chosen_kinds": None, "offered_kinds": None}
        if self.consensus is None:
            return found
        scores, figures = consensus_of_picked(self.consensus, self.labels, given.image_ids)
        return {
            **found,
            "metric": CONSENSUS,
            **figures,
            "per_question_type": mean_by(scores, given.types),
            "per_answer_type": mean_by(scores, given.answer_types),
            "target_accuracy": {name: scored[name] for name in ("accuracy", "stderr", "interval", "chance")},
        }

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer (text), label (its index), target, probabilities of all choices.

        Choices are scored independently, so the probabilities do not sum to 1.
        """
        given = self.questions
        valid, labels = given.choices != NONE, self.labels.tolist()
        return frame_of(
            {
                "question_id": given.question_ids,
                "answer": [texts[label] for texts, label in zip(given.choice_lists(), labels, strict=True)],
                "label": self.labels,
                "target": given.labels,
                "probabilities": [
                    torch.from_numpy(row[of_row]).sigmoid().tolist()
                    for row, of_row in zip(self.logits, valid, strict=True)
                ],
            }
        )

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the predicted indices and the scores of the choices, rounded, in a format of ``vqa-mc score``."""
        rounded = self.logits.astype(np.float64).round(DECIMALS)
        scores = [row[mask].tolist() for row, mask in zip(rounded, self.questions.choices != NONE, strict=True)]
        columns = zip(self.questions.question_ids, self.labels.tolist(), scores, strict=True)
        rows = [{"question_id": name, "label": label, "scores": row} for name, label, row in columns]
        write_json(path, rows, None, overwrite)


class MultipleChoice:
    """Picking one of a question's choices."""

    def __init__(self, inputs: ChoiceInputs) -> None:
        self._inputs = inputs
        self._consensus: dict[Questions, NDArray[np.float64]] = {}

    def batches(self, train: Questions, settings: TrainingSettings) -> Batches:
        """The batches of each step; each question comes with decoys of one kind."""
        sampler = Sampler(train, settings.recipe.batch_size, settings.decoys_per_question, settings.seed)

        def part(number: int, process: int, processes: int) -> Part:
            return part_of(sampler.step(number), train, self._inputs, process, processes)

        return part

    @torch.no_grad()
    def evaluate(
        self, model: "PreTrainedModel", questions: Questions, accelerator: "Accelerator", progress: Progress = silent
    ) -> Picked:
        """Score the choices of all questions in evaluation mode, in which the model is left.

        The result does not depend on the number of processes. The model must be on the accelerator's device. Raises
        InputError if a score is not finite.
        """
        model.train(False)

        def scores(block: slice) -> NDArray[np.float32]:
            return _scores(model, questions, block, self._inputs, accelerator.device)

        logits = np.concatenate(by_blocks(len(questions), ROWS, scores, accelerator, progress))
        if not np.isfinite(logits).all():
            raise InputError(
                f"{questions.location}: the model's scores are not all finite; check its weights and the image "
                "features"
            )
        return Picked(questions, logits, self._consensus_of(questions))

    def _consensus_of(self, questions: Questions) -> NDArray[np.float64] | None:
        """The consensus accuracy of each choice, computed once; None if the metric is another."""
        if questions.metric != CONSENSUS:
            return None
        if questions not in self._consensus:
            self._consensus[questions] = consensus_of_choices(questions.choice_lists(), questions.answers)
        return self._consensus[questions]


def part_of(sample: Sample, questions: Questions, inputs: ChoiceInputs, process: int, processes: int) -> Part:
    """The share of a step's batch for one process (from 0)."""
    share = share_of(len(sample.rows), process, processes)
    rows, choices = sample.rows[share], sample.choices[share]
    texts = np.where(choices == NONE, NONE, np.take_along_axis(questions.choices[rows], choices, 1))
    tensors = inputs.tensors(questions, rows, texts) | {"labels": torch.zeros(len(rows), dtype=torch.int64)}
    return Part(tensors, float((choices != NONE).sum() / (sample.choices != NONE).sum()))


def _scores(
    model: "PreTrainedModel", questions: Questions, block: slice, inputs: ChoiceInputs, device: torch.device
) -> NDArray[np.float32]:
    if isinstance(model, MlpForMultipleChoiceVqa) and device.type == "cpu":
        return _from_tables(model, questions, block, inputs)
    batches = [np.arange(first, min(first + AT_ONCE, block.stop)) for first in range(block.start, block.stop, AT_ONCE)]
    found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(batches)
    reading = Lock()

    def score(low: int, high: int) -> None:
        if device.type == "cpu":  # the number of threads per product would change the last digits
            torch.set_num_threads(1)  # partly affects the whole process, whose number is restored below
        with torch.no_grad():  # it is thread-local
            for number in range(low, high):
                with reading:
                    tensors = inputs.tensors(questions, batches[number], questions.choices[batches[number]])
                logits = model(**{name: tensor.to(device) for name, tensor in tensors.items()}).logits
                found[number] = logits.float().cpu().numpy()

    if device.type != "cpu":
        score(0, len(batches))
        return np.concatenate(found)
    threads = torch.get_num_threads()
    try:
        in_threads(score, len(batches), [])
    finally:
        torch.set_num_threads(threads)
    return np.concatenate(found)


def _from_tables(
    model: MlpForMultipleChoiceVqa, questions: Questions, block: slice, inputs: ChoiceInputs
) -> NDArray[np.float32]:
    """Scores of a block; each distinct image, question and answer passes the first layer once."""
    valid = questions.choices[block] != NONE
    seen = {}
    if "question_vectors" in inputs.needed:
        seen["questions"] = Table(inputs.vectors, questions.texts[block])
    if inputs.images is not None:
        distinct, indices = np.unique(questions.image_ids[block], return_inverse=True)
        seen["images"] = Table(inputs.images.take(distinct.tolist()), indices)
    logits = np.full(valid.shape, np.finfo(np.float32).min)
    answers = Table(inputs.vectors, questions.choices[block][valid])
    logits[valid] = candidate_scores(model, answers, np.nonzero(valid)[0], **seen)
    return logits
