"""``hf_vqa_mc.transfer`` and ``vqa-mc transfer``: one pretrained model on other datasets (Chao et al., Table 6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import without_folders
from hf_vqa_mc.options import FOLDER, VECTORS, option, read_settings_file, settings, verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.text.tables import TextTable
from hf_vqa_mc.training.settings import TrainingSettings

STEPS = ("from_scratch", "as_is", "fine_tuned")  # in the order of Table 6's columns


@settings
class TransferSettings:
    """Pretrain a model, test it on other datasets, fine-tune it on each, and test again (Chao et al. 2018, Table 6).

    The same call resumes an interrupted transfer. All configs, features and word vectors are checked first.
    """

    dataset: str = option("Folder written by vqa-mc build, or dataset on the Hub, with all configs.", kw_only=False)
    output: Path = option("Folder of the transfer, created or resumed.")
    features: Path | None = option(
        "Folder with image features of all configs, such as vqa_mc_features/microsoft--resnet-152-..., for models "
        "with images.",
        default=None,
        check=FOLDER,
    )
    word_vectors: str | None = option(
        "Word vectors that the decoys were made with: word2vec, GloVe or .kv file, gensim-data name, or corpus.",
        default=None,
        check=VECTORS,
    )
    skip_missing: bool = option("Leave out questions whose images vqa-mc features skipped.", default=False)
    init_from: str | None = option("Checkpoint (folder or Hub name) to use instead of pretraining.", default=None)
    pretrain: str | None = option("Config to pretrain on; by default qavg_iou_qou, as in the paper.", default=None)
    targets: tuple[str, ...] | None = option(
        "Comma-separated configs to test and fine-tune on; by default the paper's six: orig, iou_qou and all of "
        "visual7w and vqa.",
        default=None,
        separator=",",
    )
    from_scratch: bool = option("Also train the same model from scratch on each target.", default=False)
    recipe: Path | Mapping[str, Any] | None = option(
        "YAML file (in Python also a dictionary) of other settings of vqa-mc train, such as model, epochs or "
        "learning_rate, for pretraining and training from scratch.",
        default=None,
    )
    fine_tuning_recipe: Path | Mapping[str, Any] | None = option(
        "As --recipe, for fine-tuning; the default learning rate is 0.001.", default=None
    )


@dataclass(frozen=True, eq=False, repr=False)
class TransferResult(Result):
    """The rows of Table 6."""

    settings: TransferSettings
    record: dict[str, Any]
    """The content of transfer.json.

    ``pretrained`` (None for a given checkpoint) and in ``rows`` ``as_is``, ``fine_tuned`` and ``from_scratch`` are
    results as in training.json; ``skipped`` counts questions without image features; ``overlap`` is that of
    `training.transfer.overlap`, None for ``overlap_unknown``.
    """

    def report(self) -> Report:
        """The rows next to the paper's, the images both trained and tested on, and the files."""
        done, rows = self.record, self.record["rows"]
        yield "Accuracy in % with 95% intervals"
        yield self._accuracies()
        if any(row["overlap"] for row in rows):
            yield f"Test images that are also training images of {done['pretrained_on']}"
            yield self._overlaps()
        own = f", {_shown(done['pretrained'])} on its own test questions" if done["pretrained"] else ""
        yield f"{done['model']} trained on {done['pretrained_on']}{own}: {done['checkpoint']}"
        if any(row["paper"] for row in rows):
            yield "paper: Chao et al. 2018, Table 6; from scratch: the best of its models"
        if measured := [row["config"] for row in rows if _of_target(row["as_is"])]:
            yield f"{', '.join(measured)}: consensus accuracy; target: accuracy of picking the target"
        for row in rows:
            if row["skipped"]:
                yield f"{row['config']}, {row['split']}: {row['skipped']:,} questions skipped without image features"
        for reason in dict.fromkeys(row["overlap_unknown"] for row in rows if row["overlap_unknown"]):
            names = ", ".join(row["config"] for row in rows if row["overlap_unknown"] == reason)
            yield f"images of {names} that were trained on: unknown; {reason}"
        yield f"all results: {self.settings.output / 'transfer.json'}"

    def _accuracies(self) -> TextTable:
        lines: list[tuple[str, ...]] = []
        for row in self.record["rows"]:
            steps, paper = [row[step] for step in STEPS], row["paper"]
            lines.append((row["config"], _chance(row["as_is"]), *map(_shown, steps)))
            if of_target := _of_target(row["as_is"]):
                lines.append(("  target", _chance(of_target), *(_shown(_of_target(step)) for step in steps)))
            if paper is not None:
                lines.append(("  paper", "", *(f"{one:.1f}" for one in paper.values())))
        return TextTable.of(("config", "chance", "from scratch", "no fine-tuning", "fine-tuned"), lines)

    def _overlaps(self) -> TextTable:
        rows = [row for row in self.record["rows"] if row["overlap"]]
        columns = {name: [row[name] for row in rows] for name in ("config", "split")}
        for what in ("images", "questions"):
            columns[what] = [f"{row['overlap'][f'shared_{what}']:,} of {row['overlap'][what]:,}" for row in rows]
        return TextTable(columns, ("config", "split"))

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in transfer.json: without folders of the user."""
        public: dict[str, Any] = without_folders(self.record, self.record["checkpoint"], self.settings.dataset)
        return public

    def to_pandas(self) -> Frame:
        """Table 6: one row per target; accuracies in [0, 1], the paper's in percent, None if unknown.

        Where the metric is consensus accuracy, the columns ``..._target`` are the accuracies of picking the target.
        """
        rows = [
            {
                "config": row["config"],
                "split": row["split"],
                "metric": row["as_is"].get("metric", "accuracy"),
                "chance": row["as_is"].get("chance"),
                **{step: row[step] and row[step]["accuracy"] for step in STEPS},
                **{f"{step}_target": (_of_target(row[step]) or {}).get("accuracy") for step in STEPS},
                **{f"paper_{name}": (row["paper"] or {}).get(name) for name in ("alone", "as_is", "fine_tuned")},
            }
            for row in self.record["rows"]
        ]
        return frame_of(rows)


def _of_target(result: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The accuracy of picking the target next to consensus accuracy; None if there is none."""
    return (result or {}).get("target_accuracy")


