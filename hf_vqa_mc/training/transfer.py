"""Transfer: one pretrained model is tested on other datasets, fine-tuned on each, and tested again (Table 6).

::

    OUTPUT/plan.json         what the results depend on
    OUTPUT/results/          one file per step
    OUTPUT/pretrained/       a training run, and so are fine_tuned/CONFIG/ and from_scratch/CONFIG/
    OUTPUT/transfer.json     all results
"""

import glob
import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.cells import as_text, is_id
from hf_vqa_mc.data.loading import chosen_split, config_names, load_splits
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.extraction.store import INDEX, ImageFeatures
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_folder
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import without_folders
from hf_vqa_mc.model_listing import MODELS, checkpoint_folder
from hf_vqa_mc.models.checkpoint import WEIGHTS, load_checkpoint
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.text.word_vectors import CORPUS, load_word_vectors
from hf_vqa_mc.training.image_overlap import QuestionImages, overlap, read_image_data, unlisted
from hf_vqa_mc.training.inputs import (
    check_same_features,
    made_with,
    named_word_vectors,
    open_images,
    with_word_vectors,
)
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predicting import predict
from hf_vqa_mc.training.run_folder import BEST, config_of, lock_folder
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedConfig

PRETRAINED_ON = "qavg_iou_qou"
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
pretrained on `PRETRAINED_ON`, before and after fine-tuning. Its targets are the default ones."""

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
_OF_RECIPE = ("dataset", "model", "skip_missing", "first_words", "shuffle_words", "questions", "captions")
"""Settings that fine-tuning takes from the recipe of the pretraining."""

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
    coco_ids = None if image_data is None else read_image_data(image_data)
    wanted = list(dict.fromkeys([*([] if recipe.init_from else [recipe.config]), *targets]))
    available = _available(recipe.dataset, wanted)
    recipe, config, trained_with, plan = _model(recipe)
    images, splits = _images(recipe, list(dict.fromkeys([*wanted, *({recipe.config} & available)])), progress)
    of_wanted = {name: set().union(*images[name].values()) for name in wanted}
    features, kind = _features(recipe, config, of_wanted, trained_with)
    progress("checking inputs", len(wanted) + 1, len(wanted) + 1)
    in_training = QuestionImages(recipe.config, images[recipe.config]["train"]) if recipe.config in images else None
    output, checkpoint = recipe.output, recipe.init_from or str(recipe.output / PRETRAINED / BEST)
    alone = replace(recipe, init_from=None)
    shared = {name: getattr(recipe, name) for name in _OF_RECIPE}
    word_vectors = None if MODELS.find(recipe.model).open_ended else recipe.word_vectors  # others are the checkpoint's
    shared |= {"init_from": checkpoint, "model_settings": {}, "word_vectors": word_vectors}
    training = {PRETRAINED: recipe, FINE_TUNED: replace(fine_tuning, **shared), FROM_SCRATCH: alone}

    def result_of(step: str, config: str) -> Result:
        """The result of a step, which is not run again if it is saved: of training on the reported split."""
        path = output / RESULTS / f"{step}-{file_name(config)}.json"
        if path.is_file():
            stored: Result = read_json(path)
            return stored
        logger.info(STEPS[step].format(config))
        if step == AS_IS:
            shown: dict[str, Any] = {name: getattr(recipe, name) for name in ("skip_missing", "captions")}
            shown |= {"features": features[config], "word_vectors": word_vectors, "progress": progress}
            result = predict(checkpoint, recipe.dataset, config, **shown).results
        else:
            folder = output / (step if step == PRETRAINED else f"{step}/{file_name(config)}")
            one = replace(training[step], config=config, output=folder, features=features[config])
            done = train(one, progress)
            result = done.record["results"][splits[config] if config in targets else done.reported_on]
        write_json(path, result, indent=1)
        return result

    def row(target: str, results: Mapping[str, Mapping[str, Result]]) -> dict[str, Any]:
        """A target's results, the paper's, and the overlap of images."""
        tested, counts = QuestionImages(target, images[target][splits[target]]), None
        reason = f"needs {recipe.config} in {recipe.dataset}, which has the images of its training split"
        if in_training is not None:
            counts, reason = overlap(in_training, tested, coco_ids)
        has_paper = recipe.config == PRETRAINED_ON and target in TABLE_6
        return {
            "config": target,
            "split": splits[target],
            "skipped": len(tested.image_ids) - results[AS_IS][target]["questions"],
            "paper": dict(zip(PAPER, TABLE_6[target], strict=True)) if has_paper else None,
            "overlap": counts,
            "overlap_unknown": reason,
            **{step: of_step.get(target) for step, of_step in results.items()},
        }

    plan |= {
        "pretraining config": recipe.config,
        "kind of image features": kind,
        "--skip-missing": recipe.skip_missing,
    }
    plan |= {f"build of {name}": made_with(recipe.dataset, name)[1] for name in wanted}
    if from_scratch or recipe.init_from is None:
        plan |= {f"{name} in pretraining": of for name, of in alone.as_json().items() if name not in _NO_RECIPE}
    of_pretrained = {*_NO_RECIPE, "model", "model_settings"}
    tuned = training[FINE_TUNED].as_json()
    plan |= {f"{name} in fine-tuning": of for name, of in tuned.items() if name not in of_pretrained}
    with lock_folder(output, "transfer"):
        _check_plan(output, json.loads(json.dumps(plan)))
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
            "unlisted": unlisted(in_training, coco_ids) if in_training and coco_ids is not None else 0,
        }
        write_json(output / SUMMARY, without_folders(done, checkpoint, recipe.dataset), indent=1)
    return done


def _images(
    recipe: TrainingSettings, configs: Sequence[str], progress: Progress
) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """The image_id of each question by config and split, and the reported split of each config."""
    images: dict[str, dict[str, list[str]]] = {}
    splits = {}
    for number, name in enumerate(configs):
        progress("checking inputs", number, len(configs) + 1)
        location, (_, tables) = f"{recipe.dataset}, {name}", load_splits(recipe.dataset, name)
        if "train" not in tables or len(tables) == 1:
            fault = "has no split train" if "train" not in tables else "has no other split to test on"
            raise InputError(f"{location} {fault}; it has {', '.join(tables)}")
        images[name] = {str(split): _image_ids(rows, f"{location}, {split}") for split, rows in tables.items()}
        splits[name] = chosen_split([split for split in images[name] if split != "train"], None, location)
    return images, splits


def _image_ids(rows: "Dataset", location: str) -> list[str]:
    column = rows.with_format("arrow").select_columns(["image_id"])[:]["image_id"]
    if column.null_count or not is_id(column.type):
        raise InputError(f"{location}: image_id has no text or integer in some row; expected rows of vqa-mc build")
    return list[str](as_text(column).to_pylist())


def _check_transfer_folder(path: Path) -> None:
    """Raise InputError unless the path does not exist, is an empty folder, or is the folder of a transfer."""
    check_folder(path, "--output")
    names = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if names and not {PLAN, RESULTS, SUMMARY, PRETRAINED} & set(names):
        raise InputError(
            f"--output {path} is not the folder of a transfer: it has {min(names)}; choose another folder"
        )


def _check_plan(output: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan, keeping entries of earlier calls; raises InputError if the folder has another."""
    path = output / PLAN
    before = read_json(path) if path.is_file() else {}
    if not before and any((output / RESULTS).glob("*.json")):
        raise InputError(f"--output {output} has results without {PLAN}; remove it or choose another folder")
    for name in plan.keys() & before.keys():
        if plan[name] != before[name]:
            raise InputError(
                f"--output {output} is a transfer with another {name}: {before[name]}, not {plan[name]}; "
                "choose another folder, or remove it"
            )
    write_json(path, {**before, **plan}, indent=1)


