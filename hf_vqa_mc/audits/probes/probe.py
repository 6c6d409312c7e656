"""What a probe declares, what it may look at, and how probes are run: in order of cost, until the time is over."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part, folds_of, parts_of
from hf_vqa_mc.audits.image_descriptors import image_vectors
from hf_vqa_mc.audits.rows import Rows, ShuffledRows, number_rows, shuffle
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import FOLDS, NotRun, Sees, Shortcut, picked
from hf_vqa_mc.audits.similar_choices import Letters
from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes.features import Features

LEAST_COUNTED = 20
"""Without a training split, texts that other rows present less often are unseen: see `CrossFittedCounts.least`."""

Values = NDArray[np.float64]


class Prediction(NamedTuple):
    """What a probe picks in each row."""

    scores: Values
    """(rows,) in [0, 1]: how often the target is picked"""
    chances: Values | None = None
    """(rows, choices): P(target) of each choice, the target first; None where unknown"""
    folds: int = 0
    """folds of the audited rows that it was fitted on"""


class Skipped(Exception):
    """A probe cannot be run; the reason is reported, and the audit continues."""


@dataclass(frozen=True)
class Probe:
    """A strategy that should not work: one declaration, from which table, report and verdict are made.

    ``PROBES.add(Probe(...))`` adds one to every audit.
    """

    name: str
    """unique; settings in braces are filled in: ``language model {language_model}``"""
    sees: Sees
    sentence: str
    """continues "A strategy that ...": ``picks the longest choice``"""
    run: "Callable[[Context], Prediction | None]"
    """None if it never prefers a choice to another, so that there is nothing to report"""
    trained: bool = False
    """a fitted model or a language model, not a count"""
    cost: int = 0
    """probes of lower cost are run first"""
    setting: str | None = None
    """field of `ProbeSettings` that switches it on; None if it is always run"""


@dataclass(eq=False)
class Context:
    """The audited rows and everything that probes may be fitted on."""

    split: Split
    rows: Rows
    """of ``split``, the target first"""
    train: Split | None = None
    train_rows: Rows | None = None
    """of ``train``, numbered together with ``rows``"""
    settings: ProbeSettings = ProbeSettings()  # noqa: RUF009  it is frozen
    progress: Progress = silent

    @classmethod
    def of(cls, benchmark: Benchmark, settings: ProbeSettings, progress: Progress = silent) -> "Context":
        """The context of a benchmark's audited split."""
        numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
        split, train = benchmark.test, benchmark.train
        return cls(split, numbered[split.name], train, numbered[train.name] if train else None, settings, progress)

    @property
    def n_folds(self) -> int:
        """Folds of the audited rows that models are fitted on: 0 with a training split."""
        return FOLDS if self.train_rows is None else 0

    @cached_property
    def folds(self) -> NDArray[np.int8]:
        """(rows,): fold of each audited row."""
        return folds_of(self.split, self.rows)

    @cached_property
    def letters(self) -> Letters:
        """The letters of all comparable texts."""
        return Letters.of(self.rows.vocabulary)

    @cached_property
    def deadline(self) -> float:
        """Of `time.monotonic`; the time starts with the first probe."""
        return time.monotonic() + self.settings.time_limit

    @cached_property
    def images(self) -> tuple[NDArray[np.float32] | None, list[NotRun]]:
        """float32 (rows, dimensions) of the audited rows, then the training rows; and which images are missing."""
        splits = [self.split] + ([self.train] if self.train else [])
        return image_vectors(splits, self.settings.features, self.progress)

    @cached_property
    def _shuffled_and_parts(self) -> tuple[ShuffledRows, list[Part]]:
        rng, train, train_folds = np.random.default_rng(self.settings.seed), self.train_rows, None
        choices = max(one.texts.shape[1] for one in (self.rows, train) if one is not None)
        rows = shuffle(self.rows, choices, rng)
        if train is not None and self.train is not None:
            rows = rows.followed_by(shuffle(train, choices, rng))
            train_folds = folds_of(self.train, train)
        return rows, parts_of(self.folds, train_folds, self.settings.probe_rows, rng)

    @property
    def shuffled(self) -> ShuffledRows:
        """The audited rows, then the training rows, with the choices shuffled."""
        return self._shuffled_and_parts[0]

    @property
    def parts(self) -> list[Part]:
        """Which rows are fitted for which; numbers of ``shuffled``."""
        return self._shuffled_and_parts[1]

    @cached_property
    def features(self) -> "Features":
        """Columns for small models; those without labels are computed once."""
        from hf_vqa_mc.audits.probes.features import Features

        least = LEAST_COUNTED if self.train_rows is None else 0
        return Features(self.shuffled, self.split.placed, lambda: self.images[0], self.settings.seed, least)

    def pick(self, values: NDArray[Any]) -> Prediction:
        """The prediction of a strategy that picks the highest of (rows, choices), the target first; ties share it."""
        return Prediction(picked(values, self.rows))

    def prefer(self, values: NDArray[Any]) -> Prediction | None:
        """As `pick`; None where no row has a choice with a higher value than another."""
        valid = self.rows.valid
        highest, lowest = np.where(valid, values, -np.inf).max(axis=1), np.where(valid, values, np.inf).min(axis=1)
        return self.pick(values) if (highest > lowest).any() else None

    def cross_fit(self, fit: Callable[[Part], Values]) -> Prediction:
        """Fit a model for each part and evaluate it on rows that it was not fitted on.

        Args:
            fit: log odds of being the target for the choices of ``shuffled.take(part.test)``, (rows, choices), by a
                model fitted on ``shuffled.take(part.train)``; any value where there is no choice.

        Raises:
            Skipped: there is nothing to fit it on, or the time is over.
        """
        if not self.parts:
            raise Skipped("there is no training split, and the rows are on too few images to fit on some of them")
        odds = np.full(self.shuffled.texts.shape, -np.inf)
        for index, part in enumerate(self.parts):
            if time.monotonic() > self.deadline:
                raise Skipped(f"no time was left after {index} of its {len(self.parts)} trainings")
            odds[part.test] = fit(part)
        odds = np.where(self.shuffled.valid, odds, -np.inf)[: len(self.rows)]
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        own = self.shuffled.take(slice(len(self.rows)))
        chances = own.target_first(shares, self.rows.texts.shape[1])
        return Prediction(picked(chances, self.rows), chances, self.n_folds)


