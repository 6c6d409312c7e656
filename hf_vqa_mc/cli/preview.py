"""``vqa-mc preview``: sample questions of a benchmark as a page, and as a picture for its card."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_vqa_mc.cli import benchmark_options as given
from hf_vqa_mc.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from hf_vqa_mc.benchmarks.benchmark import Benchmark
    from hf_vqa_mc.report.example import Example


def preview(
    dataset: given.DatasetName,
    config: given.ConfigName = None,
    split: given.SplitName = None,
    question: given.QuestionColumn = None,
    choices: given.ChoicesColumns = None,
    label: given.LabelColumn = None,
    label_from: given.LabelFrom = None,
    image: given.ImageColumn = None,
    question_type: given.TypeColumn = None,
    images: given.ImagesFolder = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="A model's answers, as vqa-mc score takes them; its picks are marked.", show_default=False),
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=1000, help="How many are drawn.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
    output: Annotated[Path, typer.Option(help="The html file to write.")] = Path("preview.html"),
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the first four as this png file.", show_default=False)
    ] = None,
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            help="Also put such a picture on the dataset card: writes preview.png and README.md in DATASET, which "
            "must be a folder of vqa-mc build.",
        ),
    ] = False,
) -> None:
    """Show sample questions: image, question, choices by their kinds, and a model's picks.

    Example: vqa-mc preview vqa_mc cocoqa_iou_qou

    Example: vqa-mc preview vqa_mc cocoqa_iou_qou --predictions cocoqa_iou_qou-predictions.json

    Example: vqa-mc preview vqa_mc cocoqa_iou_qou --card

    The page is one file that any browser opens from the disk; DATASET itself stays as it is. Only --card changes it:
    the picture for the card of a dataset that vqa-mc build made is put there, and its README.md shows it.
    """
    from hf_vqa_mc.benchmarks.options import BenchmarkOptions
    from hf_vqa_mc.io.atomic_file import check_place
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.report import preview_picture, write_preview
    from hf_vqa_mc.report.benchmark_examples import drawn_rows, examples_of, picks_of
    from hf_vqa_mc.report.plain_text import shown_name

    inputs = [Path(dataset), *([predictions] if predictions else [])]
    check_place(output, "--output", inputs)
    if picture is not None:
        check_place(picture, "--picture", inputs)
        if picture.absolute() == output.absolute():
            raise InputError(f"--picture {picture} and --output {output} are the same file; name two")
    with steps_on_stderr() as progress:
        columns = given.columns_of(question, choices, label, image, question_type, label_from)
        benchmark = BenchmarkOptions(dataset, config, split=split, images=images, **columns).read(progress)
        if card:
            _check_card(benchmark)
        asked = benchmark.test
        picked = picks_of(asked, predictions) if predictions else {}
        examples = examples_of(asked, drawn_rows(asked, questions, seed), picked=picked)
        title = ", ".join(part for part in (shown_name(dataset), benchmark.config, asked.name) if part)
        write_preview(output, title, examples)
        progress("writing", 1, 1)
    lines = [f"wrote {output}"]
    if picture is not None:
        preview_picture(examples, picture)
        lines.append(f"wrote {picture}")
    lines += _on_the_card(benchmark, examples) if card else []
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _check_card(benchmark: "Benchmark") -> None:
    """Nothing, if the dataset has a card of ours.

    Raises:
        InputError: it has none.
    """
    from hf_vqa_mc.dataset.inventory import configs_of, read_inventory

    folder = Path(benchmark.dataset)
    inventory = read_inventory(folder) if folder.is_dir() else None
    if inventory is None or benchmark.config not in configs_of(inventory):
        raise InputError(
            f"--card: {benchmark.dataset} is no folder of vqa-mc build, so there is no card for a picture; "
            "name one, or draw the picture with --picture FILE.png"
        )


def _on_the_card(benchmark: "Benchmark", examples: list["Example"]) -> list[str]:
    """Put the picture on the card; what is said of it."""
    from dataclasses import replace

    from hf_vqa_mc.dataset.card_picture import put_picture
    from hf_vqa_mc.report.preview_picture import picture_bytes

    folder = Path(benchmark.dataset)
    try:
        drawn = picture_bytes([replace(example, picked=None) for example in examples])  # a card is of no model
        return [f"on the dataset card: {put_picture(folder, benchmark.config or '', drawn)}"]
    except (MissingExtra, OSError) as error:
        return [f"no picture on the dataset card: {error}"]
