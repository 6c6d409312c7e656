"""Audits of large benchmarks: rows are divided by image into parts, and each part is searched by itself.

Memory grows with the size of a part, except for what is kept of each row: its scores. Counts are made within the row's
part. Trained probes, which are evaluated on a sample anyway, and predictive texts are those of the first part.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.auditing import Audit, Found, audit, of_found, search
from hf_vqa_mc.audits.closed_sets import ExactSets
from hf_vqa_mc.audits.findings import pooled_findings
from hf_vqa_mc.audits.folds import SET_ID, sets_of
from hf_vqa_mc.audits.probes.heuristics import LAST
from hf_vqa_mc.audits.rows import PooledRows, without_wide_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import NotRun, Sees, Shortcut
from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.benchmarks.layouts.layout import PER_CHOICE
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.executors import Executor, LocalExecutor
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors

BASE_BYTES, BYTES_PER_ROW = 500_000_000, 3_000
"""Memory of a worker, and of each row of its part: more than `.ci/bench parts` measures."""


class Division(NamedTuple):
    """The rows of each part, ascending, by split."""

    rows: Mapping[str, Sequence[NDArray[np.int64]]]

    @property
    def size(self) -> int:
        """Number of parts."""
        return len(next(iter(self.rows.values())))

    @property
    def largest(self) -> int:
        """Number of rows of all splits in the largest part."""
        return max(sum(map(len, of_splits)) for of_splits in zip(*self.rows.values(), strict=True))


def audit_in_parts(
    benchmark: Benchmark,
    settings: ProbeSettings,
    progress: Progress = silent,
    executor: Executor | None = None,
) -> Audit:
    """As `audit`, but with more than ``largest_part`` rows in parts; the result does not depend on the executor.

    Raises:
        InputError: as `audit`; or a part lacks rows of a split; or word vectors are ``corpus``.
    """
    benchmark = without_wide_rows(benchmark)
    if settings.largest_part is None:
        return audit(benchmark, settings, progress)
    parts = divide(benchmark.splits, settings.largest_part)
    if parts.size == 1:
        return audit(benchmark, settings, progress)
    vectors = _vectors(settings.word_vectors)
    benchmark = replace(benchmark, splits={name: _counted(split) for name, split in benchmark.splits.items()})
    first = replace(benchmark, splits=_splits(benchmark.splits, parts, 0))
    found = [_without_texts(search(first, settings, vectors, progress))]
    counting = replace(settings, probes=False, mlps=False, language_model=None, features=None)
    calls = _Calls(benchmark, counting, parts)
    memory = BASE_BYTES + BYTES_PER_ROW * parts.largest
    found += (executor or LocalExecutor()).run(count_part, calls, "auditing parts", progress, memory=memory)
    pooled = pool(found, parts.rows[benchmark.evaluated])
    trained = any(one.trained for one in pooled.shortcuts)
    probes = ", in which trained probes are fitted and evaluated, too" if trained else ""
    rows = len(parts.rows[benchmark.evaluated][0])
    note = (
        f"Rows were divided by image into {parts.size:,} parts. Frequencies and priors are computed within each part, "
        "so shortcuts through rare texts may be underestimated or missed; words and choices that predict the answer "
        f"are those of the first part ({rows:,} rows){probes}."
    )
    benchmark = replace(benchmark, notes=(*benchmark.notes, note))
    return of_found(benchmark, settings, pooled, vectors.sha256 if vectors else None)


def divide(splits: Mapping[str, Split], largest: int) -> Division:
    """Divide rows by a hash of their closed set or `Split.units` into parts of about ``largest`` rows of all splits.

    Raises:
        InputError: a part lacks rows of a split.
    """
    n_parts = -(-sum(split.rows.num_rows for split in splits.values()) // largest)
    rows: dict[str, list[NDArray[np.int64]]] = {}
    for name, split in splits.items():
        part = (text_hashes(_units(split)) % np.uint64(n_parts)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        rows[name] = np.split(order, np.searchsorted(part[order], np.arange(1, n_parts)))
        if empty := sum(not len(own) for own in rows[name]):
            raise InputError(
                f"--largest-part {largest}: {empty:,} of {n_parts:,} parts have no rows of the split {name}; use "
                "larger parts"
            )
    return Division(rows)


def _units(split: Split) -> list[str]:
    sets = sets_of(split)
    return split.units if sets is None else [one or unit for one, unit in zip(sets, split.units, strict=True)]


def _splits(splits: Mapping[str, Split], parts: Division, part: int) -> dict[str, Split]:
    rows = {name: of_parts[part] for name, of_parts in parts.rows.items()}
    return {name: replace(split.take(rows[name]), numbers=rows[name]) for name, split in splits.items()}


@dataclass(frozen=True)
class _Calls(Mapping[str, tuple[Any, ...]]):
    """The arguments of `count_part` for all parts but the first, made when they are needed."""

    benchmark: Benchmark
    settings: ProbeSettings
    parts: Division

    def _name(self, part: int) -> str:
        return f"part {part + 1:,} of {self.parts.size:,}"

    def __iter__(self) -> Iterator[str]:
        return map(self._name, range(1, self.parts.size))

    def __len__(self) -> int:
        return self.parts.size - 1

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        part = list(self).index(name) + 1
        splits = _splits(self.benchmark.splits, self.parts, part)
        without_images = {name: replace(split, images=None) for name, split in splits.items()}
        return replace(self.benchmark, splits=without_images), self.settings


def _counted(split: Split) -> Split:
    """The split without the original columns that are not read, and without closed sets that do not divide it."""
    read = PER_CHOICE if sets_of(split) is None else (SET_ID, *PER_CHOICE)
    columns = [name for name in read if name in split.original.column_names]
    return replace(split, original=split.original.select(columns))


def count_part(benchmark: Benchmark, settings: ProbeSettings) -> Found:
    """What counting finds in a part."""
    return _without_texts(search(benchmark, settings, _vectors(settings.word_vectors)))


@lru_cache(maxsize=1)
def _vectors(name: str | None) -> WordVectors | None:
    """The word vectors, read once per process."""
    return None if name is None else load_word_vectors(name)


def _without_texts(found: Found) -> Found:
    return replace(found, rows=PooledRows(found.rows.positions))


# pooling ------------------------------------------------------------------------------------------------------------


def pool(found: Sequence[Found], rows: Sequence[NDArray[np.int64]]) -> Found:
    """What was found in all parts together; ``rows`` has the rows of each part, as indices."""
    first, findings = found[0], pooled_findings([one.findings for one in found], rows)
    left_out = [NotRun(one.name, "not available with --largest-part") for one in findings if one.needs_all_rows]
    every, chances = _Scattered(rows), [one.rows.chance for one in found]
    every_row = PooledRows(every([one.rows.positions for one in found], MISSING))
    shortcuts = _pooled_shortcuts([one.shortcuts for one in found], chances, every)
    if len(np.unique(every_row.sizes)) == 1:
        shortcuts = [one for one in shortcuts if one.name != LAST]  # it is one of the positions
    return Found(
        every_row,
        [one for one in findings if not one.needs_all_rows],
        {reason: every([one.ambiguous[reason] for one in found], False) for reason in first.ambiguous},
        first.predictive_texts,
        _pooled_sets([one.exact for one in found], every),
        shortcuts,
        _pooled_shortcuts([one.cross_fitted for one in found], chances, every),
        first.not_run + left_out,
    )


@dataclass(frozen=True)
class _Scattered:
    """Put the arrays of parts together in the order of the rows."""

    rows: Sequence[NDArray[np.int64]]

    def __call__(self, arrays: Sequence[NDArray[Any] | None], missing: float) -> Any:  # noqa: ANN401  an array
        """(rows,) or (rows, columns), filled with ``missing`` where a part has none."""
        some = [one for one in arrays if one is not None]
        shape = (sum(map(len, self.rows)), *np.max([one.shape[1:] for one in some], axis=0))
        every = np.full(shape, missing, some[0].dtype)
        for rows, one in zip(self.rows, arrays, strict=True):
            if one is not None:
                cells: Any = (rows, *map(slice, one.shape[1:]))
                every[cells] = one
        return every


def _pooled_shortcuts(
    found: Sequence[list[Shortcut]], chances: Sequence[NDArray[np.float64]], every: _Scattered
) -> list[Shortcut]:
    """Each strategy's predictions in all parts.

    Trained probes have none but in the first part. Of the others, a part has none if all choices tie in all its rows.
    The lists are emptied, since their arrays take much memory.
    """
    of_parts = [{one.name: one for one in part} for part in found]
    for part in found:
        part.clear()
    pooled = []
    for name in dict.fromkeys(name for part in of_parts for name in part):
        own = [part.pop(name, None) for part in of_parts]
        some = [one for one in own if one is not None]
        tied: Sequence[NDArray[np.float64] | None] = [None] * len(own) if some[0].trained else chances
        scores = [other if one is None else one.scores for one, other in zip(own, tied, strict=True)]
        arrays: dict[str, Any] = {"scores": every(scores, np.nan)}
        if some[0].probabilities is not None:
            arrays["probabilities"] = every([None if one is None else one.probabilities for one in own], np.nan)
        if some[0].clusters is not None:
            arrays["clusters"] = every(_numbered([None if one is None else one.clusters for one in own]), MISSING)
        pooled.append(replace(some[0], **arrays, folds=max(one.folds for one in some)))
    return pooled


def _pooled_sets(found: Sequence[Mapping[Sees, ExactSets]], every: _Scattered) -> dict[Sees, ExactSets]:
    """The closed sets of all parts, for inputs with which all parts have closed sets only."""
    return {
        sees: ExactSets(sum(part[sees].number for part in found), every(_numbered([p[sees].groups for p in found]), 0))
        for sees in found[0]
        if all(sees in part for part in found)
    }


def _numbered(groups: Sequence[NDArray[np.int64] | None]) -> list[NDArray[np.int64] | None]:
    """Groups of parts with different numbers in different parts."""
    sizes = [0 if one is None else int(one.max()) + 1 for one in groups]
    starts = np.cumsum([0, *sizes])
    return [None if one is None else one + start for one, start in zip(groups, starts.tolist(), strict=False)]