def run_probes(context: Context, probes: Iterable[Probe]) -> tuple[list[Shortcut], list[NotRun]]:
    """Run the probes that the settings switch on, the cheapest first.

    Returns:
        The shortcuts, and what was not run: probes for which no time was left, or that see images where there are
        none.

    Raises:
        InputError: word vectors, features or the language model cannot be used.
    """
    settings = context.settings
    wanted = [one for one in probes if one.setting is None or getattr(settings, one.setting)]
    wanted.sort(key=lambda one: one.cost)
    found: list[Shortcut] = []
    not_run: list[NotRun] = []
    context.deadline  # noqa: B018  starts the time
    if any(one.sees.image for one in wanted):
        vectors, not_run = context.images
        not_run = list(not_run)
        wanted = [one for one in wanted if vectors is not None or not one.sees.image]
    for index, probe in enumerate(wanted):
        context.progress("probes", index, len(wanted))
        name = probe.name.format_map(vars(settings))
        try:
            made = probe.run(context)
        except Skipped as reason:
            not_run.append(NotRun(name, str(reason)))
            continue
        if made is not None:
            found.append(
                Shortcut(name, probe.sees, probe.sentence, made.scores, made.folds, probe.trained, made.chances)
            )
    context.progress("probes", len(wanted), len(wanted))
    return found, not_run
