"""Annotations from the rows of any multiple-choice benchmark that ``vqa-mc audit`` reads."""

from typing import Any

from hf_vqa_mc.benchmarks import read_benchmark
from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Annotations


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
    set_ids, set_kinds = (
        found.original[name].to_pylist() if name in found.original.column_names else []
        for name in ("set_id", "set_kind")
    )
    answers, names = rows["answers"], list(CHOICE_KINDS)
    kinds = [[names.index(kind) for kind in of_row] for of_row in rows["choice_kinds"]]
    return Annotations(
        MULTIPLE_CHOICE,
        found.location,
        rows["question_id"],
        image_ids=_filled(rows["image_id"]),
        question_types=_filled(rows["question_type"]),
        questions=rows["question"],
        gold=[texts[label] for texts, label in zip(rows["choices"], rows["label"], strict=True)],
        answers=answers if max(map(len, answers), default=0) > 1 else None,
        choices=rows["choices"],
        labels=rows["label"],
        choice_kinds=kinds if all(kinds) else None,
        set_ids=_filled([str(name or "") for name in set_ids]),
        set_kinds=set_kinds or None,
        about={"dataset": benchmark.dataset, "config": str(benchmark.config), "split": found.name},
    )


def _filled(texts: list[str]) -> list[str] | None:
    """The column, or None if it is empty in every row."""
    return texts if any(texts) else None
