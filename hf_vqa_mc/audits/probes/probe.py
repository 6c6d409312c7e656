"""The declaration of a probe, its context, and the loop that runs probes in order of cost within the time limit."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import EVALUATED, Part, folds_of, parts_of
from hf_vqa_mc.audits.image_descriptors import image_vectors
from hf_vqa_mc.audits.probes.features import Features
from hf_vqa_mc.audits.rows import Rows, ShuffledRows, shuffle
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import FOLDS, NotRun, Prediction, ProbeInputs, picked
from hf_vqa_mc.audits.similar_choices import question_cosines, trigram_similarity
from hf_vqa_mc.compiled import n_threads
from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.io.progress import Progress, silent

LEAST_COUNTED = 20  # without a training split, minimum frequency of a text whose labels are counted

Values = NDArray[np.float64]


class Skipped(Exception):
    """A probe cannot be run; the reason is reported, and the audit continues."""


@dataclass(frozen=True)
class Probe:
    """The declaration of a strategy; ``PROBES.add(Probe(...))`` adds one to every audit."""

    name: str  # unique
    sees: ProbeInputs  # inputs of the strategy
    sentence: str  # continues "A strategy that ...": ``picks the longest choice``
    run: "Callable[[Context], Prediction | None]"  # None if all choices tie in all rows
    trained: bool = False  # whether it is a fitted model, not a count; --no-probes leaves it out
    fitted: bool = False  # whether it is fitted on labels, of the training split or of other audited rows
    cost: int = 0  # probes with a lower cost run first
    one_thread: bool = False  # whether it uses one thread and no global random state, and so may run in parallel


def trained_probe(
    name: str,
    sees: ProbeInputs,
    sentence: str,
    fit: "Callable[[Context, Part], Values]",
    **others: Any,  # noqa: ANN401
) -> Probe:
    """A model that is fitted on each part of the rows, see `Context.cross_fit`; ``others`` are fields of `Probe`."""
    name, sentence = f"{name}: {sees.label}", f"{sees.sentence} and {sentence}"
    others = {"trained": True, "fitted": True, **others}
    return Probe(name, sees, sentence, lambda context: context.cross_fit(partial(fit, context)), **others)


@dataclass(eq=False)
class Context:
    """The audited rows, and the data that probes are fitted on."""

    split: Split
    rows: Rows  # rows of ``split``, the target in column 0
    train: Split | None = None
    train_rows: Rows | None = None  # rows of ``train``, with the same vocabulary as ``rows``
    settings: ProbeSettings = ProbeSettings()  # noqa: RUF009  it is frozen
    progress: Progress = silent
    started: float = field(default_factory=time.monotonic)  # at the start of the audit, and so of its time limit
    evaluated: int | None = EVALUATED  # size of the sample of rows that trained probes are evaluated on; None: all
    running: str = ""  # name of the probe that runs, for progress

    @classmethod
    def of(cls, benchmark: Benchmark, numbered: Mapping[str, Rows], *given: Any, **more: Any) -> "Context":  # noqa: ANN401
        """The context of a benchmark's audited split; ``numbered`` is of `number_rows`, others are further fields."""
        split, train = benchmark.test, benchmark.train
        return cls(split, numbered[split.name], train, numbered[train.name] if train else None, *given, **more)

    @property
    def n_folds(self) -> int:
        """Number of cross-validation folds; 0 with a training split."""
        return FOLDS if self.train_rows is None else 0

    @property
    def least_counted(self) -> int:
        """Minimum frequency of a text whose labels are counted, see `Features`."""
        return LEAST_COUNTED if self.train_rows is None else 0

    @cached_property
    def folds(self) -> NDArray[np.int8]:
        """(rows,): fold of each audited row."""
        return folds_of(self.split, self.rows)

    @cached_property
    def trigram_similarity(self) -> Values:
        """(rows, choices): see `trigram_similarity`; two heuristics use it."""
        return trigram_similarity(self.rows)

    @cached_property
    def question_cosines(self) -> Values:
        """(tested rows, choices): see `question_cosines`; three strategies use it."""
        return question_cosines(self.rows.take(self.tested))

    @property
    def time_is_over(self) -> bool:
        """Whether the time limit is exceeded."""
        return time.monotonic() > self.started + self.settings.time_limit

    @cached_property
    def images(self) -> tuple[NDArray[np.float32] | None, list[NotRun]]:
        """float32 (used rows, dimensions), and which images are missing."""
        n = len(self.rows)
        of_split = [(self.split, self.used[self.used < n])]
        of_split += [(self.train, self.used[self.used >= n] - n)] if self.train else []
        return image_vectors(of_split, self.settings.features, self.progress)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.settings.seed)

    @cached_property
    def shuffled(self) -> ShuffledRows:
        """The audited rows followed by the training rows, with shuffled choices."""
        rows, train = self.rows, self.train_rows
        return shuffle(rows if train is None else rows.followed_by(train), self._rng)

    @cached_property
    def parts(self) -> list[Part]:
        """Training and test rows of each fit, as indices into ``shuffled``."""
        _ = self.shuffled  # is drawn before the samples, from the same generator
        train_folds = folds_of(self.train, self.train_rows) if self.train else None
        return parts_of(self.folds, train_folds, self.settings.probe_rows, self._rng, self.evaluated)

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """Rows that trained probes are fitted or evaluated on, as indices into ``shuffled``, ascending."""
        used = [rows for part in self.parts for rows in (part.counted, part.test)]
        return np.unique(np.concatenate(used)) if used else np.arange(len(self.shuffled))

    @cached_property
    def tested(self) -> NDArray[np.int64]:
        """Rows that trained probes are evaluated on, ascending; all rows if no probe can be fitted."""
        is_sample = self.evaluated is not None and len(self.rows) > self.evaluated and self.parts
        return np.sort(np.concatenate([one.test for one in self.parts])) if is_sample else np.arange(len(self.rows))

    @cached_property
    def features(self) -> Features:
        """Features for small models."""
        return Features(self)

    def on_tested(self, values: Values, probabilities: Values | None = None, folds: int = 0) -> Prediction:
        """Pick the highest value of each row of ``tested``; arguments are (tested rows, choices), the target first."""
        scores, everywhere = np.full(len(self.rows), np.nan), None
        scores[self.tested] = picked(values, self.rows.take(self.tested))
        if probabilities is not None:
            everywhere = np.full(self.rows.texts.shape, np.nan)
            everywhere[self.tested] = probabilities
        return Prediction(scores, everywhere, folds)

    def prefer(self, values: NDArray[Any]) -> Prediction | None:
        """Pick the highest value (rows, choices), the target in column 0; None if all choices tie in all rows."""
        valid = self.rows.valid
        highest, lowest = np.where(valid, values, -np.inf).max(axis=1), np.where(valid, values, np.inf).min(axis=1)
        return Prediction(picked(values, self.rows)) if (highest > lowest).any() else None

    def cross_fit(self, fit: Callable[[Part], Values]) -> Prediction:
        """Fit a model for each part and evaluate it on the part's test rows.

        ``fit`` fits it on ``shuffled.take(part.train)`` and returns log odds (rows, choices) for
        ``shuffled.take(part.test)``, of any value for padding. Raises Skipped if there are too few images or no time.
        """
        if not self.parts:
            raise Skipped("there is no training split, and too few images for cross-validation")
        own = self.shuffled.take(self.tested)
        odds = np.full(own.texts.shape, -np.inf)
        for index, part in enumerate(self.parts):
            if self.time_is_over:
                raise Skipped(f"the time limit was reached after {index} of {len(self.parts)} folds")
            self.progress(self.running, index, len(self.parts))
            odds[np.searchsorted(self.tested, part.test)] = fit(part)
        self.progress(self.running, len(self.parts), len(self.parts))
        odds = np.where(own.valid, odds, -np.inf)
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        probabilities = np.zeros(shares.shape)
        np.put_along_axis(probabilities, own.came_from, shares / shares.sum(axis=1, keepdims=True), axis=1)
        probabilities = probabilities[:, : self.rows.texts.shape[1]]  # the target first again
        return self.on_tested(probabilities, probabilities, len(self.parts) if self.n_folds else 0)


