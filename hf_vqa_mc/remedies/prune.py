"""Remove the most biased rows of a benchmark, round by round.

This follows iterative bias pruning in "train on the test set" stress tests (arXiv 2511.04655): probes are retrained
after each round, since a row's bias depends on the other rows.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from hf_vqa_mc.audits.closed_sets import mean_probabilities
from hf_vqa_mc.audits.probes import PROBES, Context, run_probes
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import Estimate, ProbeInputs, estimate
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.decoys.candidates import Float64s
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.remedied import Remedied

MOST_PRUNED = 0.5  # maximum fraction of the rows that is removed
ROUND = 0.05  # fraction of the published rows that a round removes
LEAST_ROWS = 100  # minimum number of remaining rows
UNLIMITED = 1e9  # time limit of the probes in seconds


def prune(benchmark: Benchmark, to_gain: float, seed: int = 0, progress: Progress = silent) -> Remedied:
    """Remove rows of the audited split until no blind probe gains more than ``to_gain``, or half of them are removed.

    The interval of the gain is not considered.

    Raises:
        InputError: there are too few rows to prune.
    """
    split = benchmark.test
    published = split.rows.num_rows
    if published * (1 - MOST_PRUNED) < LEAST_ROWS:
        raise InputError(f"{split.location}: {published} rows are too few to prune; expected {2 * LEAST_ROWS} or more")
    kept, most_rounds, rounds = np.arange(published), int(MOST_PRUNED / ROUND) + 1, list[dict[str, Any]]()
    while True:
        remaining = replace(benchmark, splits={**benchmark.splits, benchmark.evaluated: split.take(kept)})
        of_round = prefixed(progress, f"round {len(rounds) + 1}")
        strongest, bias = _strongest(remaining, seed, of_round)
        rounds.append({"rows": len(kept), "gain": strongest.gain, "low": strongest.low, "high": strongest.high})
        progress("pruning", len(rounds), most_rounds)
        if strongest.gain <= to_gain or len(rounds) == most_rounds:
            break
        kept = np.delete(kept, np.argsort(-bias, kind="stable")[: int(ROUND * published)])
    progress("pruning", most_rounds, most_rounds)
    reached = rounds[-1]["gain"] <= to_gain
    statistics = {"to_gain": to_gain, "reached": reached, "published": published, "rows": len(kept), "rounds": rounds}
    return Remedied(remaining, statistics)


def _strongest(benchmark: Benchmark, seed: int, progress: Progress) -> tuple[Estimate, Float64s]:
    """The gain of the strongest blind probe, and the bias of each row: P(target) according to the blind probes."""
    numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    settings = ProbeSettings(seed=seed, time_limit=UNLIMITED)
    context = Context.of(benchmark, numbered, settings, progress, evaluated=None)
    blind = [one for one in PROBES.values() if one.trained and not one.sees.image]
    found, _ = run_probes(context, blind)
    chance, clusters = context.rows.chance, context.split.clusters
    gains = [estimate(one.scores, chance, clusters, one.inflation) for one in found]
    probabilities = mean_probabilities(found, ProbeInputs.QUESTION)
    if probabilities is None:
        location = context.split.location
        raise InputError(f"{location}: no probe can be fitted, since all rows are connected by images or choices")
    return max(gains, key=lambda one: one.gain), probabilities[:, 0]
