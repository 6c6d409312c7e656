"""Transfer: one pretrained model is tested on other datasets, fine-tuned on each, and tested again (Table 6).

::

    OUTPUT/plan.json         what the results depend on
    OUTPUT/results/          one file per step
    OUTPUT/pretrained/       a training run, and so are fine_tuned/CONFIG/ and from_scratch/CONFIG/
    OUTPUT/transfer.json     all results
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_folder
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import without_folders
from hf_vqa_mc.training.evaluation import predict
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.run_folder import BEST, lock_folder
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.transfer_inputs import check_inputs, overlap, read_image_data, unlisted
from hf_vqa_mc.version import __version__

PRETRAINED_ON = "qavg_iou_qou"
TARGETS = ("visual7w_orig", "visual7w_iou_qou", "visual7w_all", "vqa_orig", "vqa_iou_qou", "vqa_all")
"""Chao et al. 2018, section 5.3."""
PAPER = ("alone", "as_is", "fine_tuned")
TABLE_6 = {
    "visual7w_orig": (65.7, 60.5, 69.1),
    "visual7w_iou_qou": (52.0, 58.1, 58.7),
    "visual7w_all": (45.1, 48.9, 51.0),
    "vqa_orig": (64.6, 42.2, 65.6),
    "vqa_iou_qou": (63.7, 47.9, 64.1),
    "vqa_all": (58.9, 37.5, 59.4),
}
"""Accuracies in percent of Chao et al. 2018, Table 6: of their best model trained on the target alone, and of MLP-IQA
pretrained on `PRETRAINED_ON`, before and after fine-tuning."""

PLAN, RESULTS, SUMMARY = "plan.json", "results", "transfer.json"
PRETRAINED, AS_IS, FINE_TUNED, FROM_SCRATCH = "pretrained", "as_is", "fine_tuned", "from_scratch"
STEPS = {
    PRETRAINED: "pretraining on {}",
    AS_IS: "testing the pretrained model on {} as it is",
    FINE_TUNED: "fine-tuning on {}",
    FROM_SCRATCH: "training on {} alone",
}
"""Messages of the steps; those that train have a folder of this name."""

_NO_RECIPE = {"dataset", "config", "output", "features", "word_vectors", "init_from", "skip_missing"}
"""Settings that are not part of a recipe, or whose contents are compared."""
_OF_RECIPE = ("dataset", "model", "word_vectors", "skip_missing", "first_words", "shuffle_words")
"""Settings that fine-tuning takes from the recipe of the pretraining."""
_OF_PRETRAINED = {"model", "model_settings"}  # settings that fine-tuning takes from the pretrained model

Result = dict[str, Any]  # accuracy, stderr, chance and so on of a split, as in training.json

logger = logging.getLogger(__name__)


def transfer(
    recipe: TrainingSettings,
    fine_tuning: TrainingSettings,
    *,
    targets: Sequence[str],
    from_scratch: bool = False,
    image_data: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Pretrain a model, test it on each target, fine-tune it on each and test again; return transfer.json.

    The same call resumes an interrupted transfer. ``recipe`` is that of the pretraining and of training from scratch;
    its ``features`` folder has one for each config; with ``init_from`` that checkpoint replaces the pretraining.
    ``fine_tuning`` takes dataset, model, paths and word changes from it. Errors are those of ``hf_vqa_mc.transfer``.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            "a transfer runs in one process; pretrain in several with accelerate launch -m hf_vqa_mc train, and give "
            "the checkpoint with --init-from"
        )
    if not targets or len(set(targets)) < len(targets):
        raise InputError(f"--targets {','.join(targets)}: expected configs, each once")
    _check_transfer_folder(recipe.output)
    image_ids = None if image_data is None else read_image_data(image_data)
    inputs = check_inputs(recipe, targets, progress)
    recipe, output = inputs.recipe, inputs.recipe.output
    checkpoint = recipe.init_from or str(output / PRETRAINED / BEST)
    alone = replace(recipe, init_from=None)
    shared = {name: getattr(recipe, name) for name in _OF_RECIPE}
    fine_tuning = replace(fine_tuning, init_from=checkpoint, model_settings={}, **shared)
    training = {PRETRAINED: recipe, FINE_TUNED: fine_tuning, FROM_SCRATCH: alone}

    def result_of(step: str, config: str) -> Result:
        """The result of a step, which is not run again if it is saved: of training on the reported split."""
        path, features = output / RESULTS / f"{step}-{file_name(config)}.json", inputs.features[config]
        if path.is_file():
            stored: Result = read_json(path)
            return stored
        logger.info(STEPS[step].format(config))
        if step == AS_IS:
            given: dict[str, Any] = {name: getattr(recipe, name) for name in ("word_vectors", "skip_missing")}
            tested = predict(checkpoint, recipe.dataset, config, features=features, progress=progress, **given)
            result = tested.results
        else:
            folder = output / (step if step == PRETRAINED else f"{step}/{file_name(config)}")
            done = train(replace(training[step], config=config, output=folder, features=features), progress)
            result = done.record["results"][inputs.splits.get(config, done.reported_on)]
        write_json(path, result, indent=1)
        return result

    def row(target: str, results: Mapping[str, Mapping[str, Result]]) -> dict[str, Any]:
        """A target's results, the paper's, and the overlap of images."""
        tested, counts = inputs.tested[target], None
        reason = f"needs {recipe.config} in {recipe.dataset}, which has the images of its training split"
        if inputs.trained is not None:
            counts, reason = overlap(inputs.trained, tested, image_ids)
        has_paper = recipe.config == PRETRAINED_ON and target in TABLE_6
        return {
            "config": target,
            "split": inputs.splits[target],
            "skipped": len(tested.image_ids) - results[AS_IS][target]["questions"],
            "paper": dict(zip(PAPER, TABLE_6[target], strict=True)) if has_paper else None,
            "overlap": counts,
            "overlap_unknown": reason,
            **{step: of_step.get(target) for step, of_step in results.items()},
        }

    with lock_folder(output, "transfer"):
        plan = dict(inputs.identity)
        if from_scratch or recipe.init_from is None:
            plan |= _of_recipe("pretraining", alone, _NO_RECIPE)
        _check_plan(output, plan | _of_recipe("fine-tuning", fine_tuning, _NO_RECIPE | _OF_PRETRAINED))
        pretrained = None if recipe.init_from else result_of(PRETRAINED, recipe.config)
        configs = {AS_IS: targets, FINE_TUNED: targets, FROM_SCRATCH: targets if from_scratch else ()}
        results = {step: {name: result_of(step, name) for name in names} for step, names in configs.items()}
        done = {
            "written_by": "hf_vqa_mc",
            "version": __version__,
            "checkpoint": checkpoint,
            "pretrained_on": recipe.config,
            "pretrained": pretrained,
            "model": recipe.model,
            "rows": [row(name, results) for name in targets],
            "unlisted": unlisted(inputs.trained, image_ids) if inputs.trained and image_ids is not None else 0,
        }
        write_json(output / SUMMARY, without_folders(done, checkpoint, recipe.dataset), indent=1)
    return done


def _check_transfer_folder(path: Path) -> None:
    """Raise InputError unless the path does not exist, is an empty folder, or is the folder of a transfer."""
    check_folder(path, "--output")
    names = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if names and not {PLAN, RESULTS, SUMMARY, PRETRAINED} & set(names):
        raise InputError(
            f"--output {path} is not the folder of a transfer: it has {min(names)}; choose another folder"
        )


def _of_recipe(moment: str, settings: TrainingSettings, without: set[str]) -> dict[str, Any]:
    """A recipe's settings, by names for the plan."""
    return {f"{name} in {moment}": value for name, value in settings.as_json().items() if name not in without}


def _check_plan(output: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan, keeping entries of earlier calls; raises InputError if the folder has another."""
    path, own = output / PLAN, json.loads(json.dumps(plan))
    before = read_json(path) if path.is_file() else {}
    if not before and any((output / RESULTS).glob("*.json")):
        raise InputError(f"--output {output} has results without {PLAN}; remove it or choose another folder")
    for name in own:
        if name in before and own[name] != before[name]:
            raise InputError(
                f"--output {output} is a transfer with another {name}: {before[name]}, not {own[name]}; "
                "choose another folder, or remove it"
            )
    write_json(path, {**before, **own}, indent=1)
