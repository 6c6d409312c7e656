"""``hf_vqa_mc.preview`` and ``vqa-mc preview``: sample questions of a benchmark as a page."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, SEED, option, output_file, overwrite_option, settings
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.report.preview import PreviewResult


@settings
class PreviewSettings(BenchmarkOptions):
    """Show sample questions: image, question, choices by kind or the answer, and a model's choices or answers.

    The page is one self-contained HTML file.
    """

    predictions: Path | None = option(
        "A model's predictions in a format of vqa-mc score; its choices are marked.", default=None
    )
    attentions: Path | None = option(
        "A model's attention, written by vqa-mc predict --attentions; drawn on the images.",
        default=None,
    )
    rows: int = option(
        "Number of questions, drawn at random.",
        default=12,
        check=("1 to 1000", lambda n: 1 <= n <= 1000),
    )
    seed: int = option("Random seed.", default=0, check=SEED, panel=ADVANCED)
    output: Path | None = output_file("HTML file to write.", cli_default=Path("preview.html"))
    overwrite: bool = overwrite_option()


@verb(
    PreviewSettings,
    "vqa-mc preview vqa_mc cocoqa_iou_qou",
    "vqa-mc preview vqa_mc cocoqa_iou_qou --predictions cocoqa_iou_qou-predictions.json",
    "vqa-mc preview vqa_mc easyvqa_iou_qou --attentions maps.json",
)
def preview(settings: PreviewSettings, progress: Progress) -> "PreviewResult":
    """The questions; a notebook shows them as the page does.

    Raises:
        InputError: the benchmark, predictions or attention maps cannot be used.
    """
    from hf_vqa_mc.data.loading import NoChoices, load_splits
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.io.redaction import public_name

    notes: tuple[str, ...] = ("no choices: shown as open-ended questions",)
    try:
        benchmark = load(settings, progress)
    except NoChoices:
        if not isinstance(settings.dataset, str | Path) or Path(settings.dataset).is_file():
            raise
        for name in settings.given_columns:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} does not apply to an open-ended config; remove one of them") from None
        from hf_vqa_mc.report.examples import answered_examples

        config: str | None = load_splits(settings.dataset_name, settings.config)[0]
        name, examples = answered_examples(settings.dataset_name, str(config), settings)
    else:
        from hf_vqa_mc.report.examples import attentions_of, choice_priors, drawn_rows, examples_of, picks_of

        split, config, notes = benchmark.test, benchmark.config, benchmark.notes
        rows, name = drawn_rows(split.rows.num_rows, settings.rows, settings.seed), split.name
        ids = split.rows["question_id"].take(rows).to_pylist()
        picked = picks_of(split, settings.predictions) if settings.predictions else {}
        attentions = attentions_of(ids, split.location, settings.attentions) if settings.attentions else {}
        priors = choice_priors(benchmark)
        examples = examples_of(split, rows, picked=picked, attentions=attentions, priors=priors)
    from hf_vqa_mc.report.preview import PreviewResult

    title = ", ".join(filter(None, [public_name(settings.dataset_name), config, name]))
    return PreviewResult(settings, title, examples, notes)