def _available(dataset: str, wanted: Sequence[str]) -> set[str]:
    """The configs of a dataset; raises InputError if it lacks one."""
    available = set(config_names(dataset))
    if missing := [name for name in wanted if name not in available]:
        sources = sorted({source_of(name) or "SOURCE" for name in missing})
        builds = ", ".join(f"vqa-mc build {source}" for source in sources)
        existing = ", ".join(sorted(name for name in available if not name.endswith("_images")))
        raise InputError(
            f"{dataset} has no {', '.join(missing)}; it has {existing}: build them ({builds}), or choose others with "
            "--pretrain and --targets"
        )
    return available


def _model(
    recipe: TrainingSettings,
) -> "tuple[TrainingSettings, PreTrainedConfig, FeatureKind | None, dict[str, Any]]":
    """The recipe with model and word vectors, the model's config, a checkpoint's image features, and checksums."""
    if recipe.init_from is None:
        declared, words = MODELS.find(recipe.model), recipe.word_vectors
        if not declared.open_ended:
            words = named_word_vectors(
                recipe, f"; those of --word-vectors {CORPUS} know only words of {recipe.config}"
            )
        checksum = words if words in (None, CORPUS) else load_word_vectors(str(words)).sha256
        plan = {"file of word vectors": checksum, "checkpoint": None}
        return replace(recipe, word_vectors=words), declared.config(recipe.model_settings), None, plan
    start = f"--init-from {recipe.init_from}"
    trained_on = config_of(recipe.init_from)
    if trained_on not in (None, recipe.config):
        raise InputError(f"--pretrain {recipe.config}: {start} was trained on {trained_on}; remove --pretrain")
    for key in recipe.model_settings:
        raise InputError(f"model setting {key}: {start} has its own; remove it")
    model, processor = load_checkpoint(recipe.init_from)
    declared, words, checksum = model_of(model.config), recipe.word_vectors, None
    if not declared.open_ended:
        text = with_word_vectors(processor.text, words)
        words, checksum = words or CORPUS, text.sha256
        if text.name != CORPUS and recipe.word_vectors is None:
            raise InputError(
                f"{start} was trained with the word vectors {text.name} (sha256 {text.sha256[:12]}), which are needed "
                "for new words: add --word-vectors FILE"
            )
    named = replace(
        recipe,
        word_vectors=words,
        model=declared.name,
        model_settings=declared.changed_settings(model.config),
        first_words=processor.word_changes.first_words,
        shuffle_words=processor.word_changes.shuffle_words,
        questions=processor.texts.form,
    )
    weights = hashlib.sha256((checkpoint_folder(recipe.init_from) / WEIGHTS).read_bytes()).hexdigest()
    return named, model.config, processor.image_kind, {"file of word vectors": checksum, "checkpoint": weights}


