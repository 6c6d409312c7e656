"""The model of P(answer | question): a bag of words and bigrams, two layers, and a vector per answer."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from hf_vqa_mc.decoys.candidates import Float32s, Int64s, Ints
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words

EPOCHS, BATCH, RATE, DROPOUT = 3, 1024, 8e-3, 0.5
EMBEDDED, HIDDEN, SIZE, DEVIATION = 64, 512, 128, 0.1
"""Chosen on COCO-QA, where the mean log likelihood of the answers on held-out images is -2.49 (one model: -2.64)."""
MODELS = 3
"""Models whose log odds are averaged: they differ by random start and order of rows."""
LEAST_STEPS = 60
"""Minimum number of optimizer steps, for small datasets."""
_ENCODED_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Bags:
    """The words and bigrams of distinct questions as numbers; those of a single question share a number."""

    grams: Int64s
    """of all questions, concatenated"""
    starts: Int64s
    """(questions + 1,)"""
    size: int
    """number of distinct grams"""
    vectors: Float32s
    """(questions, dimensions): a vector of each question, such as that of a text encoder; dimensions may be 0"""

    @classmethod
    def of(cls, questions: pa.Array, vectors: Float32s | None = None) -> "Bags":
        """The bags of some texts; a bigram may start or end with the end of the question."""
        words, word_starts, distinct = numbered_words(*comparable_texts(questions))
        lengths, end = np.diff(word_starts), len(distinct)
        question = np.repeat(np.arange(len(lengths)), lengths + 1)
        first = word_starts[:-1] + np.arange(len(lengths))  # each question has one bigram more than words
        before, after = np.full(len(question), end), np.full(len(question), end)
        is_first, is_last = np.zeros(len(question), np.bool_), np.zeros(len(question), np.bool_)
        is_first[first], is_last[first + lengths] = True, True
        before[~is_first], after[~is_last] = words, words
        bigrams = (before.astype(np.int64) + 1) * (end + 1) + after
        together = np.concatenate([words.astype(np.int64), bigrams])
        of_gram = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), question])
        _, number, counts = np.unique(together, return_inverse=True, return_counts=True)
        often = counts > 1
        kept = np.where(often, np.cumsum(often), 0)
        order = np.argsort(of_gram, kind="stable")
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(2 * lengths + 1)])
        if vectors is None:
            vectors = np.empty((len(lengths), 0), np.float32)
        return cls(kept[number][order], starts, int(often.sum()) + 1, vectors)

    def take(self, questions: Ints) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The grams of some questions, concatenated, the offset of each, and the questions' vectors."""
        lengths = np.diff(self.starts)[questions]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)[:-1]])
        positions = np.arange(int(lengths.sum())) + np.repeat(self.starts[questions] - offsets, lengths)
        given = (self.grams[positions], offsets, self.vectors[questions])
        grams, offset, vectors = map(torch.from_numpy, given)
        return grams, offset, vectors


class PropensityModel(nn.Module):
    """Log odds of the answers to a question: products of the question's vector and the answers' vectors."""

    def __init__(self, grams: int, dimensions: int, classes: int, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)  # not torch's own, as models are fitted in threads

        def random(rows: int, columns: int, deviation: float) -> nn.Parameter:
            return nn.Parameter(deviation * torch.randn(rows, columns, generator=self.generator))

        self.grams = random(grams, EMBEDDED, DEVIATION)
        self.encoded = random(dimensions, HIDDEN, max(dimensions, 1) ** -0.5)
        self.first, self.first_bias = random(EMBEDDED, HIDDEN, EMBEDDED**-0.5), nn.Parameter(torch.zeros(HIDDEN))
        self.second, self.second_bias = random(HIDDEN, SIZE, HIDDEN**-0.5), nn.Parameter(torch.zeros(SIZE))
        self.answers, self.bias = random(classes, SIZE, DEVIATION), nn.Parameter(torch.zeros(classes))

    def forward(self, grams: torch.Tensor, offsets: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """The questions' vectors, (questions, SIZE)."""
        bags = nn.functional.embedding_bag(grams, self.grams, offsets, mode="mean")
        hidden = torch.relu(bags @ self.first + vectors @ self.encoded + self.first_bias)
        if self.training:
            kept = torch.rand(hidden.shape, generator=self.generator) >= DROPOUT
            hidden = hidden * kept / (1 - DROPOUT)
        return hidden @ self.second + self.second_bias

    @torch.no_grad()
    def encode(self, bags: Bags, questions: Ints) -> Float32s:
        """The vectors of some questions, float32 (questions, SIZE)."""
        firsts = range(0, len(questions), _ENCODED_AT_ONCE)
        parts = [self(*bags.take(questions[first : first + _ENCODED_AT_ONCE])).numpy() for first in firsts]
        return np.concatenate(parts)


def fitted(bags: Bags, questions: Ints, classes: Ints, n_classes: int, rng: np.random.Generator) -> PropensityModel:
    """Fit a model to rows with these questions (indices of ``bags``) and answer classes.

    Returns:
        The model, ready to encode.
    """
    model = PropensityModel(bags.size, bags.vectors.shape[1], n_classes, int(rng.integers(2**62)))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)  # 2.5 times as fast
    per_epoch = -(-len(questions) // BATCH)
    epochs = max(EPOCHS, -(-LEAST_STEPS // per_epoch))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, epochs * per_epoch)
    targets = torch.from_numpy(classes)
    for _ in range(epochs):
        order = rng.permutation(len(questions))
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            odds = model(*bags.take(questions[rows])) @ model.answers.T + model.bias
            loss = nn.functional.cross_entropy(odds, targets[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return model.eval()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, so that sums do not depend on the number of cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
