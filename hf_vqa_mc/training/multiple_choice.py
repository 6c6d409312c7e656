"""Training and evaluation of models that score the choices of a question."""

from collections.abc import Collection
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.candidate_scores import ROWS, Table, candidate_scores, in_threads
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa
from hf_vqa_mc.training.answered import Picked, check_finite
from hf_vqa_mc.training.batches import Batches, Order, Part, by_blocks, sampled_choices
from hf_vqa_mc.training.questions import NONE, Questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE = 128  # questions per forward pass


class MultipleChoice:
    """Picking one of a question's choices, whose ``used`` texts of `Splits.texts` are encoded once."""

    def __init__(
        self,
        texts: list[str],
        used: NDArray[np.int64],
        text: TextFeatures,
        inputs: Collection[str],
        images: ImageFeatures | None,
    ) -> None:
        self._inputs, self._images, self._texts, self._text = inputs, images, texts, text
        self._vectors = np.zeros((len(texts), text.dim), np.float32)
        self._vectors[used] = text.encode([texts[number] for number in used])

    def tensors(self, questions: Questions, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``; choices (batch, choices) are text indices, padded with NONE."""
        valid = choices != NONE
        distinct, indices = np.unique(np.where(valid, choices, choices[:, :1]), return_inverse=True)
        found = {"choice_vectors": self._vectors[distinct], "choice_indices": indices.reshape(choices.shape)}
        if not valid.all():
            found["choice_mask"] = valid
        texts = questions.texts[rows]
        if "question_vectors" in self._inputs:
            found["question_vectors"] = self._vectors[texts]
        if "question_tokens" in self._inputs:
            words = self._text.encode_words([self._texts[text] for text in texts])
            found |= dict(zip(("question_tokens", "question_mask"), words, strict=True))
        tensors = {name: torch.from_numpy(array) for name, array in found.items()}
        if self._images is not None:
            tensors |= self._images.tensors([questions.image_ids[row] for row in rows])
        return tensors

    def batches(self, train: Questions, settings: TrainingSettings) -> Batches:
        """The batches of each step; each question comes with decoys of one kind."""
        order = Order(len(train), settings.recipe.batch_size, settings.seed)

        def part(number: int, process: int, processes: int) -> Part:
            rows = order.rows(number)
            sampled = sampled_choices(train, rows, settings.decoys_per_question, order.rng(number))
            texts = np.where(sampled == NONE, NONE, np.take_along_axis(train.choices[rows], sampled, 1))
            share = np.array_split(np.arange(len(rows)), processes)[process]
            tensors = self.tensors(train, rows[share], texts[share])
            labels = torch.zeros(len(share), dtype=torch.int64)
            return Part(tensors | {"labels": labels}, float((texts[share] != NONE).sum() / (texts != NONE).sum()))

        return part

    def evaluate(
        self, model: "PreTrainedModel", questions: Questions, accelerator: "Accelerator", progress: Progress = silent
    ) -> Picked:
        """Score all choices, in all processes together; all return the same. Raises InputError for NaN scores."""
        model.train(False)
        score = partial(self._scores, model, questions)
        if isinstance(model, MlpForMultipleChoiceVqa) and accelerator.device.type == "cpu":
            score = partial(self._from_tables, model, questions)
        logits = np.concatenate(by_blocks(len(questions), ROWS, score, accelerator, progress))
        check_finite(questions, np.isfinite(logits).all())
        return Picked(questions, logits)

    def _scores(self, model: "PreTrainedModel", questions: Questions, block: slice) -> NDArray[np.float32]:
        """The scores of a block of questions, (questions, choices)."""
        on_cpu = model.device.type == "cpu"
        starts = range(block.start, block.stop, AT_ONCE)
        batches = [np.arange(first, min(first + AT_ONCE, block.stop)) for first in starts]
        found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(batches)
        reading = Lock()

        def score(low: int, high: int) -> None:
            if on_cpu:  # the number of threads per product would change the last digits
                torch.set_num_threads(1)  # partly affects the whole process, whose number is restored below
            with torch.no_grad():  # it is thread-local
                for number in range(low, high):
                    with reading:
                        tensors = self.tensors(questions, batches[number], questions.choices[batches[number]])
                    logits = model(**{name: tensor.to(model.device) for name, tensor in tensors.items()}).logits
                    found[number] = logits.float().cpu().numpy()

        threads = torch.get_num_threads()
        try:
            if on_cpu:
                in_threads(score, len(batches), [])
            else:
                score(0, len(batches))
        finally:
            torch.set_num_threads(threads)
        return np.concatenate(found)

    def _from_tables(self, model: MlpForMultipleChoiceVqa, questions: Questions, block: slice) -> NDArray[np.float32]:
        """Scores of a block; each distinct image, question and answer passes the first layer once."""
        valid = questions.choices[block] != NONE
        seen = {}
        if "question_vectors" in self._inputs:
            seen["questions"] = Table(self._vectors, questions.texts[block])
        if self._images is not None:
            distinct, indices = np.unique(questions.image_ids[block], return_inverse=True)
            seen["images"] = Table(self._images.take(distinct.tolist()), indices)
        logits = np.full(valid.shape, np.finfo(np.float32).min)
        answers = Table(self._vectors, questions.choices[block][valid])
        logits[valid] = candidate_scores(model, answers, np.nonzero(valid)[0], **seen)
        return logits
