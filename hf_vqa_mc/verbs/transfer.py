"""``hf_vqa_mc.transfer`` and ``vqa-mc transfer``: one pretrained model on other datasets (Chao et al., Table 6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import check_options, option, read_settings_file, settings, verb
from hf_vqa_mc.result import Result
from hf_vqa_mc.training.settings import EPOCHS, TrainingSettings

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

    from hf_vqa_mc.training.transfer import Transferred

DATA, RECIPES = "What is trained on what", "Recipes"


@settings
class TransferSettings:
    """Pretrain a model, test it on other datasets as it is, fine-tune it on each, and test again: Table 6.

    Interrupted at any moment, the same call resumes. Nothing starts before all configs, features and word vectors are
    checked.

    Raises:
        InputError: an option is out of range; names it.
    """

    dataset: str = option("Folder written by vqa-mc build, or dataset on the Hub, with all configs.", kw_only=False)
    output: Path = option("Folder of the transfer, created or resumed.")
    features: Path | None = option(
        "Folder in which vqa-mc features made one per config, such as vqa_mc_features/microsoft--resnet-152-..., for "
        "models with images.",
        default=None,
    )
    word_vectors: str | None = option(
        "word2vec, GloVe or .kv file that the decoys were made with, gensim-data name, or corpus.", default=None
    )
    skip_missing: bool = option("Leave out questions whose images vqa-mc features skipped.", default=False)
    init_from: str | None = option(
        "Use this checkpoint (a folder, or a name on the Hub) instead of pretraining one.", default=None, panel=DATA
    )
    pretrain: str | None = option(
        "Config to pretrain on; by default qavg_iou_qou, as in the paper.", default=None, panel=DATA
    )
    targets: tuple[str, ...] | None = option(
        "Configs to test and fine-tune on, separated by commas; by default the paper's six: orig, iou_qou and all of "
        "visual7w and vqa.",
        default=None,
        separator=",",
        panel=DATA,
    )
    from_scratch: bool = option("Also train the same model on each target alone.", default=False, panel=DATA)
    image_data: Path | None = option(
        "Visual Genome's image_data.json (or its zip file), which says which of its images are COCO's, to count those "
        "that are both trained and tested on.",
        default=None,
        panel=DATA,
    )
    epochs: float | None = option(
        "Epochs of the pretraining, and from scratch; 40 by default.", default=None, check=EPOCHS, panel=RECIPES
    )
    fine_tuning_epochs: float | None = option(
        "Epochs on each target; 40 by default.", default=None, check=EPOCHS, panel=RECIPES
    )
    recipe: Path | Mapping[str, Any] | None = option(
        "YAML file (in Python also a dictionary) of other settings of train, such as model or learning_rate, for the "
        "pretraining and from scratch.",
        default=None,
        panel=RECIPES,
    )
    fine_tuning_recipe: Path | Mapping[str, Any] | None = option(
        "The same for fine-tuning, whose learning rate is 0.001 by default.", default=None, panel=RECIPES
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, eq=False, repr=False)
class TransferResult(Result):
    """The rows of Table 6."""

    settings: TransferSettings
    transferred: "Transferred"

    def report(self) -> "Iterator[RenderableType]":
        """The rows next to the paper's, images both trained and tested on, and where the results are."""
        done = self.transferred
        yield self._accuracies()
        if any(row.overlap for row in done.rows):
            yield self._overlaps()
        own = f", {_shown(done.pretrained)} on its own test questions" if done.pretrained else ""
        yield f"{done.model} trained on {done.pretrained_on}{own}: {done.checkpoint}"
        if any(row.paper for row in done.rows):
            yield "paper: Chao et al. 2018, Table 6; its best model of any kind trained on the target alone"
        for row in done.rows:
            if row.left_out:
                yield f"{row.left_out:,} questions of {row.config}, {row.split}, left out: no features of their images"
        for why in dict.fromkeys(row.overlap_unknown for row in done.rows if row.overlap_unknown):
            names = ", ".join(row.config for row in done.rows if row.overlap_unknown == why)
            yield f"images of {names} that were trained on: unknown; {why}"
        if done.unlisted:
            yield f"{done.unlisted:,} images of {done.pretrained_on} are not in the image data; they count as others"
        yield f"all figures: {self.settings.output / 'transfer.json'}"

    def _accuracies(self) -> "Table":
        from rich.table import Table

        table = Table(title="Accuracy in %, ± standard error")
        for heading in ("", "chance", "target alone", "as it is", "fine-tuned"):
            table.add_column(heading, justify="right" if heading else "left")
        for row in self.transferred.rows:
            shown = [_shown(row.from_scratch), _shown(row.as_is), _shown(row.fine_tuned)]
            table.add_row(row.config, f"{100 * row.as_is['chance']:.1f}", *shown, end_section=row.paper is None)
            if row.paper is not None:
                table.add_row("  paper", "", *(f"{one:.1f}" for one in row.paper), style="dim", end_section=True)
        return table

    def _overlaps(self) -> "Table":
        from rich.table import Table

        table = Table(title=f"Tested on images that {self.transferred.pretrained_on} was trained on")
        for heading in ("", "split", "images", "questions"):
            table.add_column(heading, justify="right" if heading in ("images", "questions") else "left")
        for row in self.transferred.rows:
            if seen := row.overlap:
                images = f"{seen.shared_images:,} of {seen.images:,}"
                table.add_row(row.config, row.split, images, f"{seen.shared_questions:,} of {seen.questions:,}")
        return table

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in transfer.json."""
        return self.transferred.as_json()

    def to_pandas(self) -> "pd.DataFrame":
        """Table 6: one row per target; accuracies in [0, 1], the paper's in percent, None where there is none."""
        import pandas as pd

        rows = [
            {
                "config": row.config,
                "split": row.split,
                "chance": row.as_is["chance"],
                "from_scratch": row.from_scratch and row.from_scratch["accuracy"],
                "as_is": row.as_is["accuracy"],
                "fine_tuned": row.fine_tuned["accuracy"],
                **{
                    f"paper_{name}": row.paper and getattr(row.paper, name)
                    for name in ("alone", "as_is", "fine_tuned")
                },
            }
            for row in self.transferred.rows
        ]
        return pd.DataFrame(rows)

    def save(self, path: str | Path) -> list[Path]:
        """Write all figures as JSON."""
        from hf_vqa_mc.io.atomic_file import write_json

        write_json(Path(path), self.to_dict(), indent=1)
        return [Path(path)]


