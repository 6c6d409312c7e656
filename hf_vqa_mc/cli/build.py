"""``vqa-mc build``: annotation files to a dataset folder."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from hf_vqa_mc.dataset.build import Build
    from hf_vqa_mc.decoys.settings import Combine, Pool, Ties, WupBoundary

METHOD, IMAGES, RUNNING = "The method", "Images", "Running"


def build(
    source: Annotated[
        str,
        typer.Argument(
            help="visual7w, vqa, vqa_minus, vqa2, vqa2_minus, cocoqa, qavg, easyvqa, tdiuc or gqa", show_default=False
        ),
    ],
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the publisher's files as downloaded; fetched if not given.", show_default=False
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Dataset folder to make, or to add the source to.")] = Path("vqa_mc"),
    variants: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated, such as iou,qou,iou_qou; or open-ended configs: balanced, all (gqa), open, tail "
            "(tdiuc), pairs (vqa2). By default all it can have.",
            show_default=False,
        ),
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(
            help="For QoU decoys: a word2vec, GloVe or .kv file, a gensim-data name (the paper's: "
            "word2vec-google-news-300), or corpus.",
            show_default=False,
        ),
    ] = None,
    decoys: Annotated[str, typer.Option(help="generated, or released by the paper's authors.")] = "generated",
    orig: Annotated[
        str,
        typer.Option(help="Decoys of the variants with orig: published, or made as VQA's 18 were (gqa has no all)."),
    ] = "published",
    plausible: Annotated[
        Path | None,
        typer.Option(
            help="With --orig made: json, question id to answers that people gave without the image; else they come "
            "from similar questions.",
            show_default=False,
        ),
    ] = None,
    decoys_per_set: Annotated[int, typer.Option(help="IoU and QoU decoys.", rich_help_panel=METHOD)] = 3,
    n_similar: Annotated[
        int, typer.Option(help="Most similar questions that may give QoU decoys.", rich_help_panel=METHOD)
    ] = 10_000,
    n_random: Annotated[int, typer.Option(help="Decoys of the random variants.", rich_help_panel=METHOD)] = 6,
    wup_threshold: Annotated[
        float, typer.Option(help="Texts as similar as this mean the same.", rich_help_panel=METHOD)
    ] = 0.9,
    wup_boundary: Annotated[
        str, typer.Option(help="A text of exactly that similarity: reject or accept.", rich_help_panel=METHOD)
    ] = "reject",
    pool: Annotated[
        str, typer.Option(help="Similar questions from the whole dataset or the same split.", rich_help_panel=METHOD)
    ] = "dataset",
    combine: Annotated[
        str, typer.Option(help="Repeated texts across sets: distinct, or paper (kept).", rich_help_panel=METHOD)
    ] = "distinct",
    ties: Annotated[
        str,
        typer.Option(help="Equally similar questions: by position, or random starts.", rich_help_panel=METHOD),
    ] = "position",
    fallback_orig: Annotated[
        bool, typer.Option(help="Fall-backs from the publisher's own decoys, if it has any.", rich_help_panel=METHOD)
    ] = True,
    filter_fallback: Annotated[
        bool, typer.Option(help="Also hold fall-back decoys to the WUP threshold.", rich_help_panel=METHOD)
    ] = True,
    seed: Annotated[int, typer.Option(help="Of every random choice.", rich_help_panel=METHOD)] = 0,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the image files; adds SOURCE_images.", rich_help_panel=IMAGES, show_default=False
        ),
    ] = None,
    embed_images: Annotated[
        bool, typer.Option("--embed-images", help="Write the image into every row instead.", rich_help_panel=IMAGES)
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Threads, at most one a core.", rich_help_panel=RUNNING, show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell what was built as JSON.", rich_help_panel=RUNNING)
    ] = False,
) -> None:
    """Build a source's multiple-choice variants and open-ended configs into a folder that load_dataset reads.

    Example: vqa-mc build cocoqa --data-dir cocoqa --word-vectors glove.6B.100d.txt

    Open-ended configs, the publisher's records whole, need no word vectors: vqa-mc build gqa --data-dir gqa --variants
    balanced.

    A second source built into the same folder is added to it; a source built again replaces its own configs.
    The folder appears, or changes, only when the build is whole.
    """
    from hf_vqa_mc.dataset.build import build_dataset
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.io.progress import steps_on_stderr

    settings = Settings(  # which checks the values
        decoys_per_set=decoys_per_set,
        n_similar=n_similar,
        n_random=n_random,
        wup_threshold=wup_threshold,
        wup_boundary=cast("WupBoundary", wup_boundary),
        pool=cast("Pool", pool),
        combine=cast("Combine", combine),
        ties=cast("Ties", ties),
        fallback_orig=fallback_orig,
        filter_fallback=filter_fallback,
        seed=seed,
    )
    with steps_on_stderr() as progress:
        built = build_dataset(
            source,
            data_dir=data_dir,
            output=output,
            variants=None if variants is None else [name.strip() for name in variants.split(",") if name.strip()],
            word_vectors=word_vectors,
            decoys=decoys,
            orig=orig,
            plausible=plausible,
            settings=settings,
            images=images,
            embed_images=embed_images,
            workers=workers,
            progress=progress,
        )
    if as_json:
        sys.stdout.write(json.dumps(summary(built), indent=1) + "\n")
    else:
        show(built)


def summary(built: "Build") -> dict[str, Any]:
    """What was built, for programs."""
    return {
        "output": str(built.output),
        "source": built.source,
        "default": built.default,
        "removed": list(built.removed),
        "configs": {
            name: {key: value for key, value in config.items() if key not in ("example", "files")}
            for name, config in built.configs.items()
        },
    }


def show(built: "Build") -> None:
    """What was built, for people: a table, and what to type next."""
    from rich.console import Console
    from rich.table import Table

    from hf_vqa_mc.dataset.card_text import choices_text, measured_split, percent
    from hf_vqa_mc.schema import SPLITS

    splits = [split for split in SPLITS if any(split in config["splits"] for config in built.configs.values())]
    table = Table()
    table.add_column("config", no_wrap=True, min_width=max(map(len, built.configs)))
    for heading in (*splits, "choices", "prior rule", "chance"):
        table.add_column(heading, justify="right")
    for name, config in built.configs.items():
        if "statistics" not in config:
            table.add_row(name, f"{sum(split['rows'] for split in config['splits'].values()):,} images")
            continue
        rows = [f"{config['splits'][split]['rows']:,}" if split in config["splits"] else "" for split in splits]
        if "open_ended" in config:
            table.add_row(name, *rows)
            continue
        split = measured_split(config["statistics"])
        prior = config["statistics"]["prior_rule"][split] if split else None
        figures = [percent(prior["accuracy"]), percent(prior["chance"])] if prior else []
        table.add_row(name, *rows, choices_text(config["statistics"]), *figures)
    console = Console()
    console.print(table)
    for remark in remarks(built):
        console.print(remark, markup=False, highlight=False, soft_wrap=True)
    if built.removed:
        console.print(f"No longer there, as this build did not make them: {', '.join(built.removed)}")
    asked = [name for name, config in built.configs.items() if "statistics" in config]
    shown = next((name for name in asked if name.endswith("_iou_qou")), None) or (
        built.default if built.default in asked else asked[0]
    )
    console.print(next_steps(built.output, shown), markup=False, highlight=False, soft_wrap=True)


def remarks(built: "Build") -> list[str]:
    """What one should know of the configs before using them: sets that are mostly fall-backs, missing decoys."""
    from hf_vqa_mc.dataset.card_text import percent
    from hf_vqa_mc.schema import SPLITS

    found = []
    for name, config in built.configs.items():
        found += [
            f"{name}: with {figures['rows']:,} rows in the split {split}."
            for split, figures in config["splits"].items()
            if "open_ended" in config and split not in SPLITS
        ]
        for file, reason in config.get("statistics", {}).get("not_read", {}).items():
            found.append(f"{name}: {file} was not read: {reason}.")
        for reason, rows in config.get("statistics", {}).get("left_out", {}).items():
            found += [f"{name}: {rows:,} left out: {reason}."] if rows else []
        for kind, figures in config.get("statistics", {}).get("fallbacks", {}).items():
            if figures["fallback"] > figures["choices"] / 2:
                share = percent(figures["fallback"] / figures["choices"])
                found.append(f"{name}: {share} of its {kind} decoys are fall-backs; it mostly measures these.")
            if figures["missing"]:
                share = percent(figures["missing"] / figures["choices"])
                found.append(f"{name}: {share} of its {kind} decoys are missing; these rows have fewer choices.")
    return found


def next_steps(output: Path, config: str) -> str:
    """Where the folder is, from where it is found, and what to type."""
    return "\n".join(
        [
            f"Everything lies in {output}; its README.md tells how it was made and what the numbers say.",
            "",
            f"  cd {shlex.quote(str(output.parent))}",
            f"""  python -c 'from datasets import load_dataset; print(load_dataset("{output.name}", "{config}"))'""",
            "",
            f'load_dataset("{output.name}", ...) finds it only from {output.parent}. From elsewhere it asks the '
            f'Hugging Face Hub for a dataset called "{output.name}" (or, without a network, takes what an earlier '
            f'call left in its cache): there, type load_dataset("{output}", "{config}").',
        ]
    )