def run_probes(context: Context, probes: Iterable[Probe]) -> tuple[list[Prediction], list[NotRun]]:
    """Run the probes that the settings enable, in order of cost; the shortcuts, and the probes that were not run."""
    found, not_run = list[Prediction](), list[NotRun]()
    wanted = [one for one in probes if context.settings.probes or not one.trained]
    wanted.sort(key=lambda one: one.cost)
    if any(one.sees.image and one.trained for one in wanted):
        vectors, missing = context.images
        not_run += missing
        wanted = [one for one in wanted if vectors is not None or not one.sees.image]
    parallel = [one for one in wanted if one.one_thread]
    with contextlib.ExitStack() as limits:
        if parallel:
            from hf_vqa_mc.decoys.propensity_model import one_thread

            limits.enter_context(one_thread())
            _ = context.parts  # drawn once, before the threads start
        own, pool = copy(context), limits.enter_context(ThreadPoolExecutor(n_threads()))
        own.progress = silent
        started = {one.name: pool.submit(one.run, own) for one in parallel}
        try:
            for index, probe in enumerate(wanted):
                context.progress("probes", index, len(wanted))
                context.running = probe.name
                try:
                    made = started[probe.name].result() if probe.one_thread else probe.run(context)
                except Skipped as reason:
                    not_run.append(NotRun(probe.name, str(reason)))
                    continue
                if made is not None:
                    shared = ("name", "sees", "sentence", "trained", "fitted")
                    found.append(replace(made, **{name: getattr(probe, name) for name in shared}))
        finally:
            own.started = -math.inf  # the time limit is over: probes that still run are stopped
    context.progress("probes", len(wanted), len(wanted))
    return found, not_run
