"""Training and evaluation of models that answer from a vocabulary of answers."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.model import FittedModel
from hf_vqa_mc.models.open_ended_texts import OpenEndedTexts
from hf_vqa_mc.models.question_words import PADDING, UNKNOWN, sparse_bags
from hf_vqa_mc.training.answered import Answered, cell_maps, region_maps
from hf_vqa_mc.training.batches import Batches, Order, Part, by_blocks, share_of
from hf_vqa_mc.training.candidates import Ranked
from hf_vqa_mc.training.questions import Questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE, GRIDS_AT_ONCE = 1024, 64
"""Questions per forward pass, without and with a grid or regions of the image."""
NO_ANSWER = -1
"""Answer index of a question whose answer is not in the vocabulary."""

logger = logging.getLogger(__name__)


class AnswerInputs:
    """Converts questions to a model's tensors; all distinct questions are converted once."""

    def __init__(
        self, questions: list[str], texts: OpenEndedTexts, needed: Collection[str], images: ImageFeatures | None
    ) -> None:
        self._texts, self._images, self._needed = texts, images, frozenset(needed)
        self._indices = texts.words.indices(questions) if "question_indices" in needed else None
        self._lengths = None if self._indices is None else (self._indices != PADDING).sum(1)
        self._bags = sparse_bags(texts.words, questions) if "question_bags" in needed else None
        self._vectors = None
        if "question_vectors" in needed:
            self._vectors = texts.tensors(["question_vectors"], questions=questions)["question_vectors"]
        self._layouts = (
            texts.layouts.tensor(questions) if texts.layouts else np.zeros((len(questions), 0, 5), np.int32)
        )

    def unknown_words(self, questions: Questions) -> int:
        """The number of questions whose layouts have words that training layouts lack, which is logged, too."""
        count = int((self._layouts[questions.texts, :, 1] == UNKNOWN).any(1).sum())
        if count:
            of = f"{count:,} of {len(questions):,} questions"
            logger.info("layouts of %s have words that are rare in training or new; these share a vector", of)
        return count

    @property
    def has_grid(self) -> bool:
        """Whether the model sees a grid or regions of the image."""
        return self._images is not None and self._images.kind.input_name != "image_features"

    def views(self, questions: Questions, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """See `ImageFeatures.views`."""
        return self._images.views([questions.image_ids[row] for row in rows]) if self._images is not None else None

    def tensors(self, questions: Questions, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``."""
        texts = questions.texts[rows]
        of_rows = {
            name: None if column is None else [column[row] for row in rows]
            for name, column in (("captions", questions.captions), ("groups", questions.groups))
        }
        if questions.groups is None:
            of_rows["groups"] = [""] * len(rows)
        found = self._texts.tensors(self._needed & {"caption_bags", "question_groups"}, **of_rows)
        if self._indices is not None and self._lengths is not None:
            found["question_indices"] = torch.from_numpy(self._indices[texts, : self._lengths[texts].max()])
        if self._bags is not None:
            found["question_bags"] = torch.from_numpy(self._bags[texts].toarray())
        if "question_layouts" in self._needed:
            layouts = self._layouts[texts]
            found["question_layouts"] = torch.from_numpy(layouts[:, layouts[:, :, 0].any(0)]).long()
        if self._vectors is not None:
            found["question_vectors"] = self._vectors[torch.from_numpy(texts)]
        if self._images is not None:
            found |= self._images.tensors([questions.image_ids[row] for row in rows])
            if questions.candidates is not None:
                candidates = questions.candidates[rows]
                features = self._images.take(candidates.ravel().tolist()).reshape(*candidates.shape, -1)
                found["candidate_features"] = torch.from_numpy(features)
        return found


class OpenEnded:
    """Answering from a vocabulary."""

    def __init__(self, inputs: AnswerInputs, vocabulary: Sequence[str]) -> None:
        self._inputs, self._vocabulary = inputs, list(vocabulary)
        self._index = {text: number for number, text in enumerate(vocabulary)}

    def fit(self, model: FittedModel, train: Questions) -> None:
        """Fit a model that counts to its training questions, whose answers are in the vocabulary."""
        labels = torch.tensor([self._index[text] for text in train.targets])
        model.fit(labels, **self._inputs.tensors(train, np.arange(len(train))))

    def batches(self, train: Questions, settings: TrainingSettings) -> Batches:
        """The batches of each step."""
        order = Order(len(train), settings.recipe.batch_size, settings.seed)
        labels = _Labels(train, self._index, settings.targets)

        def part(number: int, process: int, processes: int) -> Part:
            rows = order.rows(number)
            correct = {"labels": labels.of(rows, order.rng(number))}
            if train.picked is not None:
                correct["picked"] = torch.from_numpy(train.picked[rows])
            share = share_of(len(rows), process, processes)
            tensors = self._inputs.tensors(train, rows[share]) | {name: of[share] for name, of in correct.items()}
            return Part(tensors, len(share) / len(rows))

        return part

    @torch.no_grad()
    def evaluate(
        self,
        model: "PreTrainedModel",
        questions: Questions,
        accelerator: "Accelerator",
        progress: Progress = silent,
    ) -> Answered:
        """Answer all questions; as `MultipleChoice.evaluate`."""
        model.train(False)
        of_choices = self._of_choices(questions)

        def answered(block: slice) -> tuple[NDArray[Any], ...]:
            rows = np.arange(block.start, block.stop)
            tensors = self._inputs.tensors(questions, rows)
            output = model(**{name: tensor.to(accelerator.device) for name, tensor in tensors.items()})
            logits, maps = output.logits, output.attentions
            if not logits.isfinite().all():
                raise InputError(
                    f"{questions.location}: the model's scores are not all finite; check its weights and the image "
                    "features"
                )
            picked = np.empty(0, np.int64)
            if of_choices is not None:
                scores = logits.float().cpu().numpy()
                known = np.take_along_axis(scores, of_choices[rows].clip(0), 1)
                picked = np.where(of_choices[rows] == NO_ANSWER, -np.inf, known).argmax(1)
            attention = np.empty((len(rows), 0), np.float32)
            if maps is not None:
                attention = torch.stack(maps).mean(0).float().cpu().numpy()
                if "region_boxes" in tensors:
                    attention = region_maps(attention, tensors["region_boxes"].numpy())
                elif (views := self._inputs.views(questions, rows)) is not None:
                    attention = cell_maps(attention, views)
            ranked = np.empty((len(rows), 0, 2), np.float32)
            if questions.candidates is not None:
                ranked = torch.stack([output.candidate_scores, output.candidate_same], -1).float().cpu().numpy()
            return logits.argmax(1).cpu().numpy(), picked, attention, ranked

        at_once = GRIDS_AT_ONCE if self._inputs.has_grid or questions.candidates is not None else AT_ONCE
        found = by_blocks(len(questions), at_once, answered, accelerator, progress)
        best, picked, attention, ranked = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Answered(
            questions,
            self._vocabulary,
            best,
            None if of_choices is None else picked,
            attention if attention.size else None,
            Ranked(ranked[..., 0], ranked[..., 1]) if ranked.size else None,
        )

    def _of_choices(self, questions: Questions) -> NDArray[np.int64] | None:
        """(questions, choices): answer index of each choice, padded with NO_ANSWER; None without choices."""
        if not questions.has_choices:
            return None
        answers = [self._index.get(text, NO_ANSWER) for text in questions.choice_texts]
        return np.array([*answers, NO_ANSWER])[questions.choices]  # NONE is the last


class _Labels:
    """The labels of training questions: indices of answers, or scores of all answers."""

    def __init__(self, train: Questions, index: Mapping[str, int], targets: str) -> None:
        self._targets, self._size = targets, len(index)
        self._index = np.array([index[text] for text in train.targets], np.int64)
        self._known = [
            [index[text] for text in texts if text in index] or [index[target]]
            for texts, target in zip(train.answers, train.targets, strict=True)
        ]
        self._annotators = [len(texts) for texts in train.answers]

    def of(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """The labels of some questions."""
        if self._targets == "answer":
            return torch.from_numpy(self._index[rows])
        known = [self._known[row] for row in rows.tolist()]
        if self._targets == "annotator":  # the target is always among the known answers
            drawn = [of_row[int(at * len(of_row))] for of_row, at in zip(known, rng.random(len(rows)), strict=True)]
            return torch.tensor(drawn)
        scores = np.zeros((len(rows), self._size), np.float32)
        for at, (row, of_row) in enumerate(zip(rows.tolist(), known, strict=True)):
            answers, counts = np.unique(of_row, return_counts=True)
            scores[at, answers] = soft_scores(counts, self._annotators[row])
        return torch.from_numpy(scores)


def soft_scores(counts: NDArray[np.int64], annotators: int) -> NDArray[np.float64]:
    """The consensus accuracy of answers that so many annotators gave: of ten, 0.3, 0.6, 0.9, 1.0 from four on.

    As VQA's program does, the mean over the annotators of min(1, matches among the others / 3); 1 for one annotator.
    """
    if annotators == 1:
        return np.ones(len(counts))
    of_those = counts * np.minimum((counts - 1) / 3, 1.0)
    of_others = (annotators - counts) * np.minimum(counts / 3, 1.0)
    found: NDArray[np.float64] = (of_those + of_others) / annotators
    return found
