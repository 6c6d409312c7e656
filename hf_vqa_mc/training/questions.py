"""A dataset's rows for training, as arrays of indices of distinct texts, and batches of them as tensors."""

import hashlib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.data.loading import check_has_choices, load_tables
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.schema import QUESTIONS, checked_rows
from hf_vqa_mc.training.metric import CONSENSUS, filled_texts, human_answers, metric_of

NONE = -1
"""Padding for rows with fewer choices."""
ONE_KIND = 0
"""The kind of all decoys if the dataset has no choice_kinds."""

IDS = {"question_id": "text or whole numbers", "image_id": "text or whole numbers"}
_OPTIONAL = {"choice_kinds": "lists of whole numbers", "question_type": "text"}


@dataclass(frozen=True, eq=False)
class SplitQuestions:
    """The questions of a split, whatever their answers are; texts are indices into ``Splits.texts``."""

    location: str
    """location of the split, for messages"""
    question_ids: list[str]
    image_ids: list[str]
    texts: NDArray[np.int64]
    """(questions,): text index of each question"""
    together: list[str] | None = field(default=None, kw_only=True)
    """balanced pair or closed answer set of each question, "" for none; None if the dataset has neither"""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """A selection of the questions."""
        columns = {name: column for name, column in vars(self).items() if not isinstance(column, str | None)}
        taken: dict[str, Any] = {
            name: [column[row] for row in rows] if isinstance(column, list) else column[rows]
            for name, column in columns.items()
        }
        return replace(self, **taken)

    @property
    def has_answers(self) -> bool:
        """Whether the answers are known; those of some test splits are not published."""
        return True

    def hashed(self) -> Iterator[bytes | memoryview]:
        """The content that a checksum covers, in addition to ids."""
        yield np.ascontiguousarray(self.texts).data


@dataclass(frozen=True, eq=False)
class Questions(SplitQuestions):
    """The multiple-choice questions of a split."""

    choices: NDArray[np.int64]
    """(questions, choices): text index of each choice, padded with NONE"""
    kinds: NDArray[np.int8]
    """(questions, choices): kind of each choice, padded with NONE"""
    labels: NDArray[np.int64]
    """(questions,): index of the target"""
    types: list[str] | None = None
    """question types; None if the dataset has none"""
    answer_types: list[str] | None = None
    """such as yes/no, number and other; None if the dataset has none"""
    answers: list[list[str]] | None = None
    """all human answers if the dataset's metric is consensus accuracy, else None"""

    def hashed(self) -> Iterator[bytes | memoryview]:
        """The content that a checksum covers, in addition to ids."""
        for numbers in (self.texts, self.choices, self.kinds, self.labels):
            yield np.ascontiguousarray(numbers).data
        for texts in self.answers or ():
            yield "\n".join(texts).encode("utf-8", "surrogatepass")

    def used_texts(self) -> NDArray[np.int64]:
        """The text indices of all questions and choices, ascending."""
        return np.unique(np.concatenate([self.texts, self.choices[self.choices != NONE]]))


OfSplit = TypeVar("OfSplit", bound=SplitQuestions)


@dataclass(frozen=True, eq=False)
class Splits(Generic[OfSplit]):
    """A dataset's splits and their texts."""

    texts: list[str]
    """distinct texts"""
    splits: dict[str, OfSplit]

    def sha256(self) -> str:
        """Checksum of all questions."""
        digest = hashlib.sha256("\n".join(self.texts).encode("utf-8", "surrogatepass"))
        for split, of in self.splits.items():
            for names in ([split], of.question_ids, of.image_ids):
                digest.update("\n".join(names).encode("utf-8", "surrogatepass"))
            for content in of.hashed():
                digest.update(content)
        return digest.hexdigest()


def read_splits(dataset: str, config: str, rows: Mapping[str, pa.Table] | None = None) -> Splits[Questions]:
    """Read the questions of a dataset with the columns of `schema.QUESTIONS`, ``question_id`` and ``image_id``.

    ``rows`` are its splits if they were read already.
    """
    loaded = rows or load_tables(dataset, config)[1]
    for of_split in loaded.values():
        check_has_choices(of_split.column_names, dataset, config)
    number_of: dict[str, int] = {}
    splits = {
        split: _numbered(of_split, f"{dataset}, {config}, {split}", number_of) for split, of_split in loaded.items()
    }
    return Splits(list(number_of), splits)


