"""The README.md of a folder that holds a benchmark with other choices."""

import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.dataset.card import dataset_info
from hf_vqa_mc.dataset.inventory import IMAGES

if TYPE_CHECKING:
    from datasets import Features


def folder_card(
    benchmark: Benchmark,
    config: str,
    features: "Features",
    splits: Mapping[str, tuple[int, int]],
    hashes: Mapping[str, str],
    file_bytes: int,
    images: Mapping[str, Any],
    note: str,
) -> str:
    """README.md: what ``load_dataset`` reads, and a few sentences for people.

    Args:
        benchmark: what was read.
        config: the one that is written.
        features: its columns' types.
        splits: name to rows and bytes.
        hashes: file to the sha256 of its content.
        file_bytes: all files together.
        images: configs with images beside it, and what their folder says of them.
        note: a paragraph more; its line breaks are none of the card's.
    """
    from datasets import DatasetInfo, SplitInfo
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    data = DatasetCardData()
    size = sum(num_bytes for _, num_bytes in splits.values())
    named = SplitDict({split: SplitInfo(split, num_bytes, rows) for split, (rows, num_bytes) in splits.items()})
    info = DatasetInfo(
        config_name=config, features=features, splits=named, download_size=file_bytes, dataset_size=size
    )
    infos = {config: info, **{name: dataset_info(name, inventory) for name, inventory in images.items()}}
    DatasetInfosDict(infos).to_dataset_card_data(data)
    # load_dataset keeps what it read under a hash of this, in which the files' own content does not count
    content = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
    files = [{"split": split, "path": f"{config}/{split}-*"} for split in splits]
    loading = {"data_files": files, "description": f"{config}, content {content}", "default": True}
    beside = {name: {"data_files": [{"split": IMAGES, "path": f"{name}/{IMAGES}-*"}]} for name in images}
    MetadataConfigs({config: loading, **beside}).to_dataset_card_data(data)
    name = benchmark.path.name if benchmark.path else benchmark.dataset
    name, told = (re.sub(r"[^\w.,;/ -]", "", text) for text in (name, benchmark.layout.description))
    return (
        f"---\n{data}\n---\n\n# {name}, choices replaced\n\nWritten by hf_vqa_mc from {name} ({config}): {told}. "
        "Everything but the choices and what tells the right one is as it was.\n"
        + (f"\n{html.escape(' '.join(note.split()), quote=False)}\n" if note.strip() else "")
    )
