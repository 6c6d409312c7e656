"""Annotations from the rows of any multiple-choice benchmark that ``vqa-mc audit`` reads."""

from typing import Any

from hf_vqa_mc.benchmarks import read_benchmark
from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.metrics.dataset_rows import multiple_choice_annotations
from hf_vqa_mc.scoring.scheme import Annotations


def read_benchmark_rows(
    dataset: Any,  # noqa: ANN401  as for read_benchmark, or a Benchmark
    config: str | None = None,
    split: str | None = None,
) -> Annotations:
    """The questions of the evaluated split; without ids of their own they have the numbers of their rows, from 0.

    Raises:
        InputError: as `hf_vqa_mc.read_benchmark`.
    """
    benchmark = dataset if isinstance(dataset, Benchmark) else read_benchmark(dataset, config, split=split)
    found, rows = benchmark.test, benchmark.test.rows.to_pydict()
    names, kinds = list(CHOICE_KINDS), rows.pop("choice_kinds")
    if all(kinds):
        rows["choice_kinds"] = [[names.index(kind) for kind in of_row] for of_row in kinds]
    for name in ("set_id", "set_kind"):
        if name in found.original.column_names:
            rows[name] = found.original[name].to_pylist()
    about = {"dataset": benchmark.dataset, "split": found.name}
    about |= {"config": benchmark.config} if benchmark.config else {}
    return multiple_choice_annotations(rows, found.location, about)