def _shown(result: Mapping[str, Any] | None) -> str:
    """An accuracy with its standard error, if one is known."""
    if result is None:
        return "-"
    stderr = result.get("stderr")
    return f"{100 * result['accuracy']:.1f}" + (f" ± {100 * stderr:.1f}" if stderr is not None else "")


@verb(
    TransferSettings,
    "vqa-mc transfer vqa_mc --features vqa_mc_features/microsoft--resnet-152-... --word-vectors "
    "word2vec-google-news-300 --image-data image_data.json.zip --output table6",
    "vqa-mc transfer vqa_mc --features vqa_mc_features/pixels-1 --word-vectors corpus --pretrain easyvqa_iou "
    "--targets easyvqa_qou --epochs 2 --fine-tuning-epochs 1 --output try",
)
def transfer(settings: TransferSettings, progress: Progress) -> TransferResult:
    """Run a transfer.

    Returns:
        The rows of Table 6 for the targets; all figures are in ``output``/transfer.json, too.

    Raises:
        InputError: something given cannot be used, or does not fit what ``output`` holds.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only; finished steps are kept.
    """
    from hf_vqa_mc.training.run_folder import config_of
    from hf_vqa_mc.training.transfer import PRETRAINED_ON, TARGETS
    from hf_vqa_mc.training.transfer import transfer as transfer_model

    for name, value in (("--epochs", settings.epochs), ("--recipe", settings.recipe)):
        if settings.init_from and not settings.from_scratch and value is not None:
            raise InputError(
                f"{name} {value}: --init-from leaves no pretraining to do; add --from-scratch, or drop it"
            )
    config = settings.pretrain or (settings.init_from and config_of(settings.init_from)) or PRETRAINED_ON
    paths = {"dataset": settings.dataset, "config": config, "output": settings.output}
    shared = ("features", "word_vectors", "init_from", "skip_missing", "epochs")
    given = {**paths, **{name: value for name in shared if (value := getattr(settings, name)) not in (None, False)}}
    tuned = paths if settings.fine_tuning_epochs is None else {**paths, "epochs": settings.fine_tuning_epochs}
    done = transfer_model(
        _recipe("--recipe", settings.recipe, given),
        _recipe("--fine-tuning-recipe", settings.fine_tuning_recipe, tuned),
        targets=TARGETS if settings.targets is None else settings.targets,
        from_scratch=settings.from_scratch,
        image_data=settings.image_data,
        progress=progress,
    )
    return TransferResult(settings, done)


def _recipe(name: str, recipe: Path | Mapping[str, Any] | None, given: Mapping[str, Any]) -> TrainingSettings:
    """The settings of a recipe and those given, which win."""
    told = read_settings_file(recipe, TrainingSettings, name) if isinstance(recipe, Path) else dict(recipe or {})
    try:
        return TrainingSettings(**{**told, **given})
    except InputError as error:
        raise InputError(f"{name} {recipe}: {error}") from error
