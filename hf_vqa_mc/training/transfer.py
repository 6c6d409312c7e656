"""Transfer: one model pretrained on a large dataset, tested on others as it is and fine-tuned on each (Table 6)."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.training.image_overlap import ImageData, Overlap, overlap, read_image_data, unlisted, why_unknown
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.prediction import predict
from hf_vqa_mc.training.processes import accelerator
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.transfer_folder import (
    AS_IS,
    FINE_TUNED,
    FROM_SCRATCH,
    PRETRAINED,
    Result,
    TransferFolder,
    check_transfer_folder,
)
from hf_vqa_mc.training.transfer_inputs import Inputs, check_inputs
from hf_vqa_mc.version import __version__

PRETRAINED_ON = "qavg_iou_qou"
TARGETS = ("visual7w_orig", "visual7w_iou_qou", "visual7w_all", "vqa_orig", "vqa_iou_qou", "vqa_all")
"""Chao et al. 2018, section 5.3."""


class Paper(NamedTuple):
    """Accuracies in percent that the paper reports of a target."""

    alone: float
    """the best of its models trained on the target alone"""
    as_is: float
    """MLP-IQA trained on qaVG, IoU and QoU decoys together"""
    fine_tuned: float


TABLE_6 = {
    "visual7w_orig": Paper(65.7, 60.5, 69.1),
    "visual7w_iou_qou": Paper(52.0, 58.1, 58.7),
    "visual7w_all": Paper(45.1, 48.9, 51.0),
    "vqa_orig": Paper(64.6, 42.2, 65.6),
    "vqa_iou_qou": Paper(63.7, 47.9, 64.1),
    "vqa_all": Paper(58.9, 37.5, 59.4),
}
"""Chao et al. 2018, Table 6; of models pretrained on `PRETRAINED_ON`."""

_ELSEWHERE = {"dataset", "config", "output", "features", "word_vectors", "init_from", "track", "skip_missing"}
"""Settings that are no recipe, or are looked at by what they name."""
_OF_PRETRAINED = {"model", "model_settings", "centre", "mixed_precision"}
"""Settings that a fine-tuning has no own ones of."""

Progress = Callable[[str, int, int], None]
Tell = Callable[[dict[str, Any]], None]
Begin = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """What came out of one target."""

    config: str
    split: str
    """that is reported"""
    left_out: int
    """questions of it whose images have no features"""
    paper: Paper | None
    as_is: Result
    fine_tuned: Result
    from_scratch: Result | None
    """of the same model trained on the target alone, where that was asked for"""
    overlap: Overlap | None
    """images of the split that the pretraining has shown"""
    overlap_unknown: str
    """what it takes to know that; empty where it is known"""


@dataclass(frozen=True)
class Transferred:
    """What came out."""

    checkpoint: str
    """of the pretrained model"""
    pretrained_on: str
    pretrained: Result | None
    """of the pretrained model on its own dataset's reported split; None for a checkpoint from elsewhere"""
    model: str
    rows: list[Row]
    unlisted: int
    """images that it was pretrained on of which the image data says nothing"""

    def as_json(self) -> dict[str, Any]:
        """As transfer.json has it."""
        rows = [asdict(row) | {"paper": row.paper and row.paper._asdict()} for row in self.rows]
        return {"written_by": "hf_vqa_mc", "version": __version__, **asdict(self), "rows": rows}


def transfer(
    recipe: TrainingSettings,
    fine_tuning: TrainingSettings | None = None,
    *,
    targets: Sequence[str] = TARGETS,
    from_scratch: bool = False,
    image_data: Path | None = None,
    progress: Progress = lambda step, done, total: None,
    tell: Tell = lambda point: None,
    begin: Begin = lambda step: None,
) -> Transferred:
    """Pretrain a model, test it on each target as it is, fine-tune it on each and test again.

    Each step's result is kept: stopped at any moment, the same call goes on.

    Args:
        recipe: of the pretraining, and of training from scratch: ``dataset`` holds all configs, ``config`` is
            pretrained on, ``output`` is the folder of the whole transfer, ``features`` the one in which `vqa-mc
            features` made a folder for each config; with ``init_from`` that checkpoint takes the pretraining's place.
        fine_tuning: its recipe; by default the trainer's, at its rate for that. What it says of datasets,
            models and places is not read, and mixed precision is the recipe's.
        targets: configs to test on.
        from_scratch: also train the same model on each target alone.
        image_data: Visual Genome's ``image_data.json``, which tells its images by COCO's ids.
        progress: told (step, done, total).
        tell: told each point of a training's curve.
        begin: told what is begun.

    Raises:
        InputError: something given cannot be used, or does not fit what the folder holds.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or closed to us; what was kept before still is.
    """
    fine_tuning = fine_tuning or TrainingSettings(recipe.dataset, recipe.config, recipe.output)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            "a transfer runs in one process; pretrain with several by accelerate launch -m hf_vqa_mc train, and name "
            "the checkpoint with --init-from"
        )
    if not targets or len(set(targets)) < len(targets):
        raise InputError(f"--targets {','.join(targets)}: expected configs, each once")
    check_transfer_folder(recipe.output)
    known = None if image_data is None else read_image_data(image_data)
    inputs = check_inputs(recipe, targets, progress)
    _settle_precision(recipe)
    folder = TransferFolder(recipe.output)
    try:
        run = _Transfer(inputs, fine_tuning, folder, progress, tell, begin)
        folder.keep_plan(run.plan(from_scratch))
        return run.to_its_end(targets, from_scratch, known)
    finally:
        folder.close()


