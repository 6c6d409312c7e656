"""The steps' batches: which questions, which of their decoys, and the tensors that the model takes of them.

A step's batch depends on the seed and the step's number alone, so a run goes on where another was killed, and the
number of processes does not change what is drawn.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.training.inputs import Inputs
from hf_vqa_mc.training.questions import NONE, Questions

Make = Callable[[int], "list[Part]"]

AHEAD = 4
"""Batches that are made while the model computes."""


class Drawn(NamedTuple):
    """The questions of a step, and what they are offered."""

    rows: NDArray[np.int64]
    """(questions,): of the training questions"""
    places: NDArray[np.int64]
    """(questions, 1 + decoys): places of the target, which comes first, and of decoys; NONE where there are fewer"""


class Draws:
    """What each step trains on.

    Every epoch goes through all questions in an order of its own; batches run on from one epoch into the next.

    Args:
        questions: those to train on.
        batch_size: questions a step.
        decoys: drawn for each question: first one of the kinds that its decoys are of, each as likely as the others,
            then decoys of that kind (Chao et al. 2018, supplement A.4); all of them where there are fewer.
        seed: of the draws.
    """

    def __init__(self, questions: Questions, batch_size: int, decoys: int, seed: int) -> None:
        self._kinds, self._labels = questions.kinds, questions.labels
        self._batch_size, self._decoys, self._seed = batch_size, decoys, seed
        self._orders: dict[int, NDArray[np.int64]] = {}

    def step(self, number: int) -> Drawn:
        """The batch of a step; steps count from 0."""
        rows = self._rows(number)
        chance = np.random.Generator(np.random.Philox(key=[self._seed % 2**64, 2 * number + 1]))
        kinds = self._kinds[rows]
        everyone = np.arange(len(rows))
        kinds[everyone, self._labels[rows]] = NONE  # the target is no decoy
        keys = chance.random((len(rows), kinds.max() + 1)) if kinds.max() >= 0 else np.ones((len(rows), 1))
        for kind in range(keys.shape[1]):
            keys[~(kinds == kind).any(1), kind] = 2.0
        of_kind = kinds == keys.argmin(1)[:, None]
        order = np.where(of_kind, chance.random(kinds.shape), 2.0).argsort(1)[:, : self._decoys]
        decoys = np.where(np.take_along_axis(of_kind, order, 1), order, NONE)
        return Drawn(rows, np.concatenate([self._labels[rows][:, None], decoys], 1))

    def _rows(self, number: int) -> NDArray[np.int64]:
        count = len(self._labels)
        positions = np.arange(number * self._batch_size, (number + 1) * self._batch_size)
        epochs = positions // count
        needed = {int(epoch): self._order(int(epoch)) for epoch in np.unique(epochs)}
        self._orders = needed
        return np.array([needed[int(epoch)][place] for epoch, place in zip(epochs, positions % count, strict=True)])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        if epoch in self._orders:
            return self._orders[epoch]
        chance = np.random.Generator(np.random.Philox(key=[self._seed % 2**64, 2 * epoch]))
        return chance.permutation(len(self._labels))


class Part(NamedTuple):
    """What one process computes at once of a step."""

    tensors: dict[str, Tensor]
    """what the model takes; the labels are all 0"""
    weight: float
    """this part's share of the step's candidates"""


def parts(drawn: Drawn, questions: Questions, inputs: Inputs, process: int, processes: int, count: int) -> list[Part]:
    """A process's parts of a step's batch.

    Args:
        drawn: the step's.
        questions: those that it is drawn from.
        inputs: of the model.
        process: which, from 0.
        processes: of how many.
        count: parts of each.
    """
    shares = np.array_split(np.arange(len(drawn.rows)), processes * count)[process * count : (process + 1) * count]
    candidates = (drawn.places != NONE).sum()
    found = []
    for share in shares:
        rows, places = drawn.rows[share], drawn.places[share]
        texts = np.where(places == NONE, NONE, np.take_along_axis(questions.choices[rows], places, 1))
        tensors = inputs.tensors(questions, rows, texts) | {"labels": torch.zeros(len(rows), dtype=torch.int64)}
        found.append(Part(tensors, float((places != NONE).sum() / candidates)))
    return found


class Ahead:
    """Steps' parts in order, made in a thread of their own while the model computes.

    Args:
        make: of a step's number.
        first: step.
        last: the one after the last.
    """

    def __init__(self, make: Make, first: int, last: int) -> None:
        self.waited = 0.0
        """seconds for which the model had nothing to compute"""
        self._queue: queue.Queue[list[Part] | BaseException | None] = queue.Queue(AHEAD)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make, first, last), daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[list[Part]]:
        """Each step's parts; errors of making them come up here."""
        while True:
            start = time.perf_counter()
            made = self._queue.get()
            self.waited += time.perf_counter() - start
            if made is None:
                return
            if isinstance(made, BaseException):
                raise made
            yield made

    def close(self) -> None:
        """Make no more."""
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except queue.Empty:
                self._thread.join(0.01)

    def _run(self, make: Make, first: int, last: int) -> None:
        try:
            for number in range(first, last):
                if self._stop.is_set():
                    return
                self._queue.put(make(number))
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
