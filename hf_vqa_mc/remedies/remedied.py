"""A remedied benchmark: its rows, what was changed in figures and in sentences, and how it is written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks import Benchmark, write_benchmark
from hf_vqa_mc.dataset.rows import Choices
from hf_vqa_mc.decoys import VARIANTS, Variant, methods
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.remedies.donors import Donor, images_in_common

MOSTLY = 0.5
"""A larger fraction of fallbacks among the decoys is pointed out."""


class Remedied(NamedTuple):
    """A benchmark with new decoys, or fewer rows."""

    benchmark: Benchmark
    """its rows are those written"""
    statistics: dict[str, Any]
    """ready for JSON"""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Split to its columns in the benchmark's own layout, with kinds, fallbacks and origins of new choices."""
        return {name: split.original for name, split in self.benchmark.splits.items()}

    def write(self, published: Benchmark, path: Path) -> list[Path]:
        """Write it as the published benchmark is; see `benchmarks.write_benchmark`."""
        return write_benchmark(published, self.tables, path, note=" ".join(in_words(self.statistics)))


def decoy_statistics(
    variant: Variant,
    benchmark: Benchmark,
    choices: Choices,
    made: Mapping[str, Any],
    donors: Sequence[Donor],
    unchanged: int,
) -> dict[str, Any]:
    """What was found for the benchmark's own rows.

    Args:
        variant: with the sets of decoys.
        benchmark: as published.
        choices: of all triplets, those of the benchmark's rows first.
        made: the sets by name.
        donors: further answers.
        unchanged: rows that keep their published choices.
    """
    lengths = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    n_rows = sum(map(len, lengths))
    decoys = {}
    for name in variant.sets:
        view = made[name].view(variant)
        found, fallback = view.picks[:n_rows] != MISSING, view.fallback[:n_rows]
        decoys[name] = {
            "wanted": found.size,
            "found": int((found & ~fallback).sum()),
            "fallbacks": int(fallback.sum()),
            "missing": int((~found).sum()),
        }
    return {
        "variant": variant.name,
        "rows": n_rows,
        "rows_left_as_published": unchanged,
        "choices": _counted((choices.texts[:n_rows] != MISSING).sum(axis=1)),
        "choices_before": _counted(np.concatenate(lengths)),
        "decoys": decoys,
        "donors": {
            "given": len(donors),
            "images_in_common": images_in_common(donors, benchmark),
            "decoys_from_them": int((choices.donors[:n_rows] >= n_rows).sum()),
        },
    }


def _counted(sizes: Any) -> dict[str, int]:  # noqa: ANN401  an array
    different, counts = np.unique(sizes, return_counts=True)
    return {str(size): int(count) for size, count in zip(different, counts, strict=True)}


def in_words(statistics: dict[str, Any]) -> list[str]:
    """What was changed, in sentences: for the terminal and the card of what was written."""
    if "rounds" not in statistics:
        return _replaced(statistics)
    last, wanted = statistics["rounds"][-1], f"{100 * statistics['to_gain']:g}"
    reached = "" if statistics["reached"] else f" That is more than the {wanted} requested, but no more rows may go."
    return [
        f"{statistics['rows']:,} of {statistics['published']:,} rows are kept; the most biased ones were left out. On "
        f"those kept, the strongest blind probe gains {100 * last['gain']:+.1f} points.{reached}"
    ]


def _replaced(statistics: dict[str, Any]) -> list[str]:
    sizes = " or ".join(statistics["choices"])
    before = " or ".join(statistics["choices_before"])
    kinds = VARIANTS[statistics["variant"]].description
    lines = [f"Choices are the target and {kinds}: {sizes} a row; before: {before}."]
    for name, found in statistics["decoys"].items():
        kind, _ = methods()[name]
        rest = f"; {found['missing']:,} are missing" if found["missing"] else ""
        lines.append(
            f"{kind.label}: {found['found']:,} of {found['wanted']:,} decoys are of this kind, {found['fallbacks']:,} "
            f"are fallbacks for others that could not be found{rest}."
        )
        if found["fallbacks"] > MOSTLY * found["wanted"]:
            lines.append(f"So most {kind.legend} are fallbacks: {kind.shortage}")
    donors = statistics["donors"]
    if donors["given"]:
        lines.append(
            f"Donors: {donors['given']:,} answers about {donors['images_in_common']:,} of the benchmark's images; "
            f"{donors['decoys_from_them']:,} decoys are theirs."
        )
        if not donors["images_in_common"]:
            lines.append(
                "Images are matched by id or file name; images stored inside a file are matched by their content."
            )
    if statistics["rows_left_as_published"]:
        lines.append(
            f"{statistics['rows_left_as_published']:,} rows keep their published choices: no decoy was found."
        )
    return lines
