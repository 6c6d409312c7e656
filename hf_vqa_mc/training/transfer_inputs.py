"""What a transfer starts from, all looked at before any work: datasets, features, word vectors, a checkpoint."""

import glob
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.dataset.loading import BUILT, chosen_split, datasets_in_plain_words, load_splits, no_bars_of_datasets
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import file_name
from hf_vqa_mc.extraction.image_features import INDEX
from hf_vqa_mc.models.checkpoint import WEIGHTS, load_checkpoint
from hf_vqa_mc.models.checkpoint_files import checkpoint_folder
from hf_vqa_mc.models.inputs import IMAGE_INPUTS, needed
from hf_vqa_mc.text.word_vectors import CORPUS, load_word_vectors
from hf_vqa_mc.training.image_overlap import Asked, source_of
from hf_vqa_mc.training.material import check_same_features, made_with, new_config, open_images, with_word_vectors
from hf_vqa_mc.training.run_folder import RECORD
from hf_vqa_mc.training.settings import MODELS, TrainingSettings, option

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from hf_vqa_mc.extraction.image_features import ImageFeatures
    from hf_vqa_mc.models.processor import VqaMcProcessor

Progress = Callable[[str, int, int], None]
LOOKING = "looking at what is there"


@dataclass(frozen=True)
class Inputs:
    """What is there."""

    recipe: TrainingSettings
    """as it was given, with the model, its shape and the word vectors named"""
    features: Mapping[str, Path | None]
    """config to the folder of its images' features"""
    splits: Mapping[str, str]
    """target to the split that is reported"""
    trained: Asked | None
    """the training part that the model is pretrained on; None where the dataset does not have it"""
    tested: Mapping[str, Asked]
    """target to its reported split"""
    identity: Mapping[str, Any]
    """what the results depend on beside recipes, by name"""


@dataclass(frozen=True)
class _Images:
    """The image_id of each question of a config."""

    train: list[str]
    reported: str
    """the split that is tested on"""
    tested: list[str]
    different: set[str]
    """in all splits"""


def check_inputs(recipe: TrainingSettings, targets: Sequence[str], progress: Progress) -> Inputs:
    """All that a transfer reads.

    Args:
        recipe: as `training.transfer.transfer` takes it.
        targets: configs.
        progress: told (step, done, total).

    Raises:
        InputError: something is missing, or does not fit the rest; names it and the remedy.
        ConnectionError: the Hub cannot be reached.
    """
    there = _configs(recipe.dataset)
    wanted = list(dict.fromkeys([*([] if recipe.init_from else [recipe.config]), *targets]))
    _check_configs(recipe.dataset, wanted, there)
    config, processor, recipe, identity = _model(recipe)
    asked: dict[str, _Images] = {}
    for name in dict.fromkeys([*wanted, *({recipe.config} & there)]):
        progress(LOOKING, len(asked), len(wanted) + 1)
        asked[name] = _images(recipe.dataset, name)
    opened = _features(recipe, config, {name: asked[name].different for name in wanted})
    for images in filter(None, opened.values()):
        if processor is not None:
            check_same_features(images, processor, str(recipe.init_from))
    kinds = {images.kind.folder_name: str(images.folder) for images in filter(None, opened.values())}
    if len(kinds) > 1:
        raise InputError(f"--features {recipe.features}: {' and '.join(kinds.values())} are of different kinds")
    progress(LOOKING, len(wanted) + 1, len(wanted) + 1)
    trained = asked.get(recipe.config)
    return Inputs(
        recipe=recipe,
        features={name: images.folder if images else None for name, images in opened.items()},
        splits={name: asked[name].reported for name in targets},
        trained=Asked(recipe.config, trained.train) if trained else None,
        tested={name: Asked(name, asked[name].tested) for name in targets},
        identity={
            "pretraining config": recipe.config,
            **identity,
            "kind of image features": next(iter(kinds), None),
            "--skip-missing": recipe.skip_missing,
            **{f"build of {name}": made_with(recipe.dataset, name)[1] for name in wanted},
        },
    )


