"""The inputs of a transfer, checked first: datasets, features, word vectors, checkpoint; images trained and tested on.

Visual Genome numbers images of COCO and Flickr anew; its ``image_data.json`` has their COCO ids (``coco_id``).
"""

import glob
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_vqa_mc.data.dataset_images import image_ids_of
from hf_vqa_mc.data.loading import chosen_split, config_names, load_splits
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS
from hf_vqa_mc.extraction.store import INDEX, ImageFeatures
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.model_listing import MODELS, checkpoint_folder
from hf_vqa_mc.models.checkpoint import WEIGHTS, load_checkpoint
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import PublishedFile, member_names, members_named
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.text.word_vectors import CORPUS, load_word_vectors
from hf_vqa_mc.training.model_inputs import (
    check_same_features,
    made_with,
    named_word_vectors,
    open_images,
    with_word_vectors,
)
from hf_vqa_mc.training.run_folder import config_of
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from hf_vqa_mc.models.processor import VqaMcProcessor


IMAGE_DATA = "image_data.json"
IMAGE_DATA_URL = f"https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/{IMAGE_DATA}.zip"

VISUAL_GENOME, COCO = "Visual Genome", "COCO"  # values of ``Source.image_numbering``

ImageData = Mapping[str, str | None]  # Visual Genome's image_id to the COCO id, None if it is not an image of COCO


class QuestionImages(NamedTuple):
    """The image id of each question of a config's split."""

    config: str
    image_ids: Sequence[str]

    @property
    def numbering(self) -> str | None:
        """The dataset that the image ids are from; None if unknown."""
        source = source_of(self.config)
        return (SOURCES[source].image_numbering or None) if source else None

    def identities(self, image_data: ImageData | None) -> dict[str, set[tuple[str, str]]]:
        """All known ids of each image, as (dataset, id)."""
        coco = image_data if image_data and self.numbering == VISUAL_GENOME else {}
        known = {one: {(self.numbering or self.config, one)} for one in self.image_ids}
        return {one: ids | ({(COCO, found)} if (found := coco.get(one)) else set()) for one, ids in known.items()}


class Inputs(NamedTuple):
    """The inputs of a transfer."""

    recipe: TrainingSettings  # the given recipe, with the model and the word vectors filled in
    features: Mapping[str, Path | None]  # config to the folder of its image features
    splits: Mapping[str, str]  # target to its reported split
    trained: QuestionImages | None  # training split of the pretraining; None if the dataset does not have it
    tested: Mapping[str, QuestionImages]  # target to the images of its reported split
    identity: Mapping[str, Any]  # everything that the results depend on, except the recipes; by name


def check_inputs(recipe: TrainingSettings, targets: Sequence[str], progress: Progress) -> Inputs:
    """Check and open the inputs; arguments and errors are those of `training.transfer.transfer`."""
    available = set(config_names(recipe.dataset))
    wanted = list(dict.fromkeys([*([] if recipe.init_from else [recipe.config]), *targets]))
    if missing := [name for name in wanted if name not in available]:
        sources = sorted({source_of(name) or "SOURCE" for name in missing})
        builds = ", ".join(f"vqa-mc build {source}" for source in sources)
        existing = ", ".join(sorted(name for name in available if not name.endswith("_images")))
        raise InputError(
            f"{recipe.dataset} has no {', '.join(missing)}; it has {existing}: build them ({builds}), or choose "
            "others with --pretrain and --targets"
        )
    recipe, config, processor, identity = _model(recipe)
    images: dict[str, dict[str, list[str]]] = {}  # config to split to the image_id of each question
    splits = {}
    for name in dict.fromkeys([*wanted, *({recipe.config} & available)]):
        progress("checking inputs", len(images), len(wanted) + 1)
        location, (_, tables) = f"{recipe.dataset}, {name}", load_splits(recipe.dataset, name)
        if "train" not in tables or len(tables) == 1:
            fault = "has no split train" if "train" not in tables else "has no other split to test on"
            raise InputError(f"{location} {fault}; it has {', '.join(tables)}")
        images[name] = {str(split): image_ids_of(rows, f"{location}, {split}") for split, rows in tables.items()}
        splits[name] = chosen_split([split for split in images[name] if split != "train"], None, location)
    features = _features(recipe, config, {name: set().union(*images[name].values()) for name in wanted})
    opened = [one for one in features.values() if one]
    if processor is not None:
        for one in opened:
            check_same_features(one, processor, str(recipe.init_from))
    kinds = {one.kind.folder_name: str(one.folder) for one in opened}
    if len(kinds) > 1:
        raise InputError(f"--features {recipe.features}: {' and '.join(kinds.values())} are of different kinds")
    progress("checking inputs", len(wanted) + 1, len(wanted) + 1)
    return Inputs(
        recipe=recipe,
        features={name: one.folder if one else None for name, one in features.items()},
        splits={name: splits[name] for name in targets},
        trained=QuestionImages(recipe.config, images[recipe.config]["train"]) if recipe.config in images else None,
        tested={name: QuestionImages(name, images[name][splits[name]]) for name in targets},
        identity={
            "pretraining config": recipe.config,
            **identity,
            "kind of image features": next(iter(kinds), None),
            "--skip-missing": recipe.skip_missing,
            **{f"build of {name}": made_with(recipe.dataset, name)[1] for name in wanted},
        },
    )


