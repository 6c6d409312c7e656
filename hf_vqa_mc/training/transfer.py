"""Transfer: one model pretrained on a large dataset, tested on others as it is and fine-tuned on each (Table 6).

::

    OUTPUT/plan.json         what the results depend on
    OUTPUT/results/          one file per step
    OUTPUT/pretrained/       a training run, and so are fine_tuned/CONFIG/ and from_scratch/CONFIG/
    OUTPUT/transfer.json     all results
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import file_name
from hf_vqa_mc.io.atomic_file import check_folder, write_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.training.evaluation import predict
from hf_vqa_mc.training.image_overlap import ImageData, Overlap, overlap, read_image_data, unlisted, why_unknown
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.processes import accelerator_of
from hf_vqa_mc.training.run_folder import lock_folder
from hf_vqa_mc.training.settings import TrainingSettings
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

PLAN, RESULTS, SUMMARY = "plan.json", "results", "transfer.json"
PRETRAINED, AS_IS, FINE_TUNED, FROM_SCRATCH = "pretrained", "as_is", "fine_tuned", "from_scratch"
"""Steps; those that train have a folder of this name."""

_NO_RECIPE = {"dataset", "config", "output", "features", "word_vectors", "init_from", "track", "skip_missing"}
"""Settings that are no recipe, or whose contents are compared."""
_OF_PRETRAINED = {"model", "model_settings", "centre", "mixed_precision"}
"""Settings that fine-tuning takes from the pretrained model."""

Result = dict[str, Any]
"""Accuracy, stderr, chance and so on of a split, as in training.json."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Row:
    """Results of one target."""

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
    """what is needed to count them; empty where they are counted"""


@dataclass(frozen=True)
class Transferred:
    """All results."""

    checkpoint: str
    """of the pretrained model"""
    pretrained_on: str
    pretrained: Result | None
    """of the pretrained model on its own dataset's reported split; None for a checkpoint from elsewhere"""
    model: str
    rows: list[Row]
    unlisted: int
    """images that it was pretrained on which the image data does not list"""

    def as_json(self) -> dict[str, Any]:
        """As in transfer.json."""
        rows = [asdict(row) | {"paper": row.paper and row.paper._asdict()} for row in self.rows]
        return {"written_by": "hf_vqa_mc", "version": __version__, **asdict(self), "rows": rows}


