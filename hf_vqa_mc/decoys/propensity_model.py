"""What a question reveals: P(answer | question), learned from other images, and questions grouped by it.

Rows whose predicted distributions are equal give nothing away about whose answer is whose: P(answer | question) is a
balancing score (Rosenbaum and Rubin 1983, The Central Role of the Propensity Score in Observational Studies). The
model is a bag of words and bigrams, two layers, and a vector per answer.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from hf_vqa_mc.compiled import n_threads
from hf_vqa_mc.decoys.candidates import Float32s, Int32s, Int64s, Ints, starts
from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.decoys.set_rows import COORDINATES
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words

FOLDS = 5  # rows of an image are predicted by a model that was fitted on the other four of five folds of images
CLASSES = 2_000  # maximum number of answers with a class of their own; rarer ones share a class
FITTED = 300_000  # maximum number of rows that a model is fitted on; each has a random sample of its own
SAMPLED = 100_000  # the principal components are computed from every n-th row, so that at least this many remain
EPOCHS, BATCH, RATE, DROPOUT = 3, 1024, 8e-3, 0.5
EMBEDDED, HIDDEN, SIZE, DEVIATION = 64, 512, 128, 0.1
"""Chosen on COCO-QA, where the mean log likelihood of the answers on held-out images is -2.49 (one model: -2.64)."""
MODELS = 3  # models whose log odds are averaged: they differ by random start and order of rows
LEAST_STEPS = 60  # minimum number of optimizer steps, for small datasets
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Propensities:
    """Cross-fitted log P(answer | question) of all rows, up to a constant of each row, as products of vectors."""

    questions: Float32s  # (rows, size): a vector of each row's question, from the model of its fold
    answers: Float32s  # (folds, classes, size): vectors of the answers
    bias: Float32s  # (folds, classes)
    folds: Int64s  # (rows,): the fold of each row
    classes: Int64s  # (keys,): the class of each answer key
    is_calibrated = True

    def _log_odds(self, rows: Ints, classes: Ints) -> Float32s:
        """Unnormalised log P of some answer classes for each of the ``rows``, (rows, classes)."""
        odds: Float32s = np.empty((len(rows), len(classes)), np.float32)
        for fold in range(len(self.bias)):
            own = self.folds[rows] == fold
            odds[own] = self.questions[rows[own]] @ self.answers[fold, classes].T + self.bias[fold, classes]
        return odds

    def of_group(self, rows: Int64s, targets: Int32s) -> tuple[Float32s, Int64s]:
        """Log odds of some answers for each row's question, (rows, answers); the index of each row's own, (rows,).

        ``targets`` are the keys of all rows' answers.
        """
        distinct, target = np.unique(targets[rows], return_inverse=True)
        return self._log_odds(rows, self.classes[distinct]), target

    def of_sets(self, sets: Int64s, targets: Int32s) -> Float32s:
        """Log odds of each set's answers for each of its rows' questions, (sets, rows, rows)."""
        classes = self.classes[targets[sets]]

        def of_rows(rows: Int64s) -> Float32s:
            fold = self.folds[rows][:, None]
            odds: Float32s = np.einsum("rs,ras->ra", self.questions[rows], self.answers[fold, classes])
            return odds + self.bias[fold, classes]

        return np.stack([of_rows(sets[:, at]) for at in range(sets.shape[1])], axis=1)

    def distributions(self, rows: Ints) -> Float32s:
        """P(answer class | question), float32 (rows, classes)."""
        odds = self._log_odds(rows, np.arange(self.bias.shape[1]))
        shares: Float32s = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def coordinates(self) -> Float32s:
        """Coordinates in which near rows have similar distributions, float32 (rows, at most COORDINATES).

        Square roots of the distributions, whose distance is that of Hellinger, projected on principal components.
        """

        def roots(rows: Int64s) -> Iterator[Float32s]:
            parts = (rows[first : first + _AT_ONCE] for first in range(0, len(rows), _AT_ONCE))
            return (np.sqrt(self.distributions(part)) for part in parts)

        n, classes = len(self.questions), self.bias.shape[1]
        sample = np.arange(0, n, max(n // SAMPLED, 1))
        total, products = np.zeros(classes), np.zeros((classes, classes))
        for part in roots(sample):
            total += part.sum(axis=0, dtype=np.float64)
            products += part.T @ part
        mean = total / len(sample)
        _, vectors = np.linalg.eigh(products / len(sample) - np.outer(mean, mean))
        axes = vectors[:, -COORDINATES:].astype(np.float32)
        return np.concatenate([(part - mean.astype(np.float32)) @ axes for part in roots(np.arange(n))])


def answer_propensities(
    questions: pa.Array,
    keys: Ints,
    images: Ints,
    seed: int,
    report: Callable[[float], None],
    encode: Callable[[pa.Array], Float32s | None] = lambda questions: None,
) -> Propensities:
    """Fit models of the answers to questions on each four of five folds of images, and predict the fifth.

    The log odds of several models are averaged. They run on the CPU, so the result does not depend on the machine's
    GPU. The model may see vectors of distinct questions, which ``encode`` returns, besides their words; ``report`` is
    called with the share of the work that is done.
    """
    counts = np.bincount(keys)
    frequent = np.argsort(-counts, kind="stable")[: min(CLASSES, int(np.count_nonzero(counts)))]
    classes = np.full(len(counts), len(frequent), np.int64)
    classes[frequent] = np.arange(len(frequent))
    encoded = questions.dictionary_encode()
    bags, of_row = Bags.of(encoded.dictionary, encode(encoded.dictionary)), encoded.indices.to_numpy()
    rng = np.random.default_rng(int(purpose_hash(seed, "propensity folds")))
    folds = rng.integers(FOLDS, size=int(images.max()) + 1)[images]
    n_classes = int(classes.max()) + 1
    vectors = np.zeros((len(keys), MODELS * SIZE), np.float32)
    answers, bias = np.zeros((FOLDS, n_classes, MODELS * SIZE), np.float32), np.zeros((FOLDS, n_classes), np.float32)

    def fit(fold: int) -> None:
        others, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(own) or not len(others):  # nothing is known about these rows
            return
        of_fold = np.random.default_rng(int(purpose_hash(seed, f"propensity {fold}")))
        distinct, back = np.unique(of_row[own], return_inverse=True)
        for first in range(0, MODELS * SIZE, SIZE):
            rows = others if len(others) <= FITTED else np.sort(of_fold.choice(others, FITTED, replace=False))
            found = fitted(bags, of_row[rows], classes[keys[rows]], n_classes, of_fold)
            answers[fold, :, first : first + SIZE] = found.answers.detach().numpy() / MODELS
            bias[fold] += found.bias.detach().numpy() / MODELS
            vectors[own, first : first + SIZE] = found.encode(bags, distinct)[back]

    with one_thread(), ThreadPoolExecutor(n_threads()) as pool:
        for done, _ in enumerate(pool.map(fit, range(FOLDS)), 1):
            report(done / (FOLDS + 1))
    return Propensities(vectors, answers, bias, folds, classes)


class Bags(NamedTuple):
    """The words and bigrams of distinct questions as numbers; those of a single question share a number."""

    grams: Int64s  # of all questions, concatenated
    starts: Int64s  # (questions + 1,)
    size: int  # number of distinct grams
    vectors: Float32s  # (questions, dimensions): such as of a text encoder; dimensions may be 0

    @classmethod
    def of(cls, questions: pa.Array, vectors: Float32s | None = None) -> "Bags":
        """The bags of some texts; a bigram may start or end with the end of the question."""
        words, word_starts, distinct = numbered_words(*comparable_texts(questions))
        lengths, end = np.diff(word_starts), len(distinct)
        question = np.repeat(np.arange(len(lengths)), lengths + 1)
        first = word_starts[:-1] + np.arange(len(lengths))  # each question has one bigram more than words
        before, after = np.full(len(question), end), np.full(len(question), end)
        before[np.delete(np.arange(len(question)), first)] = words
        after[np.delete(np.arange(len(question)), first + lengths)] = words
        bigrams = (before.astype(np.int64) + 1) * (end + 1) + after
        together = np.concatenate([words.astype(np.int64), bigrams])
        of_gram = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), question])
        _, number, counts = np.unique(together, return_inverse=True, return_counts=True)
        often = counts > 1
        kept = np.where(often, np.cumsum(often), 0)[number][np.argsort(of_gram, kind="stable")]
        vectors = np.empty((len(lengths), 0), np.float32) if vectors is None else vectors
        return cls(kept, starts(2 * lengths + 1), int(often.sum()) + 1, vectors)

    def take(self, questions: Ints) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The grams of some questions, concatenated, the offset of each, and the questions' vectors."""
        lengths = np.diff(self.starts)[questions]
        offsets = starts(lengths)[:-1]
        positions = np.arange(int(lengths.sum())) + np.repeat(self.starts[questions] - offsets, lengths)
        grams, offset, vectors = map(torch.from_numpy, (self.grams[positions], offsets, self.vectors[questions]))
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
        firsts = range(0, len(questions), _AT_ONCE)
        parts = [self(*bags.take(questions[first : first + _AT_ONCE])).numpy() for first in firsts]
        return np.concatenate(parts)


def fitted(bags: Bags, questions: Ints, classes: Ints, n_classes: int, rng: np.random.Generator) -> PropensityModel:
    """Fit a model to rows with these questions (indices of ``bags``) and answer classes."""
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