class _Transfer:
    def __init__(
        self,
        inputs: Inputs,
        fine_tuning: TrainingSettings,
        folder: TransferFolder,
        progress: Progress,
        tell: Tell,
        begin: Begin,
    ) -> None:
        self.inputs, self.recipe, self.fine_tuning = inputs, inputs.recipe, fine_tuning
        self.folder, self.progress, self.tell, self.begin = folder, progress, tell, begin
        self.checkpoint = self.recipe.init_from or str(folder.path / PRETRAINED / "best")

    def plan(self, from_scratch: bool) -> dict[str, Any]:
        """What the results depend on, by name."""
        recipe, is_used = replace(self.recipe, init_from=None), from_scratch or self.recipe.init_from is None
        return {
            **self.inputs.identity,
            **(_named(recipe, "pretraining", _ELSEWHERE) if is_used else {}),
            **_named(self._fine_tuning_of(self.recipe.config), "fine-tuning", _ELSEWHERE | _OF_PRETRAINED),
        }

    def to_its_end(self, targets: Sequence[str], from_scratch: bool, image_data: ImageData | None) -> Transferred:
        """Do what is left to do."""
        kept = self.folder.kept
        pretrained = None if self.recipe.init_from else kept(PRETRAINED, self.recipe.config, self._pretrain)
        as_is = {name: kept(AS_IS, name, self._ask) for name in targets}
        fine_tuned = {name: kept(FINE_TUNED, name, self._fine_tune) for name in targets}
        alone = {name: kept(FROM_SCRATCH, name, self._train_alone) for name in targets if from_scratch}
        trained, of_paper = self.inputs.trained, self.recipe.config == PRETRAINED_ON
        rows = [
            Row(
                name,
                self.inputs.splits[name],
                len(self.inputs.tested[name].image_ids) - as_is[name]["questions"],
                TABLE_6.get(name) if of_paper else None,
                as_is[name],
                fine_tuned[name],
                alone.get(name),
                *_shared(self.inputs, name, image_data),
            )
            for name in targets
        ]
        lost = unlisted(trained, image_data) if trained and image_data is not None else 0
        done = Transferred(self.checkpoint, self.recipe.config, pretrained, self.recipe.model, rows, lost)
        self.folder.write(done.as_json())
        return done

    def _pretrain(self, config: str) -> Result:
        self.begin(f"pretraining on {config}")
        return self._trained(self.recipe, config, self.folder.path / PRETRAINED)

    def _ask(self, config: str) -> Result:
        self.begin(f"asking the pretrained model {config} as it is")
        return self._predicted(self.checkpoint, config)

    def _fine_tune(self, config: str) -> Result:
        self.begin(f"fine-tuning on {config}")
        return self._trained(self._fine_tuning_of(config), config, self.folder.run(FINE_TUNED, config))

    def _train_alone(self, config: str) -> Result:
        self.begin(f"training on {config} alone")
        return self._trained(replace(self.recipe, init_from=None), config, self.folder.run(FROM_SCRATCH, config))

    def _fine_tuning_of(self, config: str) -> TrainingSettings:
        """The fine-tuning's recipe with what it has of the pretrained model."""
        return replace(
            self.fine_tuning,
            dataset=self.recipe.dataset,
            config=config,
            init_from=self.checkpoint,
            model=self.recipe.model,
            model_settings={},
            centre=False,
            word_vectors=self.recipe.word_vectors,
            skip_missing=self.recipe.skip_missing,
            mixed_precision=self.recipe.mixed_precision,
        )

    def _trained(self, recipe: TrainingSettings, config: str, place: Path) -> Result:
        """What the best checkpoint reaches on the split that is reported, which has chosen nothing."""
        told = replace(recipe, config=config, output=place, features=self.inputs.features[config])
        done = train(told, self.progress, self.tell)
        found: Result = done.record["results"][self.inputs.splits.get(config, done.reported_on)]
        return found

    def _predicted(self, checkpoint: str, config: str) -> Result:
        found = predict(
            checkpoint,
            self.recipe.dataset,
            config,
            features=self.inputs.features[config],
            word_vectors=self.recipe.word_vectors,
            skip_missing=self.recipe.skip_missing,
            progress=self.progress,
        )
        return found.results


def _shared(inputs: Inputs, target: str, image_data: ImageData | None) -> tuple[Overlap | None, str]:
    """The overlap of images, and what it takes to know it."""
    trained, tested = inputs.trained, inputs.tested[target]
    if trained is None:
        config = inputs.identity["pretraining config"]
        return None, f"it takes {config} in {inputs.recipe.dataset}, whose training part has the images"
    return overlap(trained, tested, image_data), why_unknown(trained, tested, image_data)


def _settle_precision(recipe: TrainingSettings) -> None:
    """Compute in the recipe's precision in this process, whichever step comes first.

    Raises:
        InputError: accelerate cannot.
    """
    if recipe.mixed_precision != "no":
        accelerator(recipe.mixed_precision)  # a process's first one decides for all


def _named(recipe: TrainingSettings, what: str, without: set[str]) -> dict[str, Any]:
    """A recipe's settings by name."""
    return {f"{name} in {what}": value for name, value in recipe.as_json().items() if name not in without}
