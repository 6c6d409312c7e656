"""Report probes before and after a remedy; and the strategy after which the selection probes find least."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.folds import sets_of
from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.decoys.candidates import Int64s, Ints
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.harm import Comparison, compare_probes
from hf_vqa_mc.remedies.judging_probes import (
    REPORT_PROBES,
    SELECTION_PROBES,
    JudgingInputs,
    report_folds,
    run_judging_probes,
    selection_folds,
)
from hf_vqa_mc.remedies.plausibility import Plausibility
from hf_vqa_mc.remedies.remedied import Remedied
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace
from hf_vqa_mc.text.embeddings import EmbeddingFamily

MOST_JUDGED = 5_000
"""Rows above which a random sample of whole groups is judged; more would take minutes and gigabytes."""
IMPLAUSIBLE = 0.1
"""Share of the published decoys that are less plausible than the floor by which new decoys are counted."""


def judge(
    published: Split,
    remedied: Split,
    families: Sequence[EmbeddingFamily],
    seed: int = 0,
    changes: Sequence[dict[str, Any]] = (),
    progress: Progress = silent,
    selection: bool = False,
) -> Comparison:
    """Compare a split before and after a remedy by the report probes.

    Where choices changed, the kept rows are compared with themselves as published. Where rows were removed and no
    choice changed, as by pruning, that comparison is always equal; then all published rows are compared with the
    kept ones. Rows of a closed answer set share a fold and are sampled together, since each excludes the answers of
    the others.

    Args:
        published: the split as published.
        remedied: some of its rows, with other choices or without some rows.
        families: text embeddings.
        seed: random seed.
        changes: of a repair; ties the groups of a changed row and of its donor.
        progress: called with (step, done, total).
        selection: use the selection probes instead, to choose a strategy.

    Raises:
        InputError: there are fewer groups of rows than folds.
    """
    ids = published.rows["question_id"].combine_chunks()
    kept = pc.index_in(remedied.rows["question_id"].combine_chunks(), ids).to_numpy()
    pairs = published.rows.take(pa.array(kept))
    removes_only = pairs["choices"].combine_chunks().equals(remedied.rows["choices"].combine_chunks())
    sets = sets_of(remedied)
    # indices of the published rows that are compared
    compared = np.arange(published.rows.num_rows) if removes_only else kept
    groups = published.clusters[compared]
    donor_groups = (
        _donor_groups(published, changes)[compared] if sets is None else np.unique(sets, return_inverse=True)[1]
    )
    units = groups if sets is None else donor_groups
    sample = _sample(units, seed)
    groups, donor_groups, units, compared = (one[sample] for one in (groups, donor_groups, units, compared))
    is_kept = np.isin(compared, kept)
    row_after = pc.index_in(pa.array(compared[is_kept]), pa.array(kept))
    numbered = number_rows({"before": published.rows.take(pa.array(compared)), "after": remedied.rows.take(row_after)})
    vocabulary = numbered["before"].vocabulary
    counted = tuple(numbered.values())
    forms, spaces = TextForms(vocabulary), [TextSpace.embedded(family, *counted) for family in families]
    folds = (selection_folds if selection else report_folds)(units, seed)
    probes = SELECTION_PROBES if selection else REPORT_PROBES
    found = {
        moment: run_judging_probes(
            probes,
            JudgingInputs(rows, folds if moment == "before" else folds[is_kept], forms, spaces, seed, counted),
            prefixed(progress, moment),
        )
        for moment, rows in numbered.items()
    }
    scores = {moment: {name: one.scores for name, one in of_moment.items()} for moment, of_moment in found.items()}
    result = compare_probes(
        scores["before"],
        scores["after"],
        (numbered["before"].chance, numbered["after"].chance),
        groups,
        donor_groups,
        {name: one.inflation for name, one in found["before"].items()},
        is_kept,
    )
    implausible = None
    if not selection and not removes_only:
        progress("learning plausibility", 0, 1)
        learned = Plausibility(numbered["before"], units, folds, spaces, forms, seed)
        implausible = _implausible(learned, numbered["before"], numbered["after"])
    return replace(result, rows=published.rows.num_rows if removes_only else len(kept), implausible=implausible)


def _sample(units: Ints, seed: int) -> Int64s:
    """Indices of the rows of random whole groups, MOST_JUDGED rows or a few more; all rows if they are not more."""
    if len(units) <= MOST_JUDGED:
        return np.arange(len(units))
    distinct, unit, counts = np.unique(units, return_inverse=True, return_counts=True)
    order = np.random.default_rng([seed, MOST_JUDGED]).permutation(len(distinct))
    some = order[: int(np.searchsorted(np.cumsum(counts[order]), MOST_JUDGED)) + 1]
    return np.flatnonzero(np.isin(unit, some))


def _implausible(learned: Plausibility, before: Rows, after: Rows) -> float | None:
    """The share of new decoys that are less plausible than nine tenths of the published ones."""
    known = (after.keys[:, :, None] == before.keys[:, None, :]).any(axis=2)
    row, column = (after.valid & ~known).nonzero()
    if not len(row):
        return None
    odds = learned.of(row, column, after.texts[row, column], after.texts)
    return float((odds < np.nanquantile(learned.published[:, 1:], IMPLAUSIBLE)).mean())


def nearest_to_chance(
    benchmark: Benchmark,
    strategies: Mapping[str, Callable[[Progress], Remedied]],
    families: Sequence[EmbeddingFamily],
    seed: int = 0,
    progress: Progress = silent,
) -> Remedied:
    """The remedied benchmark on which the selection probes are nearest to chance.

    Its statistics name the strategy (``best``), the mean distance from chance after each one (``selection``), and why
    others cannot be applied (``not_applied``).

    Args:
        benchmark: as published.
        strategies: name to a function that applies the strategy; InputError if it cannot.
        families: text embeddings.
        seed: random seed.
        progress: called with (step, done, total).

    Raises:
        InputError: no strategy can be applied.
    """
    found: dict[str, tuple[float, Remedied]] = {}
    failed: dict[str, str] = {}
    for name, make in strategies.items():
        of_strategy = prefixed(progress, name)
        try:
            made = make(of_strategy)
            after = made.benchmark.test
            compared = judge(benchmark.test, after, families, seed, progress=of_strategy, selection=True)
        except InputError as error:
            failed[name] = str(error)
            continue
        found[name] = compared.mean.after - compared.mean.chance_after, made
    if not found:
        raise InputError("; ".join(f"{name}: {why}" for name, why in failed.items()))
    best = min(found, key=lambda name: found[name][0])
    figures = {name: distance for name, (distance, _) in found.items()}
    made = found[best][1]
    return made._replace(statistics={**made.statistics, "best": best, "selection": figures, "not_applied": failed})


def _donor_groups(split: Split, changes: Sequence[dict[str, Any]]) -> Int64s:
    """(rows,): group of the question whose choice became a decoy of the row; the row's own if none did."""
    found = split.clusters.copy()
    if not changes:
        return found
    number = {name: row for row, name in enumerate(split.rows["question_id"].to_pylist())}
    for one in changes:
        if one["split"] == split.name and one["donor"] in number and one["question_id"] in number:
            found[number[one["question_id"]]] = split.clusters[number[one["donor"]]]
    return found
