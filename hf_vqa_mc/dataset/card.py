"""``README.md`` of a dataset folder: YAML metadata for ``datasets`` and the Hub, then the page of `card_text`."""

import bisect
import hashlib
import json
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.inventory import IMAGES, Inventory, about_sources, configs_of, inventory_text, is_open
from hf_vqa_mc.dataset.card_text import (
    card_text,
    choice_configs,
    title,
)
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.schema import MULTIPLE_CHOICE
from hf_vqa_mc.sources.source import OPEN_SPLITS

if TYPE_CHECKING:
    from datasets import Features


def multiple_choice_features() -> "Features":
    """The columns of every ``<source>_<variant>`` config."""
    import datasets

    List = getattr(datasets, "List", datasets.Sequence)  # datasets 3 has only Sequence
    features = datasets.Features.from_arrow_schema(MULTIPLE_CHOICE)
    return datasets.Features({**features, "choice_kinds": List(datasets.ClassLabel(names=list(CHOICE_KINDS)))})


def config_features(config: dict[str, Any]) -> "Features":
    """The columns of a config of the inventory; of a new one with ``variant`` and ``embedded_images`` only."""
    from datasets import Features, Image, Value

    if "features" in config or is_open(config):
        return Features.from_dict(json.loads(config.get("open_ended", config)["features"]))
    if config["variant"] == IMAGES:
        return Features({"image_id": Value("string"), "image": Image()})
    image = {"image": Image()} if config["embedded_images"] else {}
    return Features({**multiple_choice_features(), **image})


CARD = "README.md"
HUB_LICENCES = {
    "apache-2.0", "bsd-3-clause", "cc0-1.0", "cc-by-2.0", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "mit", "pddl",
}  # fmt: skip
"""The Hub's licence identifiers that sources may have; the Hub rejects unknown ones."""

_SIZES = [10**power for power in range(3, 10)]
_SIZE_NAMES = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B"]


def card(inventory: Inventory) -> str:
    """The whole card; it does not depend on the order of keys, which `write_inventory` sorts."""
    inventory = json.loads(inventory_text(inventory))
    return f"---\n{card_metadata(inventory)}\n---\n\n{card_text(inventory)}"


def card_metadata(inventory: Inventory) -> str:
    """The card's metadata as YAML: what the Hub lists, and features, splits and files in the form of ``datasets``."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    configs = configs_of(inventory)
    choices = ["multiple-choice"] if choice_configs(configs) else []
    about = about_sources(inventory)
    names = [one["licence"].lower() for one in about.values()]
    licences = sorted({name if name in HUB_LICENCES else "other" for name in names})
    largest = max(sum(split["rows"] for split in config["splits"].values()) for config in configs.values())
    data = DatasetCardData(
        language=["en"] if about else None,  # of all sources
        license=licences[0] if len(licences) == 1 else licences or None,
        pretty_name=title(inventory),
        task_categories=["visual-question-answering", *choices],
        size_categories=[_SIZE_NAMES[bisect.bisect_right(_SIZES, largest)]],
        tags=list(dict.fromkeys(["vqa", *choices, "hf_vqa_mc", *about])),
    )
    DatasetInfosDict({name: dataset_info(name, config) for name, config in configs.items()}).to_dataset_card_data(data)
    MetadataConfigs(
        {name: loading(name, config, inventory["default"]) for name, config in configs.items()}
    ).to_dataset_card_data(data)
    return str(data)


def dataset_info(name: str, config: dict[str, Any]) -> Any:  # noqa: ANN401  datasets is imported late
    """The ``datasets.DatasetInfo`` of a config."""
    from datasets import DatasetInfo, SplitInfo
    from datasets.splits import SplitDict

    splits = {split: SplitInfo(split, s["num_bytes"], s["rows"]) for split, s in _ordered(config["splits"])}
    return DatasetInfo(
        config_name=name,
        features=config_features(config),
        splits=SplitDict(splits),
        download_size=config["file_bytes"],
        dataset_size=sum(split.num_bytes for split in splits.values()),
    )


def loading(name: str, config: dict[str, Any], default: str) -> dict[str, Any]:
    """The ``configs`` entry of a config, with a hash of its content in the description.

    ``load_dataset`` caches by a hash of this entry, without the content of the files; with the content's hash in it, a
    rebuilt folder of equal size is not loaded from the cache of the old one.
    """
    hashes = "\n".join(f"{file} {sha256}" for file, sha256 in sorted(config["files"].items()))
    content = hashlib.sha256(hashes.encode()).hexdigest()
    files = [{"split": split, "path": f"{name}/{split}-*"} for split, _ in _ordered(config["splits"])]
    entry: dict[str, Any] = {"data_files": files, "description": f"{name}, content {content}"}
    return {**entry, "default": True} if name == default else entry


def _ordered(splits: dict[str, Any]) -> list[tuple[str, Any]]:
    """In the usual order; ``val`` and other names next to ``validation``."""
    order = {name: index for index, name in enumerate((*OPEN_SPLITS, IMAGES))}
    return sorted(splits.items(), key=lambda split: order.get(split[0], order["validation"]))
