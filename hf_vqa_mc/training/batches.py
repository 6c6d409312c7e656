"""The batches of training steps: sampled questions and decoys, and their tensors.

A batch depends only on the seed and the step, not on interruptions or the number of processes.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.models.model import IMAGE_INPUTS
from hf_vqa_mc.training.questions import NONE, Questions


class Inputs:
    """Converts questions to a model's tensors.

    Args:
        texts: all texts of the dataset.
        used: int64: indices of the texts to encode.
        text: word vectors.
        needed: `Model.inputs`.
        images: image features, if the model sees images.
    """

    def __init__(
        self,
        texts: list[str],
        used: NDArray[np.int64],
        text: TextFeatures,
        needed: Collection[str],
        images: ImageFeatures | None,
    ) -> None:
        self.needed = frozenset(needed)
        self.images = images
        self.vectors = np.zeros((len(texts), text.dim), np.float32)
        """(texts, dim); 0 for texts that are not used"""
        self.vectors[used] = text.encode([texts[number] for number in used])
        self._texts, self._text = texts, text

    def tensors(self, questions: Questions, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of a batch.

        Args:
            questions: of a split.
            rows: (batch,): indices of the questions.
            choices: (batch, choices): text indices of the choices, padded with NONE.
        """
        valid = choices != NONE
        distinct, indices = np.unique(np.where(valid, choices, choices[:, :1]), return_inverse=True)
        found = {
            "choice_vectors": torch.from_numpy(self.vectors[distinct]),
            "choice_indices": torch.from_numpy(indices.reshape(choices.shape)),
        }
        if not valid.all():
            found["choice_mask"] = torch.from_numpy(valid)
        texts = questions.texts[rows]
        if "question_vectors" in self.needed:
            found["question_vectors"] = torch.from_numpy(self.vectors[texts])
        if "question_tokens" in self.needed:
            tokens, mask = self._text.encode_words([self._texts[text] for text in texts])
            found |= {"question_tokens": torch.from_numpy(tokens), "question_mask": torch.from_numpy(mask)}
        if self.images is not None:
            (name,) = self.needed.intersection(IMAGE_INPUTS)
            found[name] = torch.from_numpy(self.images.take([questions.image_ids[row] for row in rows]))
        return found


class Sample(NamedTuple):
    """The questions of a step and their choices."""

    rows: NDArray[np.int64]
    """(questions,): indices of the training questions"""
    choices: NDArray[np.int64]
    """(questions, 1 + decoys): indices of the target, then of the decoys, padded with NONE"""


class Sampler:
    """Samples the questions and decoys of each step.

    Each epoch is a permutation of all questions; batches can span two epochs.

    Args:
        questions: for training.
        batch_size: questions per step.
        decoys: maximum number per question: a kind of decoys is drawn uniformly, then decoys of that kind (Chao et al.
            2018, supplement A.4).
        seed: random seed.
    """

    def __init__(self, questions: Questions, batch_size: int, decoys: int, seed: int) -> None:
        self._kinds, self._labels = questions.kinds, questions.labels
        self._batch_size, self._decoys, self._seed = batch_size, decoys, seed
        self._orders: dict[int, NDArray[np.int64]] = {}

    def step(self, number: int) -> Sample:
        """The sample of a step, from 0."""
        rows = self._rows(number)
        rng = self._rng(2 * number + 1)
        kinds = self._kinds[rows]
        kinds[np.arange(len(rows)), self._labels[rows]] = NONE  # exclude the target
        keys = rng.random((len(rows), kinds.max() + 1)) if kinds.max() >= 0 else np.ones((len(rows), 1))
        for kind in range(keys.shape[1]):
            keys[~(kinds == kind).any(1), kind] = 2.0
        of_kind = kinds == keys.argmin(1)[:, None]
        order = np.where(of_kind, rng.random(kinds.shape), 2.0).argsort(1)[:, : self._decoys]
        decoys = np.where(np.take_along_axis(of_kind, order, 1), order, NONE)
        return Sample(rows, np.concatenate([self._labels[rows][:, None], decoys], 1))

    def _rows(self, number: int) -> NDArray[np.int64]:
        positions = np.arange(number * self._batch_size, (number + 1) * self._batch_size)
        epochs, rows = np.divmod(positions, len(self._labels))
        self._orders = {epoch: self._order(epoch) for epoch in np.unique(epochs).tolist()}
        return np.concatenate([order[rows[epochs == epoch]] for epoch, order in self._orders.items()])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        return self._orders[epoch] if epoch in self._orders else self._rng(2 * epoch).permutation(len(self._labels))

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=[self._seed % 2**64, purpose]))


class Part(NamedTuple):
    """A micro-batch: one forward and backward pass of one process."""

    tensors: dict[str, Tensor]
    """arguments of the model; the labels are all 0"""
    weight: float
    """fraction of the step's candidates"""


def parts(
    sample: Sample, questions: Questions, inputs: Inputs, process: int, processes: int, count: int
) -> list[Part]:
    """The ``count`` micro-batches of a step for one process (from 0)."""
    shares = np.array_split(np.arange(len(sample.rows)), processes * count)[process * count : (process + 1) * count]
    candidates = (sample.choices != NONE).sum()
    found = []
    for share in shares:
        rows, choices = sample.rows[share], sample.choices[share]
        texts = np.where(choices == NONE, NONE, np.take_along_axis(questions.choices[rows], choices, 1))
        tensors = inputs.tensors(questions, rows, texts) | {"labels": torch.zeros(len(rows), dtype=torch.int64)}
        found.append(Part(tensors, float((choices != NONE).sum() / candidates)))
    return found
