"""``vqa-mc export``: a benchmark as a task of another harness."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hf_vqa_mc.cli import benchmark_options as given

if TYPE_CHECKING:
    from hf_vqa_mc.exports.written import Exported


def export(
    harness: Annotated[
        Literal["lm-eval", "lmms-eval", "vlmevalkit"], typer.Argument(help="What will run it.", show_default=False)
    ],
    dataset: given.DatasetName,
    config: given.ConfigName = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            help="Folder to write to: for --include_path of lm-eval and lmms-eval, for LMUData of VLMEvalKit.",
            show_default=False,
        ),
    ],
    split: given.SplitName = None,
    question: given.QuestionColumn = None,
    choices: given.ChoicesColumns = None,
    label: given.LabelColumn = None,
    label_from: given.LabelFrom = None,
    image: given.ImageColumn = None,
    question_type: given.TypeColumn = None,
    images: given.ImagesFolder = None,
    hide_answers: Annotated[bool, typer.Option("--hide-answers", help="Write no labels; predictions only.")] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Of the task; by default of the dataset, config and split.", show_default=False),
    ] = None,
) -> None:
    """Write a benchmark as tasks that lm-eval, lmms-eval or VLMEvalKit load.

    Example: vqa-mc export lm-eval vqa_mc cocoqa_iou_qou --output tasks

    Example: vqa-mc export vlmevalkit vqa_mc cocoqa_iou_qou --output LMUData --hide-answers

    lm-eval asks the questions blind, of language models; the others ask them with and without the image, VLMEvalKit
    also with the choices moved round. A column hint, context or passage goes before the question; other columns are
    left out and named. Kinds of choices and human answers are never written.
    """
    from hf_vqa_mc.benchmarks.options import BenchmarkOptions
    from hf_vqa_mc.exports import export_benchmark
    from hf_vqa_mc.io.progress import steps_on_stderr

    columns = given.columns_of(question, choices, label, image, question_type, label_from)
    with steps_on_stderr() as progress:
        benchmark = BenchmarkOptions(dataset, config, split=split, images=images, **columns).read(progress)
        exported = export_benchmark(
            benchmark, harness, output, name=name, hide_answers=hide_answers, progress=progress
        )
    _show(exported)


def _show(exported: "Exported") -> None:
    from rich.console import Console

    console = Console()
    lines = [f"wrote {path}" for path in exported.files]
    lines += [f"note: {note}" for note in exported.notes]
    lines += ["run it:", *(f"  {command}" for command in exported.how)]
    for line in [f"{exported.name}: {exported.questions:,} questions", *lines]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
