"""``vqa-mc generate gqa``: scene graphs to a dataset in the layout of GQA's files."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from hf_vqa_mc.engines.gqa.generate import Generated

BALANCING = "Balancing (Sect. 3.5, appendix B)"


def generate_gqa(
    scene_graphs: Annotated[
        list[Path],
        typer.Argument(
            help="Files in the layout of GQA's train_sceneGraphs.json, or folders with Visual Genome's "
            "scene_graphs.json (or objects, attributes, relationships) and image_data.json; packed or not.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
    objects: Annotated[
        Path | None,
        typer.Option(help="GQA's ontology of objects (objects.txt); by default our own words.", show_default=False),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option(help="GQA's ontology of attributes (attributes.txt), with --objects.", show_default=False),
    ] = None,
    splits: Annotated[str, typer.Option(help="Shares of images, drawn by their ids.")] = (
        "train=0.7,val=0.1,test=0.1,challenge=0.1"
    ),
    keep_splits: Annotated[
        bool, typer.Option("--keep-splits", help="Images keep the split that their file is named after (train_...).")
    ] = False,
    head: Annotated[
        float, typer.Option(help="The more frequent answers hold so many times the rest.", rich_help_panel=BALANCING)
    ] = 1.0,
    min_ratio: Annotated[
        float, typer.Option(help="An answer stays so many times the next one, at least.", rich_help_panel=BALANCING)
    ] = 1.05,
    max_ratio: Annotated[float, typer.Option(help="And at most.", rich_help_panel=BALANCING)] = 1.5,
    shares: Annotated[
        str,
        typer.Option(
            help="Of structural types among the balanced questions, such as query=0.4,verify=0.3; others stay.",
            rich_help_panel=BALANCING,
        ),
    ] = "verify=0.25,logical=0.12",
    depth: Annotated[int, typer.Option(help="References in one another, at most.")] = 2,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the statistics as JSON.")] = False,
) -> None:
    """Generate questions from scene graphs: with programs, references, entailment, balanced answers.

    Example: vqa-mc generate gqa train_sceneGraphs.json --output my_gqa

    Example: vqa-mc generate gqa train_sceneGraphs.json val_sceneGraphs.json --keep-splits --output my_gqa

    Then: vqa-mc build gqa --data-dir my_gqa --word-vectors corpus gives each question decoys.
    """
    from hf_vqa_mc.engines.gqa.balancing import Bounds
    from hf_vqa_mc.engines.gqa.generate import Settings, generate
    from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
    from hf_vqa_mc.engines.gqa.question_types.asking import Limits
    from hf_vqa_mc.engines.gqa.reference import ReferenceOptions
    from hf_vqa_mc.engines.gqa.selection import SelectionOptions
    from hf_vqa_mc.io.progress import steps_on_stderr

    bounds = Bounds(head=head, min_ratio=min_ratio, max_ratio=max_ratio)
    settings = Settings(
        limits=Limits(references=ReferenceOptions(depth=depth)),
        selection=SelectionOptions(bounds, bounds, _named_shares("--shares", shares)),
        splits=_named_shares("--splits", splits),
        keep_splits=keep_splits,
        seed=seed,
    )
    with steps_on_stderr() as progress:
        words = read_ontology(objects, attributes)
        generated = generate(scene_graphs, output, ontology=words, settings=settings, progress=progress)
    if as_json:
        sys.stdout.write(json.dumps(generated.statistics, indent=1) + "\n")
    else:
        _show(generated)


def _named_shares(option: str, text: str) -> dict[str, float]:
    """Such as {"train": 0.7} for train=0.7."""
    shares = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise InputError(f"{option} {part}: expected a name and a share, such as train=0.7") from None
    return shares


def _show(generated: "Generated") -> None:
    from rich.console import Console
    from rich.table import Table

    told = generated.statistics
    table = Table("questions", "all", "balanced")
    for column in table.columns[1:]:
        column.justify = "right"
    for kind in ("structural", "semantic"):
        before, after = (told[part][f"per_{kind}_type"] for part in ("all", "balanced"))
        for name, count in before.items():
            table.add_row(f"{kind}: {name}", f"{count:,}", f"{after.get(name, 0):,}")
    table.add_section()
    for split, count in told["all"]["per_split"].items():
        table.add_row(split, f"{count:,}", f"{told['balanced']['per_split'].get(split, 0):,}")
    table.add_section()
    table.add_row("all", f"{told['all']['questions']:,}", f"{told['balanced']['questions']:,}")
    entropy = told["entropy"]["global_groups"]
    table.add_row("entropy of a group's answers, bits", f"{entropy['before']:.2f}", f"{entropy['after']:.2f}")
    console = Console()
    console.print(table)
    lines = [f"left out: {reason}: {count:,}" for reason, count in told["problems"].items() if count]
    lines += [
        f"Everything lies in {generated.output}; statistics.json tells more. Give each question decoys by",
        "",
        f"  vqa-mc build gqa --data-dir {shlex.quote(str(generated.output))} --word-vectors corpus",
    ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