def _model(
    recipe: TrainingSettings,
) -> "tuple[TrainingSettings, PreTrainedConfig, VqaMcProcessor | None, dict[str, Any]]":
    """The recipe with model and word vectors, the model's config, a checkpoint's processor, and their checksums."""
    if recipe.init_from is None:
        config = MODELS.find(recipe.model).config(recipe.model_settings)
        words = named_word_vectors(recipe, f"; those of --word-vectors {CORPUS} know only words of {recipe.config}")
        checksum = words if words == CORPUS else load_word_vectors(words).sha256
        identity = {"file of word vectors": checksum, "checkpoint": None}
        return replace(recipe, word_vectors=words), config, None, identity
    start = f"--init-from {recipe.init_from}"
    trained_on = config_of(recipe.init_from)
    if trained_on not in (None, recipe.config):
        raise InputError(f"--pretrain {recipe.config}: {start} was trained on {trained_on}; remove --pretrain")
    for key in recipe.model_settings:
        raise InputError(f"model setting {key}: {start} has its own; remove it")
    model, processor = load_checkpoint(recipe.init_from)
    declared = model_of(model.config)
    if declared.open_ended:
        raise InputError(f"{start} is an open-ended model; transfer takes multiple-choice models")
    text = with_word_vectors(processor.text, recipe.word_vectors)
    if text.name != CORPUS and recipe.word_vectors is None:
        raise InputError(
            f"{start} was trained with the word vectors {text.name} (sha256 {text.sha256[:12]}), which are needed for "
            "new words: add --word-vectors FILE"
        )
    named = replace(
        recipe,
        word_vectors=recipe.word_vectors or CORPUS,
        model=declared.name,
        model_settings=declared.changed_settings(model.config),
        first_words=processor.word_changes.first_words,
        shuffle_words=processor.word_changes.shuffle_words,
    )
    weights = hashlib.sha256((checkpoint_folder(recipe.init_from) / WEIGHTS).read_bytes()).hexdigest()
    return named, model.config, processor, {"file of word vectors": text.sha256, "checkpoint": weights}


