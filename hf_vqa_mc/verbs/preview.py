"""``hf_vqa_mc.preview`` and ``vqa-mc preview``: sample questions of a benchmark as a page."""

from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, SEED, default_of, flag_of, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of

if TYPE_CHECKING:
    from hf_vqa_mc.report.examples import Example

OF_ANSWERS = frozenset(
    ("dataset", "config", "split", "images", "predictions", "attentions", "rows", "seed", "output", "overwrite")
)
"""Options that apply to open-ended configs."""


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
    output: Path | None = option("HTML file to write.", default=None, cli_default=Path("preview.html"))
    overwrite: bool = overwrite_option()


@dataclass(frozen=True, eq=False, repr=False)
class PreviewResult(OutputResult):
    """Sample questions of a benchmark."""

    title: str
    examples: "list[Example]"
    settings: PreviewSettings
    notes: tuple[str, ...] = ()  #: on rows and images that were not read

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Why an image cannot be shown, by question_id."""
        from hf_vqa_mc.report.pages import SMALL_SIDE
        from hf_vqa_mc.report.thumbnails import small_image

        found = {}
        for one in self.examples:
            shown = (small_image(image, SMALL_SIDE) for image in one.images)
            if reason := one.unreadable or next((why for why in shown if isinstance(why, str)), ""):
                found[one.question_id] = reason
        return found

    @property
    def html(self) -> str:
        """The page."""
        from hf_vqa_mc.report.pages import preview_html

        return preview_html(self.title, self.examples)

    def report(self) -> Report:
        """The written files, and images that cannot be shown; if nothing was written, the questions as a table."""
        from rich.table import Table
        from rich.text import Text

        yield from (f"wrote {path}" for path in self.written)
        yield from self.notes
        for question_id, reason in list(self.unreadable.items())[:1]:
            number = f"{len(self.unreadable):,} of {len(self.examples):,} images cannot be shown"
            yield f"{number}, for example that of question {question_id}: {reason}"
        if self.written:
            return
        table = Table("question", "choices (the correct one first)", title=self.title)
        for one in self.examples:
            decoys = [text for index, text in enumerate(one.choices) if index != one.label]
            table.add_row(Text(one.question), Text(" | ".join([one.choices[one.label], *decoys])))
        yield table

    def to_dict(self) -> dict[str, Any]:
        """The questions without their images, why images cannot be shown, by question_id, and the written files."""
        return {
            "title": self.title,
            "questions": self.to_pandas().to_dict("records"),
            "unreadable_images": self.unreadable,
            "notes": list(self.notes),
            "written": [str(path) for path in self.written],
        }

    def to_pandas(self) -> Frame:
        """One row per question: question_id, question, question_type, choices, label, kinds, picked."""
        columns = ("question_id", "question", "question_type", "choices", "label", "kinds", "picked")
        return frame_of(
            [[getattr(one, name) for name in columns] for one in self.examples], columns=columns, dtype=object
        )

    def _content(self, path: Path) -> bytes:
        return self.html.encode()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'


@verb(
    PreviewSettings,
    "vqa-mc preview vqa_mc cocoqa_iou_qou",
    "vqa-mc preview vqa_mc cocoqa_iou_qou --predictions cocoqa_iou_qou-predictions.json",
    "vqa-mc preview vqa_mc easyvqa_iou_qou --attentions maps.json",
)
def preview(settings: PreviewSettings, progress: Progress) -> PreviewResult:
    """Draw sample questions.

    Returns:
        The questions; a notebook shows them as the page does.

    Raises:
        InputError: the benchmark, predictions or attention maps cannot be used.
    """
    from hf_vqa_mc.data.loading import NoChoices, load_splits
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.io.outputs import check_output_files
    from hf_vqa_mc.io.redaction import public_name
    from hf_vqa_mc.report.examples import (
        answered_examples,
        attentions_of,
        choice_priors,
        drawn_rows,
        examples_of,
        picks_of,
    )

    inputs = [*settings.paths, *filter(None, [settings.predictions, settings.attentions])]
    check_output_files({"--output": settings.output}, inputs, settings.overwrite)
    try:
        benchmark = load(settings, progress)
    except NoChoices:
        if not isinstance(settings.dataset, str | Path) or Path(settings.dataset).is_file():
            raise
        for one in fields(settings):
            if one.name not in OF_ANSWERS and getattr(settings, one.name) != default_of(one):
                raise InputError(
                    f"{flag_of(one)} does not apply to an open-ended config; remove one of them"
                ) from None
        config: str | None = load_splits(settings.dataset_name, settings.config)[0]
        name, examples = answered_examples(settings.dataset_name, str(config), settings)
        notes: tuple[str, ...] = ("no choices: shown as open-ended questions",)
    else:
        split = benchmark.test
        config, name, notes = benchmark.config, split.name, benchmark.notes
        rows = drawn_rows(split.rows.num_rows, settings.rows, settings.seed)
        ids = split.rows["question_id"].take(rows).to_pylist()
        picked = picks_of(split, settings.predictions) if settings.predictions else {}
        attentions = attentions_of(ids, split.location, settings.attentions) if settings.attentions else {}
        priors = choice_priors(benchmark)
        examples = examples_of(split, rows, picked=picked, attentions=attentions, priors=priors)
    title = ", ".join(filter(None, [public_name(settings.dataset_name), config, name]))
    return PreviewResult(title, examples, settings, notes).saved(settings)