def pretrained_on(checkpoint: str) -> str | None:
    """The config that a checkpoint says it was trained on; None if it says none.

    Raises:
        InputError: there is no such checkpoint.
        ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
    """
    try:
        config = json.loads((checkpoint_folder(checkpoint) / RECORD).read_text("utf-8")).get("config")
    except (OSError, ValueError, AttributeError):
        return None
    return config if isinstance(config, str) else None


def _model(
    recipe: TrainingSettings,
) -> "tuple[PreTrainedConfig, VqaMcProcessor | None, TrainingSettings, dict[str, Any]]":
    """What the model is, the processor of a checkpoint, the recipe with model and words named, and what they are."""
    if recipe.init_from is None:
        words = _word_vectors(recipe)
        checksum = words if words == CORPUS else load_word_vectors(words).sha256
        named = replace(recipe, word_vectors=words)
        config, identity = new_config(recipe.model, recipe.model_settings), {"file of word vectors": checksum}
        return config, None, named, {**identity, "checkpoint": None}
    said = pretrained_on(recipe.init_from)
    if said not in (None, recipe.config):
        raise InputError(f"--pretrain {recipe.config}: --init-from {recipe.init_from} was trained on {said}")
    for key in recipe.model_settings:
        raise InputError(f"model setting {key}: --init-from {recipe.init_from} has its own; leave it out")
    model, processor = load_checkpoint(recipe.init_from)
    text = with_word_vectors(processor.text, recipe.word_vectors)
    if text.name != CORPUS and recipe.word_vectors is None:
        raise InputError(
            f"--init-from {recipe.init_from} reads with the vectors of {text.name} (sha256 {text.sha256[:12]}), where "
            "words that are new to it are looked up: name that file, --word-vectors FILE"
        )
    words = recipe.word_vectors or CORPUS
    name, shape = _shape(model.config)
    centred = text.mean is not None
    named = replace(recipe, word_vectors=words, model=name, model_settings=shape, centre=centred)
    weights = hashlib.sha256((checkpoint_folder(recipe.init_from) / WEIGHTS).read_bytes()).hexdigest()
    return model.config, processor, named, {"file of word vectors": text.sha256, "checkpoint": weights}


def _word_vectors(recipe: TrainingSettings) -> str:
    """The word vectors of a model that is trained from scratch."""
    made = (made_with(recipe.dataset, recipe.config)[1] or {}).get("word_vectors") or {}
    if recipe.word_vectors is not None:
        return recipe.word_vectors
    if made.get("name") != CORPUS:
        with_these = f" (the decoys were made with {made['name']})" if made else ""
        raise InputError(
            f"name the word vectors that the model reads with: {option('word_vectors')} FILE{with_these}; those of "
            f"{option('word_vectors')} {CORPUS} know only words of {recipe.config}"
        )
    return CORPUS


def _shape(config: "PreTrainedConfig") -> tuple[str, dict[str, Any]]:
    """A checkpoint's model by name, and the settings that make another of the same shape."""
    for name, (kind, given) in MODELS.items():
        if type(config).__name__ == kind and all(set(getattr(config, key)) == set(given[key]) for key in given):
            own = {one.name: one.default for one in fields(type(config)) if one.name in type(config).__annotations__}
            found_elsewhere = {*given, "text_size", "image_size"}
            changed = {key: getattr(config, key) for key in own if key not in found_elsewhere}
            return name, {key: value for key, value in changed.items() if value != own[key]}
    raise InputError(f"--init-from is a {type(config).__name__} of {list(config.inputs)}; expected one of {[*MODELS]}")


def _configs(dataset: str) -> set[str]:
    from datasets import get_dataset_config_names

    dataset = dataset if Path(dataset).name else str(Path(dataset).resolve())  # datasets takes no "."
    with datasets_in_plain_words(dataset, BUILT), no_bars_of_datasets():
        return {str(name) for name in get_dataset_config_names(dataset)}


