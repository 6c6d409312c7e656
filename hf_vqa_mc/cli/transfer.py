"""``vqa-mc transfer``: what a model learnt on one dataset is worth on others (Table 6 of Chao et al. 2018)."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from hf_vqa_mc.training import TrainingSettings
    from hf_vqa_mc.training.transfer import Row, Transferred

WHAT, RECIPES = "What is trained on what", "Recipes"


def transfer(
    dataset: Annotated[
        str,
        typer.Argument(
            help="A folder of vqa-mc build, or a dataset on the Hub, with all configs.", show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder of the transfer, made or gone on with.", show_default=False)],
    features: Annotated[
        Path | None,
        typer.Option(
            help="The folder in which vqa-mc features made one for each config, such as "
            "vqa_mc_features/microsoft--resnet-152-..., for models that see images.",
            show_default=False,
        ),
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(
            help="The word2vec, GloVe or .kv file that the decoys were made with, a gensim-data name, or corpus.",
            show_default=False,
        ),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave questions out whose images vqa-mc features skipped.")
    ] = False,
    init_from: Annotated[
        str | None,
        typer.Option(
            help="Take this checkpoint (a folder, or a name on the Hub) instead of pretraining one.",
            rich_help_panel=WHAT,
            show_default=False,
        ),
    ] = None,
    pretrain: Annotated[
        str | None,
        typer.Option(
            help="Config to pretrain on; qavg_iou_qou by default, as in the paper.",
            rich_help_panel=WHAT,
            show_default=False,
        ),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            help="Configs to test on and fine-tune on, with commas between; by default the paper's six: orig, iou_qou "
            "and all of visual7w and vqa.",
            rich_help_panel=WHAT,
            show_default=False,
        ),
    ] = None,
    from_scratch: Annotated[
        bool,
        typer.Option("--from-scratch", help="Also train the same model on each target alone.", rich_help_panel=WHAT),
    ] = False,
    image_data: Annotated[
        Path | None,
        typer.Option(
            help="Visual Genome's image_data.json (or its zip file), which tells which of its images are COCO's, to "
            "count those that were trained on and are tested on.",
            rich_help_panel=WHAT,
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(
            help="Of the pretraining, and from scratch; 40 by default.", rich_help_panel=RECIPES, show_default=False
        ),
    ] = None,
    fine_tuning_epochs: Annotated[
        float | None,
        typer.Option(help="On each target; 40 by default.", rich_help_panel=RECIPES, show_default=False),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="Yaml file with other settings of vqa-mc train, such as model or learning_rate, for the pretraining "
            "and from scratch.",
            rich_help_panel=RECIPES,
            show_default=False,
        ),
    ] = None,
    fine_tuning_recipe: Annotated[
        Path | None,
        typer.Option(
            help="The same for fine-tuning, whose rate is 0.001 by default.",
            rich_help_panel=RECIPES,
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Tell what came out as JSON.")] = False,
) -> None:
    """Pretrain a model, test it on other datasets as it is, fine-tune it on each, and test again: Table 6.

    Example: vqa-mc transfer vqa_mc --features vqa_mc_features/microsoft--resnet-152-... --word-vectors
    word2vec-google-news-300 --image-data image_data.json.zip --output table6

    Example: vqa-mc transfer vqa_mc --features vqa_mc_features/pixels-1 --word-vectors corpus --pretrain easyvqa_iou
    --targets easyvqa_qou --epochs 2 --fine-tuning-epochs 1 --output try

    Stopped at any moment, the same command goes on. Nothing is begun before all configs, features and word vectors
    are there.
    """
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.training.transfer import PRETRAINED_ON, TARGETS
    from hf_vqa_mc.training.transfer import transfer as run
    from hf_vqa_mc.training.transfer_inputs import pretrained_on

    of_training = {"--epochs": epochs, "--recipe": recipe}
    for option, value in of_training.items():
        if init_from and not from_scratch and value is not None:
            raise InputError(
                f"{option} {value}: --init-from leaves no pretraining to do; add --from-scratch, or drop it"
            )
    config = pretrain or (init_from and pretrained_on(init_from)) or PRETRAINED_ON
    places = {"dataset": dataset, "config": config, "output": output}
    given = {
        "features": features,
        "word_vectors": word_vectors,
        "init_from": init_from,
        "skip_missing": skip_missing or None,
    }
    pretraining = _settings("--recipe", recipe, {**places, **given, "epochs": epochs})
    fine_tuning = _settings("--fine-tuning-recipe", fine_tuning_recipe, {**places, "epochs": fine_tuning_epochs})
    wanted = TARGETS if targets is None else [name.strip() for name in targets.split(",") if name.strip()]
    with steps_on_stderr() as progress:
        done = run(
            pretraining,
            fine_tuning,
            targets=wanted,
            from_scratch=from_scratch,
            image_data=image_data,
            progress=progress,
            tell=_tell,
            begin=_say,
        )
    if as_json:
        sys.stdout.write(json.dumps(done.as_json(), indent=1) + "\n")
    else:
        show(done, output)


def _settings(option: str, file: Path | None, given: Mapping[str, Any]) -> "TrainingSettings":
    """The settings of a file and those given, which win."""
    from hf_vqa_mc.training.settings import read_settings

    try:
        return read_settings(file, given)
    except InputError as error:
        told = str(error).removeprefix(f"--config {file}: ")
        if file is not None:
            raise InputError(f"{option} {file}: {told}") from error
        raise InputError(f"--fine-tuning-{told.removeprefix('--')}" if "fine" in option else told) from error


def show(done: "Transferred", output: Path) -> None:
    """What came out, for people: the rows of Table 6, the images that were seen, and where everything lies."""
    from rich.console import Console

    console = Console()
    of_itself = f", {_shown(done.pretrained)} on its own test questions" if done.pretrained else ""
    lines = [f"{done.model} trained on {done.pretrained_on}{of_itself}: {done.checkpoint}"]
    if any(row.paper for row in done.rows):
        lines.append("paper: Chao et al. 2018, Table 6; its best model of any kind trained on the target alone")
    lines += [
        f"{row.left_out:,} questions of {row.config}, {row.split}, left out: no features of their images"
        for row in done.rows
        if row.left_out
    ]
    told = [row for row in done.rows if row.overlap_unknown]
    for why in dict.fromkeys(row.overlap_unknown for row in told):
        names = ", ".join(row.config for row in told if row.overlap_unknown == why)
        lines.append(f"images of {names} that were trained on: unknown; {why}")
    if done.unlisted:
        lines.append(
            f"{done.unlisted:,} images of {done.pretrained_on} are not in the image data; they count as others"
        )
    console.print(_results(done.rows))
    if any(row.overlap for row in done.rows):
        console.print(_overlaps(done))
    for line in [*lines, f"all figures: {output / 'transfer.json'}"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _results(rows: "list[Row]") -> "Table":
    from rich.table import Table

    table = Table(title="Accuracy in %, ± standard error")
    for heading in ("", "chance", "target alone", "as it is", "fine-tuned"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        alone = _shown(row.from_scratch) if row.from_scratch else "-"
        chance = f"{100 * row.as_is['chance']:.1f}"
        figures = [alone, _shown(row.as_is), _shown(row.fine_tuned)]
        table.add_row(row.config, chance, *figures, end_section=row.paper is None)
        if row.paper is not None:
            table.add_row("  paper", "", *(f"{figure:.1f}" for figure in row.paper), style="dim", end_section=True)
    return table


def _overlaps(done: "Transferred") -> "Table":
    from rich.table import Table

    table = Table(title=f"Tested on images that {done.pretrained_on} was trained on")
    for heading in ("", "split", "images", "questions"):
        table.add_column(heading, justify="right" if heading in ("images", "questions") else "left")
    for row in done.rows:
        if row.overlap:
            seen = row.overlap
            images = f"{seen.shared_images:,} of {seen.images:,}"
            table.add_row(row.config, row.split, images, f"{seen.shared_questions:,} of {seen.questions:,}")
    return table


def _shown(result: Mapping[str, Any]) -> str:
    """An accuracy with its standard error, if one is known."""
    stderr = result.get("stderr")
    return f"{100 * result['accuracy']:.1f}" + (f" ± {100 * stderr:.1f}" if stderr is not None else "")


def _tell(point: Mapping[str, Any]) -> None:
    """A validation, on stderr."""
    best = ", the best so far" if point["best"] else ""
    _say(
        f"  epoch {point['epoch']:g}, step {point['step']:,} of {point['steps']:,}: loss {point['loss']:.4f}, "
        f"validation {point['accuracy']:.1%}{best}"
    )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
