"""Batches of questions as a model's tensors, and the evaluation of a split."""

import contextlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.prefetch import ahead
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.model import FittedModel
from hf_vqa_mc.models.processor import VqaProcessor
from hf_vqa_mc.models.question_texts import TEXT_INPUTS, tensor_of
from hf_vqa_mc.training.predictions import Predictions, cell_boxes, check_finite
from hf_vqa_mc.training.questions import NONE, Examples
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DECOYS = 3  # decoys of a question in a step, of one kind (Chao et al. 2018, supplement A.4)
AT_ONCE, CHOICES_AT_ONCE, GRIDS_AT_ONCE = 1024, 512, 64
"""Questions per forward pass: of an open-ended model, of a multiple-choice model, and with grids or regions."""
NO_ANSWER = -1  # answer index of a question whose answer is not in the vocabulary

Batches = Callable[[int, int, int], tuple[dict[str, Tensor], float]]
"""From step, process (both from 0) and number of processes to the process's share of the batch: the arguments of the
model, with labels, and the fraction of the step's loss."""


def accelerator_of() -> Accelerator:
    """Create the accelerator; the papers' models are small, so all train in full precision."""
    # Without cpu=True, on a machine without GPUs each process would be a separate run.
    return Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision="no")


def philox(seed: int, purpose: int) -> np.random.Generator:
    """The generator of an epoch's order (even) or of a step's other random choices (odd)."""
    return np.random.Generator(np.random.Philox(key=[seed % 2**64, purpose]))