def _check_configs(dataset: str, wanted: Sequence[str], there: set[str]) -> None:
    """Nothing, if all configs are there.

    Raises:
        InputError: some are not; names all of them.
    """
    missing = [name for name in wanted if name not in there]
    if missing:
        sources = sorted({source_of(name) or "SOURCE" for name in missing})
        builds = ", ".join(f"vqa-mc build {source}" for source in sources)
        having = ", ".join(sorted(name for name in there if not name.endswith("_images")))
        raise InputError(
            f"{dataset} has no {', '.join(missing)}; it has {having}: make them ({builds}), or name others with "
            "--pretrain and --targets"
        )


def _images(dataset: str, config: str) -> _Images:
    place = f"{dataset}, {config}"
    _, splits = load_splits(dataset, config)
    if "train" not in splits:
        raise InputError(f"{place} has no split train to learn from; it has {', '.join(splits)}")
    ids = {}
    for split, rows in splits.items():
        if "image_id" not in rows.column_names:
            raise InputError(f"{place}, {split}: no column 'image_id'; columns: {rows.column_names}")
        column = rows.with_format("arrow").select_columns(["image_id"])[:]["image_id"]
        ids[str(split)] = pc.cast(column, pa.string()).to_pylist()
    others = [split for split in ids if split != "train"]
    if not others:
        raise InputError(f"{place} has nothing but a split train; expected one to test on")
    reported = chosen_split(others, None, place)
    return _Images(ids["train"], reported, ids[reported], {image_id for each in ids.values() for image_id in each})


def _features(
    recipe: TrainingSettings, config: "PreTrainedConfig", images: Mapping[str, set[str]]
) -> "dict[str, ImageFeatures | None]":
    """The image features of each config, if the model sees images."""
    folder, model = recipe.features, recipe.model
    if folder is None or not needed(config) & set(IMAGE_INPUTS):
        return dict.fromkeys(images, open_images(folder, config, model))
    if (folder / INDEX).is_file():
        raise InputError(f"--features {folder} is of one config; name the folder that it is in, {folder.parent}")
    where = Path(recipe.dataset).resolve().name if Path(recipe.dataset).is_dir() else recipe.dataset
    found, lacking = {}, []
    for name, image_ids in images.items():
        opened = (open_images(place, config, model) for place in _candidates(folder, where, name))
        found[name], fewest = _fullest(filter(None, opened), image_ids)
        if found[name] is None:
            lacking.append(name)
        elif fewest and not recipe.skip_missing:
            lacking.append(f"{name} ({fewest:,} of {len(image_ids):,} images)")
    if lacking:
        inside = sorted({str(index.parents[1]) for index in folder.glob(f"*/*/{INDEX}")})
        skip = ", or leave questions on images without them out with --skip-missing" if any(found.values()) else ""
        if inside:
            raise InputError(f"--features {folder} is of several kinds; name one, such as {inside[0]}")
        raise InputError(
            f"--features {folder} lacks those of {', '.join(lacking)}; vqa-mc features {recipe.dataset} CONFIG "
            f"--output {folder.parent} makes them{skip}"
        )
    return found


def _fullest(opened: "Iterable[ImageFeatures]", image_ids: set[str]) -> "tuple[ImageFeatures | None, int]":
    """The first features of all images, else of the most, and how many images they lack; None if there are none."""
    best, fewest = None, len(image_ids) + 1
    for images in opened:
        lacking = sum(image_id not in images for image_id in image_ids)
        if lacking < fewest:
            best, fewest = images, lacking
        if not lacking:
            break
    return best, fewest


def _candidates(folder: Path, dataset: str, config: str) -> list[Path]:
    """Where a config's features can be: its own folder, else that of another config of the same source."""
    own, begins = folder / file_name(f"{dataset}-{config}"), file_name(f"{dataset}-")
    source = source_of(config)
    same = [
        place
        for place in sorted(folder.glob(f"{glob.escape(begins)}*"))
        if source is not None and source_of(place.name.removeprefix(begins)) == source and place != own
    ]
    return [place for place in [own, *same] if (place / INDEX).is_file()]
