"""``vqa-mc generate tdiuc``: TDIUC's twelve types of questions from annotations of your own images."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

SOURCES, THRESHOLDS = "Annotations, one source at least", "Thresholds"


def generate_tdiuc(
    output: Annotated[Path, typer.Option(help="Folder to write, in TDIUC's layout.", show_default=False)],
    coco: Annotated[
        list[Path] | None,
        typer.Option(
            help="COCO instances file (.json, .gz, .xz or .zip), complete for its images; may be repeated.",
            rich_help_panel=SOURCES,
            show_default=False,
        ),
    ] = None,
    visual_genome: Annotated[
        Path | None,
        typer.Option(
            help="Folder with Visual Genome's objects, attributes, relationships, image_data, question_answers.json.",
            rich_help_panel=SOURCES,
            show_default=False,
        ),
    ] = None,
    vqa: Annotated[
        Path | None,
        typer.Option(
            help="Folder with COCO-VQA's questions and annotations, to import.",
            rich_help_panel=SOURCES,
            show_default=False,
        ),
    ] = None,
    annotated: Annotated[
        list[Path] | None,
        typer.Option(
            help="Hand-annotated questions on sentiment and utility: json lines with image_id, question, answer and "
            "question_type, or TDIUC's own files; may be repeated.",
            rich_help_panel=SOURCES,
            show_default=False,
        ),
    ] = None,
    min_area: Annotated[
        float, typer.Option(help="Pixels of an object that is asked about.", rich_help_panel=THRESHOLDS)
    ] = 2000,
    vertical_threshold: Annotated[
        float,
        typer.Option(help="Left of: vertical distance at most, part of the height.", rich_help_panel=THRESHOLDS),
    ] = 0.1,
    overlap_threshold: Annotated[
        float, typer.Option(help="Left of: overlap at most, part of either width.", rich_help_panel=THRESHOLDS)
    ] = 0.5,
    horizontal_threshold: Annotated[
        float, typer.Option(help="Left of: gap at most, part of the image's width.", rich_help_panel=THRESHOLDS)
    ] = 0.15,
    duplicate_overlap: Annotated[
        float,
        typer.Option(help="Boxes of Visual Genome that overlap so may be one object.", rich_help_panel=THRESHOLDS),
    ] = 0.5,
    agreement: Annotated[
        int, typer.Option(help="Annotators who agree on an imported answer.", rich_help_panel=THRESHOLDS)
    ] = 5,
    min_answers: Annotated[
        int, typer.Option(help="Questions with the same answer for it to stay.", rich_help_panel=THRESHOLDS)
    ] = 2,
    absurd: Annotated[int, typer.Option(help="Absurd questions an image.")] = 3,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the statistics as JSON.")] = False,
) -> None:
    """Ask TDIUC's twelve types of questions of annotated images.

    Example: vqa-mc generate tdiuc --coco instances_val2014.json --output my_tdiuc

    Example: vqa-mc generate tdiuc --coco instances_val2014.json --visual-genome vg --vqa vqa --output my_tdiuc

    What COCO's files do not annotate is taken as absent: they must be complete for the images they list. Sentiment
    and object utility come from people only (--annotated, and sentiment from imported questions).
    """
    from hf_vqa_mc.engines.tdiuc import TdiucInputs, TdiucSettings
    from hf_vqa_mc.engines.tdiuc import generate_tdiuc as make
    from hf_vqa_mc.io.progress import steps_on_stderr

    settings = TdiucSettings(
        min_area=min_area,
        vertical_threshold=vertical_threshold,
        overlap_threshold=overlap_threshold,
        horizontal_threshold=horizontal_threshold,
        duplicate_overlap=duplicate_overlap,
        absurd=absurd,
        agreement=agreement,
        min_answers=min_answers,
        seed=seed,
    )
    inputs = TdiucInputs(coco=coco or (), visual_genome=visual_genome, vqa=vqa, annotated=annotated or ())
    with steps_on_stderr() as progress:
        told = make(output, inputs, settings, progress)
    if as_json:
        sys.stdout.write(json.dumps({**told, "output": str(output)}, indent=1) + "\n")
    else:
        show(told, output)


def show(told: dict[str, Any], output: Path) -> None:
    """The questions of each type, for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("type", "questions", "train", "test", "answers", "bits", "top answer")
    table.columns[0].no_wrap, table.columns[0].min_width = True, len("sentiment_understanding")
    for column in table.columns[1:6]:
        column.justify = "right"
    for name, one in told["types"].items():
        top = next(iter(one["answers"]), "")
        counts = [f"{count:,}" for count in (one["questions"], *one["splits"].values(), one["unique_answers"])]
        table.add_row(name, *counts, f"{one['entropy_bits']:.2f}", top)
    console.print(table)
    console.print(f"{told['questions']:,} questions on {told['images']:,} images", markup=False, highlight=False)
    place = str(output.resolve())
    for line in (
        f"Everything lies in {place}; statistics.json says what was left out and why. Give each question decoys by",
        "",
        f"  vqa-mc build tdiuc --data-dir {shlex.quote(place)} --word-vectors corpus",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