@lru_cache(maxsize=2)
def _epoch(questions: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return philox(seed, 2 * epoch).permutation(questions)


def step_rows(questions: int, batch_size: int, step: int, seed: int) -> NDArray[np.int64]:
    """The questions of a step, from 0, by seed and step alone: an epoch is a permutation; batches can span two."""
    epochs, rows = np.divmod(np.arange(step * batch_size, (step + 1) * batch_size), questions)
    return np.concatenate([_epoch(questions, seed, one)[rows[epochs == one]] for one in np.unique(epochs).tolist()])


def sampled_choices(
    questions: Examples, rows: NDArray[np.int64], decoys: int, rng: np.random.Generator
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


class Task:
    """Converts questions, whose ``used`` texts of `Splits.texts` are encoded once, to tensors, and answers them.

    An open-ended model answers with a text of its ``vocabulary``, others (None) with one of the choices.
    """

    def __init__(
        self,
        texts: list[str],
        used: NDArray[np.int64],
        processor: VqaProcessor,
        images: ImageFeatures | None,
        vocabulary: Sequence[str] | None,
    ) -> None:
        self._texts, self._processor, self._images, self._vocabulary = texts, processor, images, vocabulary
        self._index = {text: number for number, text in enumerate(vocabulary or ())}
        names = {name for name in processor.inputs if TEXT_INPUTS.get(name) == "questions"} - {"question_tokens"}
        if vocabulary is None:
            self._vectors = np.zeros((len(texts), processor.text.dim), np.float32)
            self._vectors[used] = processor.text.encode([texts[number] for number in used])
            names -= {"question_vectors"}
        self._of_texts: dict[str, Any] = {name: processor.texts.array(name, texts) for name in names}
        if "question_vectors" in processor.inputs and vocabulary is None:
            self._of_texts["question_vectors"] = self._vectors

    def tensors(
        self, questions: Examples, rows: NDArray[np.int64], choices: NDArray[np.int64] | None = None
    ) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``; choices (batch, choices) are text indices, padded with NONE."""
        texts, inputs, found = questions.texts[rows], self._processor.inputs, dict[str, Tensor]()
        if choices is not None:
            valid = choices != NONE
            distinct, indices = np.unique(np.where(valid, choices, choices[:, :1]), return_inverse=True)
            found["choice_vectors"] = torch.from_numpy(self._vectors[distinct])
            found["choice_indices"] = torch.from_numpy(indices.reshape(choices.shape))
            if not valid.all():
                found["choice_mask"] = torch.from_numpy(valid)
        for name, of in self._of_texts.items():
            taken = of[texts]
            if name in ("question_indices", "question_layouts"):  # without columns that are padding in all rows
                taken = taken[:, taken.reshape(*taken.shape[:2], -1)[..., 0].any(0)]
            found[name] = tensor_of(taken)
        if others := inputs & TEXT_INPUTS.keys() - self._of_texts.keys():
            given = {"captions": questions.captions, "groups": questions.groups}
            of_rows = {name: [column[row] for row in rows] if column else None for name, column in given.items()}
            found |= self._processor.texts.tensors(others, questions=[self._texts[text] for text in texts], **of_rows)
        if self._images is not None:
            found |= self._images.tensors([questions.image_ids[row] for row in rows])
            if questions.candidates is not None:
                candidates = questions.candidates[rows]
                features = self._images.take(candidates.ravel().tolist()).reshape(*candidates.shape, -1)
                found["candidate_features"] = torch.from_numpy(features)
        return found

    def fit(self, model: FittedModel, train: Examples) -> None:
        """Fit a model that counts to its training questions, whose answers are in the vocabulary."""
        labels = torch.tensor([self._index[text] for text in train.targets])
        model.fit(labels, **self.tensors(train, np.arange(len(train))))

    def batches(self, train: Examples, settings: TrainingSettings) -> Batches:
        """The batches of each step; a multiple-choice model gets each question with decoys of one kind."""
        size, seed = settings.effective.batch_size, settings.seed
        answers = None if self._vocabulary is None else self._answer_labels(train, settings.targets)

        def part(number: int, process: int, processes: int) -> tuple[dict[str, Tensor], float]:
            rows, rng = step_rows(len(train), size, number, seed), philox(seed, 2 * number + 1)
            share = np.array_split(np.arange(len(rows)), processes)[process]
            if answers is not None:
                labels = {"labels": answers(rows, rng)[share]}
                if train.picked is not None:
                    labels["picked"] = torch.from_numpy(train.picked[rows[share]])
                return self.tensors(train, rows[share]) | labels, len(share) / len(rows)
            sampled = sampled_choices(train, rows, DECOYS, rng)
            texts = np.where(sampled == NONE, NONE, np.take_along_axis(train.choices[rows], sampled, 1))
            labels = {"labels": torch.zeros(len(share), dtype=torch.int64)}
            weight = float((texts[share] != NONE).sum() / (texts != NONE).sum())
            return self.tensors(train, rows[share], texts[share]) | labels, weight

        return part

    def _answer_labels(
        self, train: Examples, targets: str
    ) -> Callable[[NDArray[np.int64], np.random.Generator], Tensor]:
        """From rows to the labels of training questions: indices of answers, or scores of all answers."""
        index = self._index
        of_target = np.array([index[text] for text in train.targets], np.int64)
        known = [  # the target is always among the known answers
            [index[text] for text in texts if text in index] or [index[target]]
            for texts, target in zip(train.answers, train.targets, strict=True)
        ]

        def labels(rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
            if targets == "answer":
                return torch.from_numpy(of_target[rows])
            if targets == "annotator":
                drawn = zip(rows.tolist(), rng.random(len(rows)), strict=True)
                return torch.tensor([known[row][int(at * len(known[row]))] for row, at in drawn])
            scores = np.zeros((len(rows), len(index)), np.float32)
            for at, row in enumerate(rows.tolist()):
                answers, counts = np.unique(known[row], return_counts=True)
                scores[at, answers] = soft_scores(counts, len(train.answers[row]))
            return torch.from_numpy(scores)

        return labels

    def evaluate(
        self, model: "PreTrainedModel", questions: Examples, accelerator: Accelerator, progress: Progress = silent
    ) -> Predictions:
        """Answer all questions, in all processes together; all return the same. Raises InputError for NaN scores."""
        model.train(False)
        on_cpu, is_large = accelerator.device.type == "cpu", questions.candidates is not None
        if self._images is not None:
            is_large |= self._images.kind.input_name != "image_features"
        size = GRIDS_AT_ONCE if is_large else AT_ONCE if self._vocabulary is not None else CHOICES_AT_ONCE
        firsts = range(0, len(questions), size)
        mine = range(accelerator.process_index, len(firsts), accelerator.num_processes)

        def block(number: int) -> tuple[int, dict[str, NDArray[Any]]]:
            if on_cpu:  # the number of threads per product would change the last digits
                torch.set_num_threads(1)  # partly affects the whole process, whose number is restored below
            with torch.no_grad():  # it is thread-local
                rows = np.arange(firsts[number], min(firsts[number] + size, len(questions)))
                return number, self._outputs(model, questions, rows)

        threads, found = torch.get_num_threads(), {}
        workers = threads if on_cpu else 1
        try:
            with contextlib.closing(ahead(block, mine, 2 * workers, workers)) as blocks_done:
                for number, of_block in blocks_done:
                    found[number] = of_block
                    progress("scoring", number + 1, len(firsts))
        finally:
            torch.set_num_threads(threads)
        gathered = gather_object([*found.items()]) if accelerator.num_processes > 1 else found.items()
        blocks = [block for _, block in sorted(gathered, key=lambda block: block[0])]
        columns: dict[str, Any] = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        if self._vocabulary is None:
            return Predictions(questions, columns["logits"].argmax(1), columns["logits"])
        texts = [self._vocabulary[index] for index in columns.pop("best").tolist()]
        return Predictions(questions, columns.pop("labels", None), None, texts, self._index.keys(), **columns)

    def _outputs(
        self, model: "PreTrainedModel", questions: Examples, rows: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """The scores of the choices, or the best answers, with maps of attention and scores of candidate images."""
        tensors = self.tensors(questions, rows, questions.choices[rows] if self._vocabulary is None else None)
        output = model(**{name: tensor.to(model.device) for name, tensor in tensors.items()})
        check_finite(questions, output.logits.isfinite().all())
        logits = output.logits.float().cpu().numpy()
        if self._vocabulary is None:
            return {"logits": logits}
        found = {"best": output.logits.argmax(1).cpu().numpy()}
        if questions.has_choices:  # the answer index of each choice
            texts = questions.choice_texts
            chosen = [[NO_ANSWER if one == NONE else self._index.get(texts[one], NO_ANSWER) for one in row]
                      for row in questions.choices[rows].tolist()]  # fmt: skip
            indices = np.array(chosen)
            known = np.take_along_axis(logits, indices.clip(0), 1)
            found["labels"] = np.where(indices == NO_ANSWER, -np.inf, known).argmax(1)
        if output.attentions is not None:
            attention = torch.stack(output.attentions).mean(0).float().cpu().numpy()
            side, found["attention"] = isqrt(attention.shape[1]), (attended := np.empty(len(rows), object))
            views = None if self._images is None else self._images.views([questions.image_ids[row] for row in rows])
            for number, one in enumerate(attention):
                if "region_boxes" in tensors:
                    boxes, real = (tensors[name][number].numpy() for name in ("region_boxes", "region_mask"))
                    attended[number] = np.column_stack([boxes, one])[real]
                elif views is not None:
                    attended[number] = np.column_stack([cell_boxes(side, views[number]), one])
                else:
                    attended[number] = one.reshape(side, side).T
        if questions.candidates is not None:
            ranked = torch.stack([output.candidate_scores, output.candidate_same], -1)
            found["ranked"] = ranked.float().cpu().numpy()
        return found


def soft_scores(counts: NDArray[np.int64], annotators: int) -> NDArray[np.float64]:
    """The consensus accuracy of answers that so many annotators gave: of ten, 0.3, 0.6, 0.9, 1.0 from four on.

    As VQA's program does, the mean over the annotators of min(1, matches among the others / 3); 1 for one annotator.
    """
    if annotators == 1:
        return np.ones(len(counts))
    of_those = counts * np.minimum((counts - 1) / 3, 1.0)
    of_others = (annotators - counts) * np.minimum(counts / 3, 1.0)
    return np.asarray((of_those + of_others) / annotators)
