"""Transfer: one pretrained model is tested on other datasets, fine-tuned on each, and tested again (Table 6).

::

    OUTPUT/pretrained/       a training run, and so are fine_tuned/CONFIG/ and from_scratch/CONFIG/
    OUTPUT/transfer.json     all results

A finished run is not run again, so the same call resumes an interrupted transfer.
"""

import glob
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_vqa_mc.data.loading import chosen_split, config_names
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS
from hf_vqa_mc.extraction.store import INDEX
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.outputs import check_folder
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import without_folders
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.text.word_vectors import CORPUS
from hf_vqa_mc.training.inputs import named_word_vectors, open_images, with_word_vectors
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predicting import predict
from hf_vqa_mc.training.questions import read_questions
from hf_vqa_mc.training.run_folder import BEST, check_run_folder, config_of, lock_folder
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
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

SUMMARY, PRETRAINED = "transfer.json", "pretrained"
AS_IS, FINE_TUNED, FROM_SCRATCH = "as_is", "fine_tuned", "from_scratch"
_OF_RECIPE = ("dataset", "model", "skip_missing", "first_words", "shuffle_words", "questions", "captions")
"""Settings that fine-tuning takes from the recipe of the pretraining."""

logger = logging.getLogger(__name__)


def transfer(
    recipe: TrainingSettings,
    fine_tuning: TrainingSettings,
    *,
    targets: Sequence[str],
    from_scratch: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Pretrain a model, test it on each target, fine-tune it on each and test again; return transfer.json.

    ``recipe`` is that of the pretraining and of training from scratch; its ``features`` folder has one for each
    config; with ``init_from`` that checkpoint replaces the pretraining. ``fine_tuning`` takes dataset, model, paths
    and word changes from it. Errors are those of ``hf_vqa_mc.transfer``.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            "a transfer runs in one process; pretrain in several with accelerate launch -m hf_vqa_mc train, and give "
            "the checkpoint with --init-from"
        )
    if not targets or len(set(targets)) < len(targets):
        raise InputError(f"--targets {','.join(targets)}: expected configs, each once")
    output, dataset = recipe.output, recipe.dataset
    check_folder(output, "--output")
    check_run_folder(output, "transfer", (SUMMARY, PRETRAINED, FINE_TUNED))
    recipe, config = _with_model(recipe)
    checkpoint = recipe.init_from or str(output / PRETRAINED / BEST)
    inputs = _inputs(recipe, config, targets)
    shared = {name: getattr(recipe, name) for name in _OF_RECIPE} | {"init_from": checkpoint, "model_settings": {}}
    # an open-ended model's words are those of the checkpoint
    shared["word_vectors"] = None if model_of(config).open_ended else recipe.word_vectors
    tuned, alone = replace(fine_tuning, **shared), replace(recipe, init_from=None)

    def trained(settings: TrainingSettings, name: str, folder: str) -> dict[str, Any]:
        """The results of a run on the reported split."""
        logger.info(f"training on {name}: {folder}")
        of = inputs[name]
        done = train(replace(settings, config=name, output=output / folder, features=of.features), progress)
        results: dict[str, Any] = done.record["results"][of.split]
        return results

    with lock_folder(output, "transfer"):
        done: dict[str, Any] = {
            "written_by": "hf_vqa_mc",
            "version": __version__,
            "checkpoint": checkpoint,
            "pretrained_on": recipe.config,
            "pretrained": None if recipe.init_from else trained(recipe, recipe.config, PRETRAINED),
            "model": recipe.model,
            "rows": [],
        }
        for name in targets:
            logger.info(f"testing the pretrained model on {name} as it is")
            given: dict[str, Any] = {"features": inputs[name].features, "word_vectors": shared["word_vectors"]}
            given |= {"split": inputs[name].split, "skip_missing": recipe.skip_missing, "captions": recipe.captions}
            as_is = predict(checkpoint, dataset, name, **given, progress=progress).results
            row: dict[str, Any] = {"config": name, "split": inputs[name].split}
            row["skipped"] = inputs[name].tested - as_is["questions"]
            row["overlap"], row["overlap_unknown"] = inputs[name].overlap
            has_paper = recipe.config == PRETRAINED_ON and name in TABLE_6
            row["paper"] = dict(zip(PAPER, TABLE_6[name], strict=True)) if has_paper else None
            row |= {AS_IS: as_is, FINE_TUNED: trained(tuned, name, f"{FINE_TUNED}/{file_name(name)}")}
            row[FROM_SCRATCH] = trained(alone, name, f"{FROM_SCRATCH}/{file_name(name)}") if from_scratch else None
            done["rows"].append(row)
        write_json(output / SUMMARY, without_folders(done, checkpoint, dataset), indent=1)
    return done


class _Inputs(NamedTuple):
    """What is read of a config."""

    split: str  # that is tested
    tested: int  # number of its questions
    features: Path | None  # folder
    overlap: tuple[dict[str, int] | None, str]  # of the tested images with the training images of the pretraining