def _features(
    recipe: TrainingSettings, config: "PreTrainedConfig", images: Mapping[str, set[str]]
) -> dict[str, ImageFeatures | None]:
    """The image features of each config, if the model sees images: the most complete of those of its source."""
    folder, model = recipe.features, recipe.model
    if folder is None or model_of(config).inputs.isdisjoint(IMAGE_INPUTS):
        return dict.fromkeys(images, open_images(folder, config, model))
    if (folder / INDEX).is_file():
        raise InputError(f"--features {folder} has features of one config; give its parent folder, {folder.parent}")
    dataset = Path(recipe.dataset).resolve().name if Path(recipe.dataset).is_dir() else recipe.dataset
    start = file_name(f"{dataset}-")
    paths = [path for path in sorted(folder.glob(f"{glob.escape(start)}*")) if (path / INDEX).is_file()]
    found: dict[str, ImageFeatures | None] = {}
    lacking = []
    for name, image_ids in images.items():
        own, source = folder / file_name(f"{dataset}-{name}"), source_of(name)
        of_source = [path for path in paths if source and source_of(path.name.removeprefix(start)) == source]
        opened = [open_images(path, config, model) for path in dict.fromkeys([own, *of_source]) if path in paths]
        lost = [sum(image_id not in one for image_id in image_ids) for one in opened if one]
        fewest = min(lost, default=0)
        found[name] = opened[lost.index(fewest)] if lost else None
        if not lost:
            lacking.append(name)
        elif fewest and not recipe.skip_missing:
            lacking.append(f"{name} ({fewest:,} of {len(image_ids):,} images)")
    if lacking:
        inside = sorted({str(index.parents[1]) for index in folder.glob(f"*/*/{INDEX}")})
        if inside:
            raise InputError(f"--features {folder} has features of several kinds; give one, such as {inside[0]}")
        skip = ", or skip questions without image features with --skip-missing" if any(found.values()) else ""
        raise InputError(
            f"--features {folder} lacks features of {', '.join(lacking)}; run vqa-mc features {recipe.dataset} CONFIG "
            f"--output {folder.parent}{skip}"
        )
    return found


def overlap(
    trained: QuestionImages, tested: QuestionImages, image_data: ImageData | None
) -> tuple[dict[str, int] | None, str]:
    """Count the images of a test split that are also in a training split, with image data by their COCO ids.

    Returns ``images`` and ``questions`` of the test split, ``shared_images``, and ``shared_questions`` on these; None
    if unknown, and the reason why ("" if known).
    """
    numberings = {trained.numbering, tested.numbering}
    if None in numberings and trained.config != tested.config:
        config = trained.config if trained.numbering is None else tested.config
        return None, f"the source of {config}'s image_ids is not known; expected a config name <source>_<variant>"
    if numberings == {VISUAL_GENOME, COCO} and image_data is None:
        return None, f"needs --image-data {IMAGE_DATA}, which maps Visual Genome's images to COCO's ({IMAGE_DATA_URL})"
    distinct, seen = tested.identities(image_data), set[tuple[str, str]]()
    seen = seen.union(*trained.identities(image_data).values())
    shared = {image_id for image_id, ids in distinct.items() if not seen.isdisjoint(ids)}
    counts = {
        "images": len(distinct),
        "shared_images": len(shared),
        "questions": len(tested.image_ids),
        "shared_questions": sum(image_id in shared for image_id in tested.image_ids),
    }
    return counts, ""


def unlisted(trained: QuestionImages, image_data: ImageData) -> int:
    """Number of Visual Genome's training images that are not in the image data."""
    return len(set(trained.image_ids).difference(image_data)) if trained.numbering == VISUAL_GENOME else 0


def read_image_data(path: Path) -> dict[str, str | None]:
    """Read Visual Genome's ``image_data.json``, plain or compressed, or the published zip file."""
    if not path.is_file():
        raise InputError(f"--image-data {path}: no such file; {IMAGE_DATA} is in {IMAGE_DATA_URL}")
    member = None
    if path.suffix == ".zip":
        members = members_named(member_names(path), IMAGE_DATA)
        if not members:
            raise InputError(f"--image-data {path} has no {IMAGE_DATA}; it is in {IMAGE_DATA_URL}")
        member = members[0]
    found: dict[str, str | None] = {}
    for records in read_records(PublishedFile(IMAGE_DATA, path, member)):
        first = records.rows[0]
        of_first_release = isinstance(first, dict) and "image_id" not in first and "id" in first
        names = records.ids("id" if of_first_release else "image_id")
        for index, (name, coco_id) in enumerate(zip(names, records.column("coco_id"), strict=True)):
            if coco_id is not None and type(coco_id) is not int:
                raise records.unexpected(index, "coco_id", "a whole number or null", coco_id)
            found[name] = None if coco_id is None else str(coco_id)
    return found
