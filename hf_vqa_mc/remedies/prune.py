"""Fewer rows instead of better decoys: those that give themselves away most are left out, round by round.

After iterative bias pruning of "train on the test set" stress tests (arXiv 2511.04655): probes are trained anew after
each round, since what gives a row away may be that others like it are there.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.bias import bias_scores
from hf_vqa_mc.audits.estimates import Estimate, estimate
from hf_vqa_mc.audits.fast_probes import fast_probes
from hf_vqa_mc.audits.folds import folds_of
from hf_vqa_mc.audits.probed import Probed
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.remedied import Remedied

MOST_PRUNED = 0.5
"""No more than this part of the rows is left out."""
ROUND = 0.05
"""Part of the published rows that a round leaves out."""
LEAST_ROWS = 100
"""Fewer rows tell nothing of a probe."""


def prune(
    benchmark: Benchmark,
    to_gain: float,
    most_rows: int = 20_000,
    seed: int = 0,
    progress: Progress = silent,
) -> Remedied:
    """Leaves out rows of the audited split until no blind probe gains more than so much, or half of them are gone.

    Args:
        benchmark: with its targets.
        to_gain: over chance, a fraction; compared with the gain itself, not with an end of its interval.
        most_rows: that a probe learns from.
        seed: of the probes.
        progress: told (step, done, total).

    Raises:
        InputError: there are too few rows to prune, or ``to_gain`` is none.
    """
    if not 0 <= to_gain < 1:
        raise InputError(f"--prune {to_gain}: expected a gain from 0 to less than 1, such as 0.05")
    split = benchmark.test
    published = split.rows.num_rows
    if published * (1 - MOST_PRUNED) < LEAST_ROWS:
        raise InputError(f"{split.place}: {published} rows are too few to prune; expected {2 * LEAST_ROWS} or more")
    kept = np.arange(published)
    rounds: list[dict[str, Any]] = []
    most_rounds = int(MOST_PRUNED / ROUND) + 1
    for _ in range(most_rounds):
        remaining = split.take(kept)
        strongest, bias = _asked(_with(benchmark, remaining), most_rows, seed)
        rounds.append({"rows": len(kept), "gain": strongest.gain, "low": strongest.low, "high": strongest.high})
        progress("pruning", len(rounds), most_rounds)
        if strongest.gain <= to_gain or len(rounds) == most_rounds:
            break
        left_out = np.argsort(-bias, kind="stable")[: int(ROUND * published)]
        kept = np.delete(kept, left_out)
    progress("pruning", most_rounds, most_rounds)
    smaller = split.take(kept)
    reached = rounds[-1]["gain"] <= to_gain
    told = {"to_gain": to_gain, "reached": reached, "published": published, "rows": len(kept), "rounds": rounds}
    return Remedied(_with(benchmark, smaller), told)


def _with(benchmark: Benchmark, asked: Split) -> Benchmark:
    """The same with another audited split."""
    return replace(benchmark, splits={**benchmark.splits, benchmark.asked: asked})


def _asked(benchmark: Benchmark, most_rows: int, seed: int) -> tuple[Estimate, NDArray[np.float64]]:
    """What the strongest blind probe gains, and each row's bias score."""
    split: Split = benchmark.test
    rows = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    asked, train = rows[split.name], benchmark.train
    found = fast_probes(
        asked,
        folds_of(split, asked),
        rows[train.name] if train else None,
        placed=split.placed,
        most_rows=most_rows,
        seed=seed,
        train_folds=folds_of(train, rows[train.name]) if train else None,
    )
    probed = [one for one in found if isinstance(one, Probed)]
    gains = [estimate(one.shortcut.scores, asked.chance, split.clusters, one.shortcut.inflation) for one in probed]
    if not gains:
        raise InputError(f"{split.place}: no probe can learn, as all rows hang together by their images or choices")
    return max(gains, key=lambda one: one.gain), bias_scores(probed)
