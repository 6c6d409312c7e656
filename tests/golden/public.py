"""The public interface as these tests use it; where a name of the package moves, only this file changes."""

from pathlib import Path
from typing import Any

import hf_vqa_mc as vm


def _spelled(options: dict[str, Any]) -> dict[str, Any]:
    """Options of the reader as it takes them now."""
    others = {name: options[name] for name in ("question_type", "image_id", "question_id") if name in options}
    return {name: value for name, value in options.items() if name not in others} | {"columns": others}


def read(source: object, **options: Any) -> dict[str, Any]:
    """A benchmark as the reader sees it: the evaluated split, and of each split's rows

    question_id, image_id, cluster (equal numbers for rows that are no independent samples), question, choices, label,
    question_type, answers and choice_kinds.
    """
    benchmark = vm.read_benchmark(source, **_spelled(options))
    splits = {}
    for name, split in benchmark.splits.items():
        rows = split.rows.to_pylist()
        clusters = split.clusters.tolist()
        splits[name] = [
            [row["question_id"], row["image_id"], cluster, row["question"], row["choices"], row["label"],
             row["question_type"], row["answers"], row["choice_kinds"]]
            for row, cluster in zip(rows, clusters, strict=True)
        ]  # fmt: skip
    return {"evaluated": benchmark.evaluated, "splits": splits}


def image_bytes(source: object, **options: Any) -> list[bytes | None]:
    """The first image file of each row of the evaluated split."""
    split = vm.read_benchmark(source, **_spelled(options)).test
    read = (split.images.read(row) if split.images else () for row in range(split.rows.num_rows))
    return [next(iter(contents), None) for contents in read]


def score(metric: str, arguments: dict[str, Any]) -> Any:
    """The whole result of a metric."""
    return vm.load_metric(metric).compute(**arguments)


def audit_figures(dataset: Path, config: str, output: Path) -> dict[str, Any]:
    """The content of audit.json, without trained probes."""
    import json

    vm.audit(dataset, config, probes=False, output=output)
    return json.loads((output / "audit.json").read_text())
