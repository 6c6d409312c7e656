"""Training and evaluation of models that answer from a vocabulary of answers."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.model import FittedModel
from hf_vqa_mc.models.open_ended_texts import OpenEndedTexts
from hf_vqa_mc.models.question_words import PADDING, UNKNOWN, sparse_bags
from hf_vqa_mc.scoring.gqa_grounding import box_weights, covered
from hf_vqa_mc.training.answered import Answered, check_finite
from hf_vqa_mc.training.batches import Batches, Order, Part, by_blocks
from hf_vqa_mc.training.questions import Questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE, GRIDS_AT_ONCE = 1024, 64  # questions per forward pass, without and with a grid or regions of the image
NO_ANSWER = -1  # answer index of a question whose answer is not in the vocabulary
MAP_SIDE = 7  # cells per side of maps of attention to regions: those of GQA's program (``--mapSize``)

logger = logging.getLogger(__name__)


class OpenEnded:
    """Answering from a vocabulary; the distinct ``questions``, `Splits.texts`, are converted once."""

    def __init__(
        self,
        questions: list[str],
        texts: OpenEndedTexts,
        inputs: Collection[str],
        images: ImageFeatures | None,
        vocabulary: Sequence[str],
    ) -> None:
        self._texts, self._images, self._inputs = texts, images, frozenset(inputs)
        self._vocabulary = list(vocabulary)
        self._index = {text: number for number, text in enumerate(vocabulary)}
        self._indices = texts.words.indices(questions) if "question_indices" in inputs else None
        self._bags = sparse_bags(texts.words, questions) if "question_bags" in inputs else None
        self._vectors = texts.tensors({"question_vectors"} & self._inputs, questions=questions)
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

    def tensors(self, questions: Questions, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``."""
        texts = questions.texts[rows]
        captions = [questions.captions[row] for row in rows] if questions.captions else None
        groups = [questions.groups[row] if questions.groups else "" for row in rows]
        inputs = self._inputs & {"caption_bags", "question_groups"}
        found = self._texts.tensors(inputs, captions=captions, groups=groups)
        if self._indices is not None:
            indices = self._indices[texts]
            found["question_indices"] = torch.from_numpy(indices[:, (indices != PADDING).any(0)])
        if self._bags is not None:
            found["question_bags"] = torch.from_numpy(self._bags[texts].toarray())
        if "question_layouts" in self._inputs:
            layouts = self._layouts[texts]
            found["question_layouts"] = torch.from_numpy(layouts[:, layouts[:, :, 0].any(0)]).long()
        found |= {name: vectors[torch.from_numpy(texts)] for name, vectors in self._vectors.items()}
        if self._images is not None:
            found |= self._images.tensors([questions.image_ids[row] for row in rows])
            if questions.candidates is not None:
                candidates = questions.candidates[rows]
                features = self._images.take(candidates.ravel().tolist()).reshape(*candidates.shape, -1)
                found["candidate_features"] = torch.from_numpy(features)
        return found

    def fit(self, model: FittedModel, train: Questions) -> None:
        """Fit a model that counts to its training questions, whose answers are in the vocabulary."""
        labels = torch.tensor([self._index[text] for text in train.targets])
        model.fit(labels, **self.tensors(train, np.arange(len(train))))

    def batches(self, train: Questions, settings: TrainingSettings) -> Batches:
        """The batches of each step."""
        order = Order(len(train), settings.recipe.batch_size, settings.seed)
        labels = _labels(train, self._index, settings.targets)

        def part(number: int, process: int, processes: int) -> Part:
            rows = order.rows(number)
            correct = {"labels": labels(rows, order.rng(number))}
            if train.picked is not None:
                correct["picked"] = torch.from_numpy(train.picked[rows])
            share = np.array_split(np.arange(len(rows)), processes)[process]
            tensors = self.tensors(train, rows[share]) | {name: of[share] for name, of in correct.items()}
            return Part(tensors, len(share) / len(rows))

        return part

    @torch.no_grad()
    def evaluate(
        self, model: "PreTrainedModel", questions: Questions, accelerator: "Accelerator", progress: Progress = silent
    ) -> Answered:
        """Answer all questions; as `MultipleChoice.evaluate`."""
        model.train(False)
        of_choices = None
        if questions.has_choices:  # answer index of each choice; NONE, which pads the choices, is the last
            answers = [self._index.get(text, NO_ANSWER) for text in questions.choice_texts]
            of_choices = np.array([*answers, NO_ANSWER])[questions.choices]

        def answered(block: slice) -> dict[str, NDArray[Any]]:
            rows = np.arange(block.start, block.stop)
            tensors = self.tensors(questions, rows)
            output = model(**{name: tensor.to(accelerator.device) for name, tensor in tensors.items()})
            logits = output.logits
            check_finite(questions, logits.isfinite().all())
            found = {"best": logits.argmax(1).cpu().numpy()}
            if of_choices is not None:
                known = np.take_along_axis(logits.float().cpu().numpy(), of_choices[rows].clip(0), 1)
                found["picked"] = np.where(of_choices[rows] == NO_ANSWER, -np.inf, known).argmax(1)
            if output.attentions is not None:
                attention = torch.stack(output.attentions).mean(0).float().cpu().numpy()
                if "region_boxes" in tensors:
                    attention = region_maps(attention, tensors["region_boxes"].numpy())
                elif self._images is not None:
                    views = self._images.views([questions.image_ids[row] for row in rows])
                    attention = attention if views is None else cell_maps(attention, views)
                found["attention"] = attention
            if questions.candidates is not None:
                ranked = torch.stack([output.candidate_scores, output.candidate_same], -1)
                found["ranked"] = ranked.float().cpu().numpy()
            return found

        is_large = self._images is not None and self._images.kind.input_name != "image_features"
        at_once = GRIDS_AT_ONCE if is_large or questions.candidates is not None else AT_ONCE
        blocks = by_blocks(len(questions), at_once, answered, accelerator, progress)
        columns: dict[str, Any] = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        return Answered(questions, self._vocabulary, **{"picked": None, **columns})


