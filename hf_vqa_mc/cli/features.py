"""``vqa-mc features``: a dataset's images to the numbers that models see of them."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hf_vqa_mc.extraction.extraction import Extracted

RUNNING = "Running"


def features(
    dataset: Annotated[
        str, typer.Argument(help="A folder of vqa-mc build, or a dataset on the Hub.", show_default=False)
    ],
    config: Annotated[
        str, typer.Argument(help="Such as cocoqa_iou_qou; the images of all its splits are taken.", show_default=False)
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the image files; by default the images built into the dataset.", show_default=False
        ),
    ] = None,
    backbone: Annotated[
        str, typer.Option(help="pixels, a vision model on the Hub, or the folder of one.")
    ] = "microsoft/resnet-152",
    grid: Annotated[
        int | None,
        typer.Option(
            help="Cells on a side, such as 7 or 14, instead of one vector an image: the model's last feature map, or "
            "its patch tokens.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder of all features; each image is encoded once for all datasets in it.")
    ] = Path("vqa_mc_features"),
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Go on without missing and broken images, and count them.")
    ] = False,
    batch_size: Annotated[int, typer.Option(help="Images encoded at a time.", rich_help_panel=RUNNING)] = 64,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Threads that read images; one a core by default.", rich_help_panel=RUNNING, show_default=False
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell what was done as JSON.", rich_help_panel=RUNNING)
    ] = False,
) -> None:
    """Encode a dataset's images once, for training to read.

    Example: vqa-mc features vqa_mc cocoqa_iou_qou --images val2014

    Example: vqa-mc features vqa_mc easyvqa_iou_qou --backbone pixels

    Runs on the GPU (in bfloat16) if there is one. Stopped at any moment, the same command computes only what is
    missing. Features are kept by the model's revision and each image's content, so another config with the same images
    takes no time.
    """
    from hf_vqa_mc.extraction.extraction import extract_features, summary
    from hf_vqa_mc.io.progress import steps_on_stderr

    with steps_on_stderr() as progress:
        done = extract_features(
            dataset,
            config,
            images=images,
            backbone=backbone,
            grid=grid,
            output=output,
            skip_missing=skip_missing,
            batch_size=batch_size,
            workers=workers,
            progress=progress,
        )
    if as_json:
        sys.stdout.write(json.dumps(summary(done), indent=1) + "\n")
    else:
        show(done)


def show(done: "Extracted") -> None:
    """What was done, for people."""
    from rich.console import Console

    from hf_vqa_mc.extraction.dataset_images import listed

    kind = done.kind
    shape = f"{kind.dim:,} numbers" if kind.grid is None else f"{kind.grid}x{kind.grid} cells of {kind.dim:,} numbers"
    lines = [
        f"{len(done.images):,} images, {done.computed:,} of them encoded now: {shape} each ({kind.precision}), "
        f"{kind.backbone} at revision {kind.revision[:12]}."
    ]
    if done.missing:
        lines.append(f"Skipped, since missing: {len(done.missing):,} images, with image_id {listed(done.missing)}")
    if done.broken:
        named = [f"{image_id} ({reason})" for image_id, reason in done.broken.items()]
        lines.append(f"Skipped, since broken: {len(done.broken):,} images, with image_id {listed(named)}")
    console = Console()
    for line in [*lines, f"They lie in {done.folder}"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