def on_images(
    questions: OfSplit, images: Container[str] | None, skip: bool, what: str, remedy: str
) -> tuple[OfSplit, int]:
    """The questions on the given images, and the number of the others.

    Args:
        questions: of a split.
        images: contains the image_ids of the images with features or captions; None: all.
        skip: whether other questions are skipped.
        what: what other images lack, for messages.
        remedy: what to do about it, for messages.

    Raises:
        InputError: all lack it, or some lack it and ``skip`` is false.
    """
    if images is None:
        return questions, 0
    valid = np.array([image_id in images for image_id in questions.image_ids], np.bool_)
    lost = np.flatnonzero(~valid)
    if not len(lost):
        return questions, 0
    if not skip or len(lost) == len(valid):
        raise InputError(
            f"{questions.location}: {len(lost):,} of {len(valid):,} questions are on images without {what}, the first "
            f"on image_id {questions.image_ids[lost[0]]!r}; {remedy}, or skip such questions with --skip-missing"
        )
    return questions.take(np.flatnonzero(valid)), len(lost)


def held_out(image_ids: Sequence[str], part: float) -> NDArray[np.bool_]:
    """Mask (questions,) of the questions on held-out images, the same images in all configs of a dataset.

    An image is held out if the hash of its id is in the lowest ``part``, in [0, 1), of all hashes.
    """
    bound = int(part * 2**64)
    chosen = {
        image_id: int.from_bytes(hashlib.blake2b(f"held out:{image_id}".encode(), digest_size=8).digest()) < bound
        for image_id in set(image_ids)
    }
    return np.array([chosen[image_id] for image_id in image_ids], np.bool_)


class Inputs:
    """Converts questions to a model's tensors: encodes the ``used`` texts; ``needed`` are the model's inputs."""

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
        self.texts, self._text = texts, text

    def tensors(self, questions: Questions, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``; choices (batch, choices) are text indices, padded with NONE."""
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
            tokens, mask = self._text.encode_words([self.texts[text] for text in texts])
            found |= {"question_tokens": torch.from_numpy(tokens), "question_mask": torch.from_numpy(mask)}
        if self.images is not None:
            found |= self.images.tensors([questions.image_ids[row] for row in rows])
        return found


class Sample(NamedTuple):
    """The questions of a step and their choices."""

    rows: NDArray[np.int64]
    """(questions,): indices of the training questions"""
    choices: NDArray[np.int64]
    """(questions, 1 + decoys): indices of the target, then of the decoys, padded with NONE"""


class Order:
    """The questions of each step, which depend only on the seed and the step.

    Each epoch is a permutation of all questions; batches can span two epochs.
    """

    def __init__(self, questions: int, batch_size: int, seed: int) -> None:
        self._questions, self._batch_size, self._seed = questions, batch_size, seed
        self._orders: dict[int, NDArray[np.int64]] = {}

    def rows(self, number: int) -> NDArray[np.int64]:
        """The questions of a step, from 0."""
        positions = np.arange(number * self._batch_size, (number + 1) * self._batch_size)
        epochs, rows = np.divmod(positions, self._questions)
        self._orders = {epoch: self._order(epoch) for epoch in np.unique(epochs).tolist()}
        return np.concatenate([order[rows[epochs == epoch]] for epoch, order in self._orders.items()])

    def rng(self, number: int) -> np.random.Generator:
        """The generator of a step's other random choices."""
        return self._rng(2 * number + 1)

    def _order(self, epoch: int) -> NDArray[np.int64]:
        return self._orders[epoch] if epoch in self._orders else self._rng(2 * epoch).permutation(self._questions)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=[self._seed % 2**64, purpose]))