def _labels(
    train: Questions, index: Mapping[str, int], targets: str
) -> Callable[[NDArray[np.int64], np.random.Generator], Tensor]:
    """From rows to the labels of training questions: indices of answers, or scores of all answers."""
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


def soft_scores(counts: NDArray[np.int64], annotators: int) -> NDArray[np.float64]:
    """The consensus accuracy of answers that so many annotators gave: of ten, 0.3, 0.6, 0.9, 1.0 from four on.

    As VQA's program does, the mean over the annotators of min(1, matches among the others / 3); 1 for one annotator.
    """
    if annotators == 1:
        return np.ones(len(counts))
    of_those = counts * np.minimum((counts - 1) / 3, 1.0)
    of_others = (annotators - counts) * np.minimum(counts / 3, 1.0)
    return np.asarray((of_those + of_others) / annotators)


def region_maps(attention: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Spread attention to regions (questions, regions) evenly over boxes: float32 (questions, `MAP_SIDE`²)."""
    weights = box_weights(boxes.reshape(-1, 4), MAP_SIDE).reshape(*attention.shape, -1)
    return np.asarray(np.einsum("qr,qrc->qc", attention, weights), np.float32)


def cell_maps(attention: NDArray[np.float32], views: NDArray[np.float64]) -> NDArray[np.float32]:
    """Maps of whole images from attention (questions, cells) to grids that cover a part of each image.

    ``views`` are (questions, 4), see `Box`. Returns float32 (questions, cells): the attention to each cell of the
    image, at least `MAP_SIDE` per side, in row-major order.
    """
    side = isqrt(attention.shape[1])
    size = max(side, MAP_SIDE)

    def shares(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each row or column of the grid in those of the map, (questions, side, size)."""
        edges = np.linspace(first, last, side + 1, axis=1)
        inside = covered(edges[:, :-1].ravel(), edges[:, 1:].ravel(), size)
        return np.asarray(inside / inside.sum(1, keepdims=True)).reshape(len(views), side, size)

    left, top, right, bottom = views.T
    grid, rows, columns = attention.reshape(-1, side, side), shares(top, bottom), shares(left, right)
    maps = np.einsum("qij,qiy,qjx->qyx", grid, rows, columns, optimize=True)
    return np.asarray(maps.reshape(len(maps), -1), np.float32)