def _features(
    recipe: TrainingSettings,
    config: "PreTrainedConfig",
    images: Mapping[str, set[str]],
    trained_with: FeatureKind | None,
) -> tuple[dict[str, Path | None], str | None]:
    """The folder of each config's image features, if the model sees images, and their kind.

    The features are the most complete of those of the config's source.
    """
    folder, model = recipe.features, recipe.model
    if folder is None or model_of(config).inputs.isdisjoint(IMAGE_INPUTS):
        open_images(folder, config, model)
        return dict.fromkeys(images), None
    if (folder / INDEX).is_file():
        raise InputError(f"--features {folder} has features of one config; give its parent folder, {folder.parent}")
    dataset = Path(recipe.dataset).resolve().name if Path(recipe.dataset).is_dir() else recipe.dataset
    start = file_name(f"{dataset}-")
    paths = [path for path in sorted(folder.glob(f"{glob.escape(start)}*")) if (path / INDEX).is_file()]
    found: dict[str, ImageFeatures] = {}
    lacking = []
    for name, image_ids in images.items():
        own, source = folder / file_name(f"{dataset}-{name}"), source_of(name)
        of_source = [path for path in paths if source and source_of(path.name.removeprefix(start)) == source]
        both = [path for path in dict.fromkeys([own, *of_source]) if path in paths]
        opened = [one for path in both if (one := open_images(path, config, model))]
        if not opened:
            lacking.append(name)
            continue
        lost = [len(image_ids - one.hashes.keys()) for one in opened]
        found[name] = opened[lost.index(min(lost))]
        if min(lost) and not recipe.skip_missing:
            lacking.append(f"{name} ({min(lost):,} of {len(image_ids):,} images)")
    if lacking:
        inside = sorted({str(index.parents[1]) for index in folder.glob(f"*/*/{INDEX}")})
        if inside:
            raise InputError(f"--features {folder} has features of several kinds; give one, such as {inside[0]}")
        skip = ", or skip questions without image features with --skip-missing" if found else ""
        raise InputError(
            f"--features {folder} lacks features of {', '.join(lacking)}; run vqa-mc features {recipe.dataset} CONFIG "
            f"--output {folder.parent}{skip}"
        )
    for one in found.values() if trained_with else ():
        check_same_features(one, trained_with, str(recipe.init_from))
    kinds = {one.kind.folder_name: str(one.folder) for one in found.values()}
    if len(kinds) > 1:
        raise InputError(f"--features {folder}: {' and '.join(kinds.values())} are of different kinds")
    return {name: one.folder for name, one in found.items()}, next(iter(kinds))