def _inputs(recipe: TrainingSettings, config: "PreTrainedConfig", targets: Sequence[str]) -> dict[str, _Inputs]:
    """The inputs of the targets, and of the config that the model is pretrained on if it is."""
    images: dict[str, dict[str, list[str]]] = {}
    needed = dict.fromkeys(targets if recipe.init_from else [recipe.config, *targets])
    known = {recipe.config}.intersection(config_names(recipe.dataset))  # also that of a given checkpoint, for overlap
    for name in dict.fromkeys([*needed, *known]):
        read = read_questions(recipe.dataset, name, open_ended=model_of(config).open_ended).splits
        images[name] = {split: questions.image_ids for split, questions in read.items() if questions.has_answers}
        if name in needed and ("train" not in images[name] or len(images[name]) == 1):
            lacks = "no other split to test on" if "train" in images[name] else "no split train"
            raise InputError(f"{recipe.dataset}, {name} has {lacks}; it has {', '.join(images[name])}")
    features = _features(recipe, config, {name: set().union(*images[name].values()) for name in needed})
    found, trained = {}, images.get(recipe.config, {}).get("train")
    for name in needed:
        of = images[name]
        split = chosen_split([split for split in of if split != "train"], None, f"{recipe.dataset}, {name}")
        shared = overlap(recipe.config, trained, name, of[split])
        found[name] = _Inputs(split, len(of[split]), features[name], shared)
    return found


def overlap(
    trained_on: str, trained: Sequence[str] | None, tested_on: str, tested: Sequence[str]
) -> tuple[dict[str, int] | None, str]:
    """Count the images of a test split that are also in a training split, from configs and each question's image id.

    Returns ``images`` and ``questions`` of the test split, ``shared_images``, and ``shared_questions`` on these; None
    if unknown, and the reason why ("" if known).
    """
    one, other = (
        SOURCES[source].image_numbering if (source := source_of(of)) else "" for of in (trained_on, tested_on)
    )
    if trained_on != tested_on and (not one or one != other):
        return None, f"the image ids of {trained_on} and {tested_on} are not known to be those of one dataset"
    if trained is None:
        return None, f"the dataset has no split train of {trained_on}"
    shared = set(trained).intersection(tested)
    counts = {"images": len(set(tested)), "shared_images": len(shared), "questions": len(tested)}
    return counts | {"shared_questions": sum(image_id in shared for image_id in tested)}, ""


def _with_model(recipe: TrainingSettings) -> "tuple[TrainingSettings, PreTrainedConfig]":
    """The recipe with the model of its checkpoint, if it has one, and the model's config."""
    if recipe.init_from is None:
        declared = MODELS.find(recipe.model)
        words = recipe.word_vectors if declared.open_ended else named_word_vectors(recipe)
        return replace(recipe, word_vectors=words), declared.config(recipe.model_settings)
    start = f"--init-from {recipe.init_from}"
    trained_on = config_of(recipe.init_from)
    if trained_on not in (None, recipe.config):
        raise InputError(f"--pretrain {recipe.config}: {start} was trained on {trained_on}; remove --pretrain")
    for key in recipe.model_settings:
        raise InputError(f"model setting {key}: {start} has its own; remove it")
    model, processor = load_checkpoint(recipe.init_from)
    declared, words = model_of(model.config), recipe.word_vectors
    if not declared.open_ended:
        text = with_word_vectors(processor.text, words)
        words = CORPUS if text.name == CORPUS else words
        if words is None:
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
    return named, model.config


def _features(
    recipe: TrainingSettings, config: "PreTrainedConfig", images: Mapping[str, set[str]]
) -> dict[str, Path | None]:
    """The folder of each config's image features, the most complete of those of its source; None without images."""
    folder, model = recipe.features, recipe.model
    if folder is None or model_of(config).inputs.isdisjoint(IMAGE_INPUTS):
        open_images(folder, config, model)
        return dict.fromkeys(images)
    dataset = Path(recipe.dataset).resolve().name if Path(recipe.dataset).is_dir() else recipe.dataset
    start = file_name(f"{dataset}-")
    paths = [path for path in sorted(folder.glob(f"{glob.escape(start)}*")) if (path / INDEX).is_file()]
    best, lacking = dict[str, Path | None](), []
    for name, image_ids in images.items():
        lost: dict[Path, int] = {}
        for path in sorted(paths, key=lambda one: one.name != file_name(f"{dataset}-{name}")):  # its own first
            of, source = path.name.removeprefix(start), source_of(name)
            is_same = of == file_name(name) or (source is not None and source_of(of) == source)
            if is_same and (features := open_images(path, config, model)):
                lost[path] = len(image_ids - features.hashes.keys())
        best[name] = min(lost, key=lost.__getitem__, default=None)
        if not lost:
            lacking.append(name)
        elif min(lost.values()) and not recipe.skip_missing:
            lacking.append(f"{name} ({min(lost.values()):,} of {len(image_ids):,} images)")
    if lacking:
        skip = ", or skip questions without image features with --skip-missing" if any(best.values()) else ""
        raise InputError(
            f"--features {folder} lacks features of {', '.join(lacking)}; expected a folder of one kind with the "
            f"folders {start}CONFIG; run vqa-mc features {recipe.dataset} CONFIG --output {folder.parent}{skip}"
        )
    return best
