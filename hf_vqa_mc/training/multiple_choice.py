"""Training and evaluation of models that score the choices of a question."""

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.candidate_scores import ROWS, Table, candidate_scores, in_threads
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa
from hf_vqa_mc.training.answered import Picked
from hf_vqa_mc.training.batches import Batches, Part, Sample, Sampler, by_blocks, share_of
from hf_vqa_mc.training.metric import CONSENSUS, consensus_of_choices
from hf_vqa_mc.training.questions import NONE, Questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Collection

    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE = 128
"""Questions per forward pass."""


class MultipleChoice:
    """Picking one of a question's choices.

    Args:
        texts: `Splits.texts`.
        used: indices of the texts that occur, which are encoded once.
        text: word vectors.
        inputs: those of the model.
        images: features, if the model sees images.
    """

    def __init__(
        self,
        texts: list[str],
        used: NDArray[np.int64],
        text: TextFeatures,
        inputs: "Collection[str]",
        images: ImageFeatures | None,
    ) -> None:
        self._inputs, self._images, self._texts, self._text = frozenset(inputs), images, texts, text
        self._vectors = np.zeros((len(texts), text.dim), np.float32)
        self._vectors[used] = text.encode([texts[number] for number in used])
        self._consensus: dict[Questions, NDArray[np.float64]] = {}

    def tensors(self, questions: Questions, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``; choices (batch, choices) are text indices, padded with NONE."""
        valid = choices != NONE
        distinct, indices = np.unique(np.where(valid, choices, choices[:, :1]), return_inverse=True)
        found = {
            "choice_vectors": torch.from_numpy(self._vectors[distinct]),
            "choice_indices": torch.from_numpy(indices.reshape(choices.shape)),
        }
        if not valid.all():
            found["choice_mask"] = torch.from_numpy(valid)
        texts = questions.texts[rows]
        if "question_vectors" in self._inputs:
            found["question_vectors"] = torch.from_numpy(self._vectors[texts])
        if "question_tokens" in self._inputs:
            tokens, mask = self._text.encode_words([self._texts[text] for text in texts])
            found |= {"question_tokens": torch.from_numpy(tokens), "question_mask": torch.from_numpy(mask)}
        if self._images is not None:
            found |= self._images.tensors([questions.image_ids[row] for row in rows])
        return found

    def batches(self, train: Questions, settings: TrainingSettings) -> Batches:
        """The batches of each step; each question comes with decoys of one kind."""
        sampler = Sampler(train, settings.recipe.batch_size, settings.decoys_per_question, settings.seed)
        return lambda number, process, processes: self.part(sampler.step(number), train, process, processes)

    def part(self, sample: Sample, questions: Questions, process: int, processes: int) -> Part:
        """The share of a step's batch for one process (from 0)."""
        share = share_of(len(sample.rows), process, processes)
        rows, choices = sample.rows[share], sample.choices[share]
        texts = np.where(choices == NONE, NONE, np.take_along_axis(questions.choices[rows], choices, 1))
        tensors = self.tensors(questions, rows, texts) | {"labels": torch.zeros(len(rows), dtype=torch.int64)}
        return Part(tensors, float((choices != NONE).sum() / (sample.choices != NONE).sum()))

    def evaluate(
        self,
        model: "PreTrainedModel",
        questions: Questions,
        accelerator: "Accelerator",
        progress: Progress = silent,
    ) -> Picked:
        """Score all choices; blocks of questions are distributed over processes, all return the same.

        Raises InputError if a score is not finite.
        """
        model.train(False)
        logits = np.concatenate(
            by_blocks(
                len(questions),
                ROWS,
                lambda block: self._scores(model, questions, block, accelerator.device),
                accelerator,
                progress,
            )
        )
        if not np.isfinite(logits).all():
            raise InputError(
                f"{questions.location}: the model's scores are not all finite; check its weights and the image "
                "features"
            )
        if questions.metric == CONSENSUS and questions not in self._consensus:
            self._consensus[questions] = consensus_of_choices(questions.choice_lists(), questions.answers)
        return Picked(questions, logits, self._consensus.get(questions))

    def _scores(
        self, model: "PreTrainedModel", questions: Questions, block: slice, device: torch.device
    ) -> NDArray[np.float32]:
        """The scores of a block of questions, (questions, choices)."""
        on_cpu = device.type == "cpu"
        if isinstance(model, MlpForMultipleChoiceVqa) and on_cpu:
            return self._from_tables(model, questions, block)
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
                    logits = model(**{name: tensor.to(device) for name, tensor in tensors.items()}).logits
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
