"""Benchmarks as tasks of other harnesses."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.benchmarks.benchmark import Benchmark
    from hf_vqa_mc.exports.harness import Exported, Harness

HARNESSES: "Listing[Harness]" = Listing(
    "harness",
    homes={
        "lm-eval": "hf_vqa_mc.exports.lm_eval:LM_EVAL",
        "lmms-eval": "hf_vqa_mc.exports.lmms_eval:LMMS_EVAL",
        "vlmevalkit": "hf_vqa_mc.exports.vlmevalkit:VLMEVALKIT",
    },
)


def export_benchmark(
    benchmark: "Benchmark",
    harness: str,
    output: Path,
    *,
    name: str | None = None,
    hide_answers: bool = False,
    progress: Progress = silent,
) -> "Exported":
    """Write a benchmark's evaluated split as tasks that another harness loads.

    What reveals the target (kinds of choices, human answers) is never written.

    Args:
        benchmark: as ``read_benchmark`` returns it.
        harness: one of ``HARNESSES``.
        output: the folder that the harness is pointed to, made if there is none.
        name: of the task; by default of the dataset, config and split.
        hide_answers: write no labels either.
        progress: called with (step, done, total).

    Raises:
        InputError: the harness is unknown, the name cannot be used, a row cannot be asked there, or something that
            no export wrote is in the place of what would be written.
        OSError: the disk is full or not writable; what was there before still is.
    """
    from hf_vqa_mc.exports.questions import exported_questions

    declared = HARNESSES.find(harness)
    return declared.write(exported_questions(benchmark, name, hide_answers), output, progress)