def _chance(result: Mapping[str, Any]) -> str:
    return f"{100 * result['chance']:.1f}" if "chance" in result else "-"


def _shown(result: Mapping[str, Any] | None) -> str:
    """An accuracy with its 95% interval, if known."""
    from hf_vqa_mc.scoring.table import with_interval

    return "-" if result is None else with_interval(result["accuracy"], result.get("interval"))


@verb(
    TransferSettings,
    "vqa-mc transfer vqa_mc --features vqa_mc_features/microsoft--resnet-152-... --word-vectors "
    "word2vec-google-news-300 --output table6",
    "vqa-mc transfer vqa_mc --features vqa_mc_features/pixels-1 --word-vectors corpus --pretrain easyvqa_iou "
    "--targets easyvqa_qou --recipe recipe.yaml --output try",
)
def transfer(settings: TransferSettings, progress: Progress) -> TransferResult:
    """Run a transfer.

    Returns:
        The rows of Table 6 for the targets; also written to ``output``/transfer.json.

    Raises:
        InputError: an input cannot be used, or does not match the content of ``output``.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only; finished steps are kept.
    """
    from hf_vqa_mc.data.loading import check_dataset
    from hf_vqa_mc.model_listing import checkpoint_folder

    check_dataset(settings.dataset)
    for name, file in (("--recipe", settings.recipe), ("--fine-tuning-recipe", settings.fine_tuning_recipe)):
        if isinstance(file, Path):
            read_settings_file(file, TrainingSettings, name)
    if settings.init_from and not settings.from_scratch and settings.recipe is not None:
        raise InputError(
            f"--recipe {settings.recipe} has no effect with --init-from; add --from-scratch, or remove --recipe"
        )
    if settings.init_from:
        checkpoint_folder(settings.init_from)
    from hf_vqa_mc.training.run_folder import config_of
    from hf_vqa_mc.training.transfer import PRETRAINED_ON, TABLE_6
    from hf_vqa_mc.training.transfer import transfer as transfer_model

    config = settings.pretrain or (settings.init_from and config_of(settings.init_from)) or PRETRAINED_ON
    paths = {"dataset": settings.dataset, "config": config, "output": settings.output}
    shared = ("features", "word_vectors", "init_from", "skip_missing")
    given = {**paths, **{name: value for name in shared if (value := getattr(settings, name)) not in (None, False)}}
    recipe = _recipe("--recipe", settings.recipe, given)
    fine_tuning = _recipe("--fine-tuning-recipe", settings.fine_tuning_recipe, paths)
    done = transfer_model(
        recipe,
        fine_tuning,
        targets=tuple(TABLE_6) if settings.targets is None else settings.targets,
        from_scratch=settings.from_scratch,
        progress=progress,
    )
    return TransferResult(settings, done)


def _recipe(name: str, recipe: Path | Mapping[str, Any] | None, given: Mapping[str, Any]) -> TrainingSettings:
    """The settings of a recipe, overridden by the given ones."""
    own = read_settings_file(recipe, TrainingSettings, name) if isinstance(recipe, Path) else dict(recipe or {})
    try:
        return TrainingSettings(**{**own, **given})
    except InputError as error:
        raise InputError(f"{name} {recipe}: {error}") from error
