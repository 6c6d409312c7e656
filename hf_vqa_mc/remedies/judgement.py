"""Report probes before and after a remedy, on the rows that are in both."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data import Benchmark, Split
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
from hf_vqa_mc.remedies.remedied import Remedied
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace
from hf_vqa_mc.text.embeddings import EmbeddingFamily


def judge(
    published: Split,
    remedied: Split,
    families: Sequence[EmbeddingFamily],
    seed: int = 0,
    changes: Sequence[dict[str, Any]] = (),
    progress: Progress = silent,
    selection: bool = False,
    trained: bool = True,
) -> Comparison:
    """Compare a split before and after a remedy by the report probes.

    Args:
        published: the split as published.
        remedied: some of its rows, with other choices.
        families: text embeddings.
        seed: random seed.
        changes: of a repair; ties the groups of a changed row and of its donor.
        progress: called with (step, done, total).
        selection: use the selection probes instead, to choose a strategy.
        trained: whether trained probes are run.

    Raises:
        InputError: there are fewer groups of rows than folds.
    """
    ids = published.rows["question_id"].combine_chunks()
    kept = pc.index_in(remedied.rows["question_id"].combine_chunks(), ids).to_numpy()
    groups = published.clusters[kept]
    before = published.rows.take(pa.array(kept))
    numbered = number_rows({"before": before, "after": remedied.rows})
    vocabulary = numbered["before"].vocabulary
    counted = tuple(numbered.values())
    forms, spaces = TextForms(vocabulary), [TextSpace.embedded(family, vocabulary) for family in families]
    folds = (selection_folds if selection else report_folds)(groups, seed)
    probes = [one for one in (SELECTION_PROBES if selection else REPORT_PROBES) if trained or not one.trained]
    found = {
        moment: run_judging_probes(
            probes, JudgingInputs(rows, folds, forms, spaces, seed, counted), prefixed(progress, moment)
        )
        for moment, rows in numbered.items()
    }
    scores = {moment: {name: one.scores for name, one in of_moment.items()} for moment, of_moment in found.items()}
    return compare_probes(
        scores["before"],
        scores["after"],
        (numbered["before"].chance, numbered["after"].chance),
        groups,
        _donor_groups(remedied, groups, changes),
        {name: one.inflation for name, one in found["before"].items()},
    )


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


def _donor_groups(split: Split, groups: NDArray[np.int64], changes: Sequence[dict[str, Any]]) -> NDArray[np.int64]:
    """(rows,): group of the question whose choice became a decoy of the row; the row's own if none did."""
    number = {name: row for row, name in enumerate(split.rows["question_id"].to_pylist())}
    found = groups.copy()
    for one in changes:
        if one["split"] == split.name and one["donor"] in number and one["question_id"] in number:
            found[number[one["question_id"]]] = groups[number[one["donor"]]]
    return found
