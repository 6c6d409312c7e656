"""``hf_vqa_mc.export`` and ``vqa-mc export``: a benchmark as tasks of other harnesses."""

from pathlib import Path

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports import HARNESSES
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, overwrite_option, settings
from hf_vqa_mc.result import TableResult, verb


@settings
class HarnessOption:
    """The first argument, in its own class because fields of base classes come first."""

    harness: str = option(f"Evaluation harness: {', '.join(HARNESSES)}.", kw_only=False)


@settings
class ExportSettings(BenchmarkOptions, HarnessOption):
    """Export a benchmark as tasks for lm-eval, lmms-eval, inspect-ai or VLMEvalKit.

    lm-eval tests language models without the image; the others test with and without it, VLMEvalKit also with rotated
    choices. A column hint, context or passage precedes the question; other columns are omitted and listed. Kinds of
    choices and human answers are never written.
    """

    output: Path = option(
        "Folder to write: --include_path of lm-eval and lmms-eval; for VLMEvalKit "
        "the folder NAME in it is LMUData, for inspect a dataset repository for the Hub."
    )
    overwrite: bool = overwrite_option()
    hide_answers: bool = option("Do not write labels; the harness then saves predictions only.", default=False)
    name: str | None = option("Name of the task; by default of the dataset, config and split.", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        HARNESSES.find(self.harness)


@verb(
    ExportSettings,
    "vqa-mc export lm-eval vqa_mc cocoqa_iou_qou --output tasks",
    "vqa-mc export vlmevalkit vqa_mc cocoqa_iou_qou --output LMUData --hide-answers",
    "vqa-mc export inspect vqa_mc cocoqa_iou_qou --output benchmarks",
)
def export(settings: ExportSettings, progress: Progress) -> TableResult:
    """The files, and the command with which the harness runs them; `to_pandas` has a row per exported question.

    Raises:
        InputError: the benchmark cannot be read, the name is not valid, the harness cannot present a row, or the
            output exists and is not an export.
    """
    from hf_vqa_mc.data.questions import presented_questions, question_table
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.io.outputs import check_outside

    benchmark = load(settings, progress)
    split, harness = benchmark.test, HARNESSES[settings.harness]
    unread = [split.images_missing] if split.images is None else split.images.refused()
    for why in unread if harness.shows_images and split.image_columns else ():
        raise InputError(f"{split.location}: {why}; or export without them: --image ''")
    questions = presented_questions(benchmark, settings.name, settings.hide_answers)
    check_outside(settings.output / questions.name, "--output", settings.paths)
    done = harness.write(questions, settings.output, progress, settings.overwrite)
    written, notes = [*done.files, *done.others], [*benchmark.notes, *done.notes]
    lines = [f"{done.name}: {done.questions:,} questions", *(f"wrote {path}" for path in written)]
    lines += [*(f"note: {note}" for note in notes), "to run it:", *(f"  {command}" for command in done.how)]
    figures = {
        "harness": settings.harness,
        "name": done.name,
        "questions": done.questions,
        "commands": done.how,
        "notes": notes,
        "written": list(map(str, written)),
    }
    return TableResult(lines, figures, question_table(questions))