class Sampler:
    """Samples the questions and decoys of each step.

    For each question, a kind of decoys is drawn uniformly, then at most ``decoys`` of that kind (Chao et al. 2018,
    supplement A.4).
    """

    def __init__(self, questions: Questions, batch_size: int, decoys: int, seed: int) -> None:
        self._kinds, self._labels, self._decoys = questions.kinds, questions.labels, decoys
        self._order = Order(len(questions), batch_size, seed)

    def step(self, number: int) -> Sample:
        """The sample of a step, from 0."""
        rows, rng = self._order.rows(number), self._order.rng(number)
        kinds = self._kinds[rows]
        kinds[np.arange(len(rows)), self._labels[rows]] = NONE  # exclude the target
        keys = rng.random((len(rows), kinds.max() + 1)) if kinds.max() >= 0 else np.ones((len(rows), 1))
        for kind in range(keys.shape[1]):
            keys[~(kinds == kind).any(1), kind] = 2.0
        of_kind = kinds == keys.argmin(1)[:, None]
        order = np.where(of_kind, rng.random(kinds.shape), 2.0).argsort(1)[:, : self._decoys]
        decoys = np.where(np.take_along_axis(of_kind, order, 1), order, NONE)
        return Sample(rows, np.concatenate([self._labels[rows][:, None], decoys], 1))


def _numbered(rows: pa.Table, location: str, number_of: dict[str, int]) -> Questions:
    """The questions of a split; adds new texts to ``number_of``."""
    optional = {name: expected for name, expected in _OPTIONAL.items() if name in rows.column_names}
    wanted = {**IDS, **QUESTIONS, **optional}
    present = [name for name in wanted if name in rows.column_names]
    table = checked_rows(rows.select(present), location, wanted)
    lengths = pc.list_value_length(table["choices"]).to_numpy()
    valid = np.arange(lengths.max()) < lengths[:, None]
    choices, kinds = np.full(valid.shape, NONE, np.int64), np.full(valid.shape, NONE, np.int8)
    choices[valid] = numbers_of(pc.list_flatten(table["choices"]), number_of)
    kinds[valid] = _kinds(table["choice_kinds"], lengths, location) if "choice_kinds" in optional else ONE_KIND
    types = table["question_type"].to_pylist() if "question_type" in optional else []
    answers = human_answers(rows, location)
    has_consensus = metric_of(rows.column_names, answers) == CONSENSUS
    ids, images = (pc.cast(table[name], pa.string()).to_pylist() for name in IDS)
    texts, labels = numbers_of(table["question"], number_of), table["label"].to_numpy().astype(np.int64)
    return Questions(
        location,
        ids,
        images,
        texts,
        choices,
        kinds,
        labels,
        types if any(types) else None,
        filled_texts(rows, "answer_type"),
        answers if has_consensus else None,
        together=filled_texts(rows, "set_id"),
    )


def _kinds(column: pa.ChunkedArray, lengths: NDArray[np.int64], location: str) -> NDArray[np.int8]:
    """The kinds of all choices, (choices,)."""
    for row in np.flatnonzero(pc.list_value_length(column).to_numpy() != lengths)[:1]:
        raise InputError(f"{location}, row {row}: choice_kinds has a different length than its {lengths[row]} choices")
    flat, known = pc.list_flatten(column), len(CHOICE_KINDS)
    valid = pc.fill_null(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, known)), False)
    for index in np.flatnonzero(~valid.to_numpy())[:1].tolist():
        raise InputError(
            f"{location}, row {pc.list_parent_indices(column)[index]}: one of choice_kinds is {flat[index]}, expected "
            f"0 to {known - 1} ({', '.join(CHOICE_KINDS)})"
        )
    kinds: NDArray[np.int8] = flat.to_numpy().astype(np.int8)
    return kinds


def numbers_of(texts: pa.ChunkedArray, number_of: dict[str, int]) -> NDArray[np.int64]:
    """The index of each text; adds new texts to ``number_of``."""
    encoded = pc.dictionary_encode(texts).combine_chunks()
    numbers = [number_of.setdefault(text, len(number_of)) for text in encoded.dictionary.to_pylist()]
    found: NDArray[np.int64] = np.array(numbers, np.int64)[encoded.indices.to_numpy()]
    return found
