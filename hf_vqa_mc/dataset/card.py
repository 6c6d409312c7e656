"""``README.md`` of a dataset folder: the YAML that ``datasets`` and the Hub read, and the page that people read."""

import bisect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_vqa_mc.dataset.card_open_ended import is_open
from hf_vqa_mc.dataset.card_text import card_text, has_choices, title
from hf_vqa_mc.dataset.features import embedded_features, image_features, multiple_choice_features
from hf_vqa_mc.dataset.inventory import IMAGES, Inventory, configs_of
from hf_vqa_mc.sources.source import OPEN_SPLITS

CARD = "README.md"
HUB_LICENCES = {
    "apache-2.0", "bsd-3-clause", "cc0-1.0", "cc-by-2.0", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "mit", "pddl",
}  # fmt: skip
"""Those of the Hub's names for licences that sources of ours may have; the Hub refuses unknown ones."""

_SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
_SIZE_NAMES = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M"]


def write_card(folder: Path, inventory: Inventory) -> None:
    """Write the card of a folder that holds what the inventory says."""
    (folder / CARD).write_text(card(inventory), "utf-8")


def card(inventory: Inventory) -> str:
    """The whole card."""
    return f"---\n{card_yaml(inventory)}\n---\n\n{card_text(inventory)}"


def card_yaml(inventory: Inventory) -> str:
    """The card's metadata: configs and their features, splits and files, in the form ``datasets`` gives them."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    configs = configs_of(inventory)
    choices = ["multiple-choice"] if has_choices(inventory) else []
    data = DatasetCardData(
        language=["en"],
        license=_licences(entry["about"]["licence"] for entry in inventory["sources"].values()),
        pretty_name=title(inventory),
        task_categories=["visual-question-answering", *choices],
        size_categories=[_size(configs)],
        tags=["vqa", *choices, "hf_vqa_mc", *sorted(inventory["sources"])],
    )
    DatasetInfosDict({name: dataset_info(name, config) for name, config in configs.items()}).to_dataset_card_data(data)
    MetadataConfigs(
        {name: _loading(name, config, inventory["default"]) for name, config in configs.items()}
    ).to_dataset_card_data(data)
    return str(data)


def dataset_info(name: str, config: dict[str, Any]) -> Any:  # noqa: ANN401  datasets is imported late
    """A ``datasets.DatasetInfo`` for the card."""
    from datasets import DatasetInfo, Features, SplitInfo
    from datasets.splits import SplitDict

    if is_open(config):
        features = Features.from_dict(json.loads(config["open_ended"]["features"]))
    elif config["variant"] == IMAGES:
        features = image_features()
    elif config["embedded_images"]:
        features = embedded_features()
    else:
        features = multiple_choice_features()
    splits = {split: SplitInfo(split, s["num_bytes"], s["rows"]) for split, s in _ordered(config["splits"])}
    return DatasetInfo(
        config_name=name,
        features=features,
        splits=SplitDict(splits),
        download_size=config["file_bytes"],
        dataset_size=sum(split.num_bytes for split in splits.values()),
    )


def _loading(name: str, config: dict[str, Any], default: str) -> dict[str, Any]:
    """How ``load_dataset`` reads a config.

    It keeps what it read under a hash of this, in which the files' own content does not count; without the content's
    hash in the description a rebuilt folder of equal size would be answered from the cache of the old one.
    """
    content = _content_hash(config["files"])
    files = [{"split": split, "path": f"{name}/{split}-*"} for split, _ in _ordered(config["splits"])]
    loading: dict[str, Any] = {"data_files": files, "description": f"{name}, content {content}"}
    return {**loading, "default": True} if name == default else loading


def _content_hash(files: dict[str, str]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(f"{name} {sha256}" for name, sha256 in sorted(files.items())).encode()).hexdigest()


def _ordered(splits: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(splits.items(), key=lambda split: (*OPEN_SPLITS, IMAGES).index(split[0]))


def _licences(names: Iterable[str]) -> list[str] | str:
    known = sorted({name.lower() if name.lower() in HUB_LICENCES else "other" for name in names})
    return known[0] if len(known) == 1 else known


def _size(configs: dict[str, Any]) -> str:
    """The Hub's name for how large the largest config is."""
    rows = max(sum(split["rows"] for split in config["splits"].values()) for config in configs.values())
    return _SIZE_NAMES[bisect.bisect_right(_SIZES, rows)]