def transfer(
    recipe: TrainingSettings,
    fine_tuning: TrainingSettings | None = None,
    *,
    targets: Sequence[str] = TARGETS,
    from_scratch: bool = False,
    image_data: Path | None = None,
    progress: Progress = silent,
) -> Transferred:
    """Pretrain a model, test it on each target as it is, fine-tune it on each and test again.

    Each step's result is kept: interrupted at any moment, the same call resumes. Steps are logged.

    Args:
        recipe: of the pretraining, and of training from scratch: ``dataset`` holds all configs, ``config`` is
            pretrained on, ``output`` is the folder of the whole transfer, ``features`` the one in which `vqa-mc
            features` made a folder for each config; with ``init_from`` that checkpoint replaces the pretraining.
        fine_tuning: its recipe; by default the trainer's, at its rate for that. Its dataset, model, paths and mixed
            precision are the recipe's.
        targets: configs to test on.
        from_scratch: also train the same model on each target alone.
        image_data: Visual Genome's ``image_data.json``, which maps its images to COCO's ids.
        progress: called with (step, done, total).

    Raises:
        InputError: something given cannot be used, or does not fit what the folder holds.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only; what was kept before still is.
    """
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
    recipe, output = inputs.recipe, inputs.recipe.output
    if recipe.mixed_precision != "no":
        accelerator_of(recipe.mixed_precision)  # a process's first one decides for all steps
    checkpoint = recipe.init_from or str(output / PRETRAINED / "best")
    alone = replace(recipe, init_from=None)
    fine_tuning = replace(
        fine_tuning or TrainingSettings(recipe.dataset, recipe.config, output=output),
        dataset=recipe.dataset,
        init_from=checkpoint,
        model=recipe.model,
        model_settings={},
        centre=False,
        word_vectors=recipe.word_vectors,
        skip_missing=recipe.skip_missing,
        mixed_precision=recipe.mixed_precision,
    )

    def trained(settings: TrainingSettings, config: str, folder: Path) -> Result:
        """The best checkpoint's results on the split that is reported, which has chosen nothing."""
        done = train(replace(settings, config=config, output=folder, features=inputs.features[config]), progress)
        results: Result = done.record["results"][inputs.splits.get(config, done.reported_on)]
        return results

    def tested(config: str) -> Result:
        options: dict[str, Any] = {
            "word_vectors": recipe.word_vectors,
            "skip_missing": recipe.skip_missing,
            "progress": progress,
        }
        return predict(checkpoint, recipe.dataset, config, features=inputs.features[config], **options).results

    def step(name: str, config: str, what: str, work: Callable[[], Result]) -> Result:
        return _kept(output / RESULTS / f"{name}-{file_name(config)}.json", what, work)

    def run(name: str, config: str, what: str, settings: TrainingSettings) -> Result:
        return step(name, config, what, lambda: trained(settings, config, output / name / file_name(config)))

    with lock_folder(output, "transfer"):
        plan = dict(inputs.identity)
        if from_scratch or recipe.init_from is None:
            plan |= {
                f"{name} in pretraining": value for name, value in alone.as_json().items() if name not in _NO_RECIPE
            }
        without = _NO_RECIPE | _OF_PRETRAINED
        plan |= {
            f"{name} in fine-tuning": value for name, value in fine_tuning.as_json().items() if name not in without
        }
        _keep_plan(output, plan)
        pretrained = None
        if not recipe.init_from:
            folder, what = output / PRETRAINED, f"pretraining on {recipe.config}"
            pretrained = step(PRETRAINED, recipe.config, what, lambda: trained(recipe, recipe.config, folder))
        as_is = {
            name: step(AS_IS, name, f"testing the pretrained model on {name} as it is", lambda name=name: tested(name))  # type: ignore[misc]
            for name in targets
        }
        tuned = {name: run(FINE_TUNED, name, f"fine-tuning on {name}", fine_tuning) for name in targets}
        scratch = {
            name: run(FROM_SCRATCH, name, f"training on {name} alone", alone) for name in targets if from_scratch
        }
        rows = [
            Row(
                name,
                inputs.splits[name],
                len(inputs.tested[name].image_ids) - as_is[name]["questions"],
                TABLE_6.get(name) if recipe.config == PRETRAINED_ON else None,
                as_is[name],
                tuned[name],
                scratch.get(name),
                *_shared(inputs, name, known),
            )
            for name in targets
        ]
        lost = unlisted(inputs.trained, known) if inputs.trained and known is not None else 0
        done = Transferred(checkpoint, recipe.config, pretrained, recipe.model, rows, lost)
        write_json(output / SUMMARY, done.as_json(), indent=1)
    return done


def _shared(inputs: Inputs, target: str, image_data: ImageData | None) -> tuple[Overlap | None, str]:
    trained, tested = inputs.trained, inputs.tested[target]
    if trained is None:
        config = inputs.identity["pretraining config"]
        return None, f"it takes {config} in {inputs.recipe.dataset}, whose training part has the images"
    return overlap(trained, tested, image_data), why_unknown(trained, tested, image_data)


def check_transfer_folder(path: Path) -> None:
    """Raise InputError unless a transfer can be at the path: nothing is there yet, an empty folder, or a transfer."""
    check_folder(path, "--output")
    strange = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if strange and not {PLAN, RESULTS, SUMMARY, PRETRAINED} & set(strange):
        raise InputError(f"--output {path} holds something that is no transfer, such as {min(strange)}; name another")


def _keep_plan(output: Path, plan: Mapping[str, Any]) -> None:
    """Write what the results depend on; entries of an earlier call that this one does not have stay.

    Raises:
        InputError: the folder holds results of something else.
    """
    path, own = output / PLAN, json.loads(json.dumps(plan))
    before = _read(path, f"remove {output}") if path.is_file() else {}
    if not before and any((output / RESULTS).glob("*.json")):
        raise InputError(f"--output {output} holds results without {PLAN}; name another folder, or remove that")
    for name in own:
        if name in before and own[name] != before[name]:
            raise InputError(
                f"--output {output} holds a transfer with another {name}: {before[name]}, not {own[name]}; "
                "name another folder, or remove that one"
            )
    write_json(path, {**before, **own}, indent=1)


def _kept(path: Path, what: str, work: Callable[[], Result]) -> Result:
    """A step's result; computed unless it is there already."""
    if path.is_file():
        return _read(path, "remove it, and its step is done again")
    logger.info(what)
    result = work()
    write_json(path, result, indent=1)
    return result


def _read(path: Path, remedy: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged; {remedy}")
    return found
