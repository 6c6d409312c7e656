"""A network that scores the choices of a row together, and its training.

The texts are bags of words, bigrams and character trigrams, so that embeddings generalise to unseen texts. Models that
judge each choice by itself miss relations between choices: with decoys of two kinds, the target is the only choice
that fits both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch.optim.adam import adam

from hf_vqa_mc.audits.closed_sets import Part
from hf_vqa_mc.audits.probes.features import Bags, choice_bags, question_bags
from hf_vqa_mc.audits.probes.probe import Context, Skipped
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.propensity_model import one_thread

DIMENSIONS, HIDDEN, DROPOUT = 128, 256, 0.3  # size of the embeddings and of the hidden layers, and their dropout
CHOICE_DEVIATION, QUESTION_DEVIATION = 0.03, 0.1
"""Standard deviation of the initial embeddings; with 0.1 for choices, rare words and trigrams are overfitted."""
WORD_DROPOUT = 0.3  # dropout of the features of questions
LEARNING_RATE, BATCH, CHOICES = 2e-3, 512, 1 << 15  # Adam's learning rate, maximum rows and choices of a batch
NETWORKS, EPOCHS, LEAST_STEPS = 4, 8, 100
"""Number of networks that are averaged, of epochs, and minimum number of steps; the learning rate falls linearly to 0.

On `qou` decoys of COCO-QA, with the question: one network of 4 epochs 50.9%, four of 8 epochs 53.6%.
"""
LEAST_EPOCHS = 4  # number of epochs of the only network where there are too many rows for more
FITTED = 5  # maximum number of fitted rows, as a multiple of ``probe_rows``: the network's texts need many rows
PRESENTED = 150
"""Maximum number of rows presented in training, over all folds, as a multiple of ``probe_rows``: above it there are
fewer networks and then fewer epochs."""
DECIMALS = 5  # decimals of log odds; rounding makes choices without known features tie

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the network sees."""

    choices: NDArray[np.int64]  # (rows, choices): index of each choice in ``choice_bags``, negative for padding
    choice_bags: Bags
    questions: NDArray[np.int64]  # (rows,): index of each question in ``question_bags``
    question_bags: Bags | None  # None if questions are not seen
    images: Callable[[Rows], NDArray[np.float32]] | None  # returns the image vectors of rows; None if not seen


class _WeightedSums(torch.autograd.Function):
    """`functional.embedding_bag`, whose gradient is written to a given tensor: several times faster than a new one."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, gradient: Tensor, *given: Tensor) -> Tensor:  # noqa: ANN401
        """Sums of rows of ``table``, (offsets, dimensions); ``given`` are features, offsets and weights."""
        ctx.inputs, (features, offsets, weights) = (gradient, *given), given
        return functional.embedding_bag(features, table, offsets, mode="sum", per_sample_weights=weights)

    @staticmethod
    def backward(ctx: Any, of_sums: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """The gradient of ``table``."""
        gradient, *given = ctx.inputs
        _add_rows(gradient.zero_().detach().numpy(), of_sums.contiguous().numpy(), *(one.numpy() for one in given))
        return gradient, None, None, None, None


@njit(cache=True, nogil=True)
def _add_rows(gradient: Floats, of_sums: Floats, features: Rows, offsets: Rows, weights: Floats) -> None:
    """Add to each feature's gradient those of the sums that it is part of."""
    for text in range(len(offsets)):
        end = offsets[text + 1] if text + 1 < len(offsets) else len(features)
        for i in range(offsets[text], end):
            feature, weight = features[i], weights[i]
            for column in range(gradient.shape[1]):
                gradient[feature, column] += weight * of_sums[text, column]


