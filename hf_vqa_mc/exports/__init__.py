"""Our datasets, and others, as tasks of other harnesses."""

from collections.abc import Callable
from pathlib import Path

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.errors import unknown_name
from hf_vqa_mc.exports.lm_eval_task import write_lm_eval
from hf_vqa_mc.exports.lmms_eval_task import write_lmms_eval
from hf_vqa_mc.exports.questions import Progress, Questions, exported_questions
from hf_vqa_mc.exports.vlmevalkit_tsv import write_vlmevalkit
from hf_vqa_mc.exports.written import Exported

__all__ = ["HARNESSES", "Exported", "export_benchmark"]

HARNESSES: dict[str, Callable[[Questions, Path, Progress], Exported]] = {
    "lm-eval": write_lm_eval,
    "lmms-eval": write_lmms_eval,
    "vlmevalkit": write_vlmevalkit,
}
"""Name of a harness to what writes its tasks."""


def export_benchmark(
    benchmark: Benchmark,
    harness: str,
    output: Path,
    *,
    name: str | None = None,
    hide_answers: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Exported:
    """Write a benchmark's asked split as tasks that another harness loads.

    What tells the target (kinds of choices, human answers) is never written.

    Args:
        benchmark: as ``read_benchmark`` gives it.
        harness: one of ``HARNESSES``.
        output: the folder that the harness is pointed to, made if there is none.
        name: of the task; by default of the dataset, config and split.
        hide_answers: write no labels either.
        progress: told (step, done, total).

    Raises:
        InputError: the harness is unknown, the name cannot be used, a row cannot be asked there, or something that
            no export wrote is in the place of what would be written.
        OSError: the disk is full or closed to us; what was there still is.
    """
    if harness not in HARNESSES:
        raise unknown_name("harness", harness, HARNESSES)
    return HARNESSES[harness](exported_questions(benchmark, name, hide_answers), output, progress)
