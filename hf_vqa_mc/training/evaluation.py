"""Predictions of a model; blocks of questions are distributed over processes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.utils import gather_object
from numpy.typing import NDArray

from hf_vqa_mc.dataset.loading import chosen_split
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import check_output_file, write_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.candidate_head import in_threads
from hf_vqa_mc.models.candidate_scores import ROWS, Table, candidate_scores
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.result import Result
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.training.material import check_same_features, open_images, with_images, with_word_vectors
from hf_vqa_mc.training.processes import accelerator_of
from hf_vqa_mc.training.questions import NONE, Inputs, Questions, read_splits

if TYPE_CHECKING:
    import pandas as pd
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

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """(questions,): index of the choice with the highest score; the first of ties."""
        labels: NDArray[np.int64] = self.logits.argmax(1)
        return labels

    @property
    def accuracy(self) -> float:
        """Fraction of questions whose target has the highest score."""
        return float((self.labels == self.questions.labels).mean())

    def results(self) -> dict[str, Any]:
        """Figures of `scoring.mc_accuracy`, with standard errors clustered by image, and the number of questions."""
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
        kept = ("accuracy", "stderr", "chance", "chosen_kinds", "offered_kinds", "per_question_type")
        return {name: scored[name] for name in kept} | {"questions": len(given)}

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the predicted indices and the scores of the choices, rounded, in a format of ``vqa-mc score``."""
        rounded = self.logits.astype(np.float64).round(DECIMALS)
        scores = [row[mask].tolist() for row, mask in zip(rounded, self.questions.choices != NONE, strict=True)]
        columns = zip(self.questions.question_ids, self.labels.tolist(), scores, strict=True)
        rows = [{"question_id": name, "label": label, "scores": row} for name, label, row in columns]
        write_json(path, rows, None, overwrite)


@dataclass(frozen=True, eq=False, repr=False)
class PredictResult(Result):
    """A model's answers to the questions of a split, and how many are correct."""

    checkpoint: str
    dataset: str
    config: str
    split: str
    found: Picked
    skipped: int
    """number of questions without image features"""
    texts: list[str]
    """all texts of the dataset"""
    output: Path | None
    """file of the predictions; None if they were not written"""

    @property
    def results(self) -> dict[str, Any]:
        """As in training.json."""
        return self.found.results()

    def report(self) -> Iterator[str]:
        """The accuracy, and the command that breaks it down."""
        results = self.results
        left_out = f", {self.skipped:,} left out" if self.skipped else ""
        written = f"; wrote {self.output}" if self.output else ""
        yield (
            f"{results['accuracy']:.1%} of {results['questions']:,} questions{left_out} of {self.config}, "
            f"{self.split} (chance {results['chance']:.1%}){written}"
        )
        if self.output and not self.skipped:
            words = f"{self.output} {self.dataset} {self.config} --split {self.split}"
            yield f"to see which decoys were chosen: vqa-mc score {words}"

    def to_dict(self) -> dict[str, Any]:
        """Checkpoint, data and results, as in training.json."""
        names = ("checkpoint", "dataset", "config", "split", "skipped", "results")
        return {name: getattr(self, name) for name in names}

    def to_pandas(self) -> "pd.DataFrame":
        """One row per question: question_id, answer (text), label (its index), target, probabilities of all choices.

        Choices are scored independently, so the probabilities do not sum to 1.
        """
        import pandas as pd

        given, labels = self.found.questions, self.found.labels
        valid = given.choices != NONE
        return pd.DataFrame(
            {
                "question_id": given.question_ids,
                "answer": [self.texts[text] for text in given.choices[np.arange(len(given)), labels].tolist()],
                "label": labels,
                "target": given.labels,
                "probabilities": [
                    torch.from_numpy(row[of_row]).sigmoid().tolist()
                    for row, of_row in zip(self.found.logits, valid, strict=True)
                ],
            }
        )

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the predictions as ``vqa-mc score`` reads them."""
        check_output_file(Path(path), "output", overwrite=overwrite)
        self.found.write(Path(path), overwrite)
        return [Path(path)]


def predict(
    checkpoint: str | Path,
    dataset: str,
    config: str,
    *,
    split: str | None = None,
    features: Path | None = None,
    word_vectors: str | None = None,
    output: Path | None = None,
    overwrite: bool = False,
    skip_missing: bool = False,
    progress: Progress = silent,
) -> PredictResult:
    """Answer the questions of a split with a trained model; arguments and errors are those of ``hf_vqa_mc.predict``.

    With several processes each scores its share; all return the same result.
    """
    if output is not None:
        paths = [Path(one) for one in (dataset, checkpoint, features, word_vectors) if one is not None]
        check_output_file(output, "--output", paths, overwrite)
    model, processor = load_checkpoint(checkpoint)
    images = open_images(features, model.config, str(checkpoint))
    if images is not None:
        check_same_features(images, processor, str(checkpoint))
    text = with_word_vectors(processor.text, word_vectors)
    progress("reading questions", 0, 1)
    data = read_splits(dataset, config)
    progress("reading questions", 1, 1)
    chosen = chosen_split(list(data.splits), split, f"{dataset}, {config}")
    questions, skipped = with_images(data.splits[chosen], images, skip_missing)
    inputs = Inputs(data.texts, questions.used_texts(), text, model_of(model.config).inputs, images)
    processes = accelerator_of()
    found = picked(model.to(processes.device), questions, inputs, processes, progress)
    if output is not None and processes.is_main_process:
        found.write(output, overwrite)
    return PredictResult(str(checkpoint), dataset, config, chosen, found, skipped, data.texts, output)


@torch.no_grad()
def picked(
    model: "PreTrainedModel",
    questions: Questions,
    inputs: Inputs,
    accelerator: "Accelerator",
    progress: Progress = silent,
) -> Picked:
    """Score the choices of all questions in evaluation mode; raises InputError if a score is not finite.

    Each block of questions is scored by one process; the result does not depend on their number, and all processes
    return it. The model must be on the accelerator's device, and is left in evaluation mode.
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
            f"{questions.location}: the model's scores are not all finite; check its weights and the image features"
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
    model: MlpForMultipleChoiceVqa, questions: Questions, block: slice, inputs: Inputs
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