class _Embedding(nn.Module):
    """The weighted sum of the embeddings of a text's features."""

    def __init__(
        self, bags: Bags, dimensions: int, deviation: float, generator: Generator, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.starts = torch.from_numpy(bags.indptr.astype(np.int64))
        self.features = torch.from_numpy(bags.indices.astype(np.int64))
        self.weights = torch.from_numpy(bags.data)
        self.table = nn.Parameter(torch.randn(max(bags.shape[1], 1), dimensions, generator=generator) * deviation)
        self.gradient, self.dropout, self.generator = torch.empty_like(self.table), dropout, generator

    def forward(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """The embeddings (distinct texts, dimensions), and the index of each text's embedding, (*texts.shape)."""
        distinct, number = torch.unique(texts, return_inverse=True)
        sizes = self.starts[distinct + 1] - self.starts[distinct]
        offsets = torch.cumsum(sizes, 0) - sizes
        index = torch.arange(int(sizes.sum())) + torch.repeat_interleave(self.starts[distinct] - offsets, sizes)
        weights = _dropped(self.weights[index], self.dropout if self.training else 0.0, self.generator)
        given = (self.gradient, self.features[index], offsets, weights)
        return _WeightedSums.apply(self.table, *given), number  # type: ignore[no-untyped-call]


class _Mlp(nn.Module):
    """Two layers as torch initializes them, but drawn from a generator."""

    def __init__(self, size: int, generator: Generator) -> None:
        super().__init__()
        drawn = (torch.empty(shape).uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)
                 for inputs, outputs in ((size, HIDDEN), (HIDDEN, DIMENSIONS))
                 for shape in ((outputs, inputs), (outputs,)))  # fmt: skip
        self.layers, self.generator = nn.ParameterList(drawn), generator

    def forward(self, values: Tensor) -> Tensor:
        weights, bias, *output = self.layers
        hidden = functional.relu(functional.linear(values, weights, bias))
        return functional.linear(_dropped(hidden, DROPOUT if self.training else 0.0, self.generator), *output)


def _dropped(values: Tensor, share: float, generator: Generator) -> Tensor:
    return values * ((torch.rand(values.shape, generator=generator) >= share) / (1 - share)) if share else values


class _SetNetwork(nn.Module):
    """Score of choice c: b_c + a_c · (sum of a over the row) + MLP(question) · v_c + MLP(image) · w_c."""

    def __init__(self, inputs: Inputs, generator: Generator) -> None:
        super().__init__()
        self.inputs = inputs
        self.question = self.of_question = self.of_image = None
        if inputs.question_bags is not None:
            self.question = _Embedding(inputs.question_bags, DIMENSIONS, QUESTION_DEVIATION, generator, WORD_DROPOUT)
            self.of_question = _Mlp(DIMENSIONS, generator)
        if inputs.images is not None:
            self.of_image = _Mlp(inputs.images(np.zeros(1, np.int64)).shape[1], generator)
        seen = (self.of_question is not None) + (self.of_image is not None)
        self.choice = _Embedding(inputs.choice_bags, 1 + DIMENSIONS * (1 + seen), CHOICE_DEVIATION, generator)

    def forward(self, rows: Rows) -> Tensor:
        """Log odds of the choices of rows, (rows, choices); -inf for padding."""
        choices = torch.from_numpy(self.inputs.choices[rows])
        valid = choices >= 0
        found, number = self.choice(choices[valid])
        starts = functional.pad(valid.sum(dim=1).cumsum(0)[:-1], (1, 0))
        total = functional.embedding_bag(number, found[:, 1 : 1 + DIMENSIONS].contiguous(), starts, mode="sum")
        seen = [torch.ones(len(rows), 1), total]
        if self.question is not None and self.of_question is not None:
            questions, of_row = self.question(torch.from_numpy(self.inputs.questions[rows]))
            seen.append(functional.embedding(of_row, self.of_question(questions)))
        if self.of_image is not None and self.inputs.images is not None:
            seen.append(self.of_image(torch.from_numpy(self.inputs.images(rows))))
        context = torch.cat(seen, dim=1)
        # functional.embedding: the gradient of indexing is several times slower
        row = valid.nonzero()[:, 0]
        odds = (functional.embedding(number, found) * functional.embedding(row, context)).sum(dim=1)
        return torch.full(valid.shape, -torch.inf).masked_scatter(valid, odds)


def trained_odds(
    inputs: Inputs, train: Rows, targets: Rows, test: Rows, seed: int, check: Callable[[], None], most: int
) -> NDArray[np.float64]:
    """Train networks and score other rows; deterministic, in one thread, without torch's global seed.

    ``check`` is called at each step and may raise an exception; if more than ``most`` rows are presented in training,
    there are fewer networks and then epochs. Returns the mean log probability of the choices (test rows, choices).
    """
    n_networks = min(max(most // (EPOCHS * len(train)), 1), NETWORKS)
    epochs = min(max(most // len(train), LEAST_EPOCHS), EPOCHS)
    size = max(1, min(BATCH, CHOICES * len(train) // int((inputs.choices[train] >= 0).sum())))
    n_batches = -(-len(train) // size)
    steps = max(epochs, -(-LEAST_STEPS // n_batches)) * n_batches
    found = []
    for number in range(n_networks):
        generator = Generator().manual_seed(seed + number)
        with one_thread():
            network = _SetNetwork(inputs, generator)
            parameters: list[Tensor] = list(network.parameters())
            means, squares = ([torch.zeros_like(one) for one in parameters] for _ in range(2))
            n_steps = [torch.zeros(()) for _ in parameters]
            for step in range(steps):
                if step % n_batches == 0:
                    order = torch.randperm(len(train), generator=generator).numpy()
                batch = order[step % n_batches * size :][:size]
                check()
                loss = functional.cross_entropy(network(train[batch]), torch.from_numpy(targets[batch]))
                gradients, rate = torch.autograd.grad(loss, parameters), LEARNING_RATE * (1 - step / steps)
                with torch.no_grad():  # the class `torch.optim.Adam` imports torch's compiler, which takes two seconds
                    adam(parameters, list(gradients), means, squares, [], n_steps, fused=True, lr=rate, beta1=0.9,
                         beta2=0.999, eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False)  # fmt: skip
            network.eval()
            with torch.no_grad():
                starts = [*range(0, len(test), size), len(test)]
                odds = [network(test[first:last]).log_softmax(dim=1).numpy() for first, last in pairwise(starts)]
        found.append(np.concatenate(odds).astype(np.float64))
    return np.mean(found, axis=0)  # type: ignore[no-any-return]


def set_odds(sees: ProbeInputs, context: Context, part: Part) -> NDArray[np.float64]:
    """Train a network on a part's rows; return the log odds of its test rows, (rows, choices)."""
    known, most = part.counted, FITTED * context.settings.probe_rows
    if len(known) > most:
        known = np.sort(np.random.default_rng(context.settings.seed).choice(known, most, replace=False))
    every = np.concatenate([known, part.test])
    rows, train = context.shuffled.take(every), context.shuffled.take(known)
    keys = np.unique(rows.keys[rows.valid].astype(np.int64))
    numbered = np.where(rows.valid, np.searchsorted(keys, rows.keys), MISSING)
    asked, questions = np.unique(rows.questions.astype(np.int64), return_inverse=True)
    inputs = Inputs(
        numbered,
        choice_bags(train, keys, context.least_counted),
        questions,
        question_bags(train, asked) if sees.question else None,
        _image_vectors(context, every, len(known)) if sees.image else None,
    )

    def check() -> None:
        if context.time_is_over:
            raise Skipped("the time limit was reached in training")

    own, test = np.split(np.arange(len(every)), [len(known)])
    most = PRESENTED * context.settings.probe_rows // len(context.parts)
    odds = trained_odds(inputs, own, train.target, test, context.settings.seed, check, most)
    return np.round(odds, DECIMALS)


def _image_vectors(context: Context, every: Rows, n_train: int) -> Callable[[Rows], NDArray[np.float32]]:
    """A function from indices into ``every`` to standardised image vectors, 0 for rows without an image."""
    vectors, of_rows = context.images[0], np.searchsorted(context.used, every)
    assert vectors is not None  # noqa: S101  else no probe that sees images is run
    sample = vectors[of_rows[np.linspace(0, n_train - 1, min(n_train, 10_000)).astype(np.int64)]]
    sample = sample[np.isfinite(sample).all(axis=1)]
    if not len(sample):
        sample = np.zeros((1, vectors.shape[1]), np.float32)
    mean, spread = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-6)
    return lambda rows: np.clip(np.nan_to_num((vectors[of_rows[rows]] - mean) / spread), -5, 5).astype(np.float32)
