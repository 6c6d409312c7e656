"""README.md of a folder with a benchmark's new choices."""

import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.dataset.card import dataset_info
from hf_vqa_mc.dataset.inventory import IMAGES
from hf_vqa_mc.dataset.shards import WrittenSplit

if TYPE_CHECKING:
    from datasets import Features


def folder_card(
    benchmark: Benchmark,
    config: str,
    features: "Features",
    splits: Mapping[str, WrittenSplit],
    hashes: Mapping[str, str],
    images: Mapping[str, Any],
    note: str,
) -> str:
    """YAML metadata for ``load_dataset``, and a short text.

    Args:
        benchmark: as read.
        config: name of the written config.
        features: types of its columns.
        splits: its splits.
        hashes: sha256 by file.
        images: inventory entries of images configs next to it, by name.
        note: additional paragraph; its line breaks are removed.
    """
    from datasets import DatasetInfo, SplitInfo
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    data = DatasetCardData()
    info = DatasetInfo(
        config_name=config,
        features=features,
        splits=SplitDict({split: SplitInfo(split, one.num_bytes, one.rows) for split, one in splits.items()}),
        download_size=sum(one.file_bytes for one in splits.values()),
        dataset_size=sum(one.num_bytes for one in splits.values()),
    )
    infos = {config: info, **{name: dataset_info(name, entry) for name, entry in images.items()}}
    DatasetInfosDict(infos).to_dataset_card_data(data)
    # load_dataset caches by a hash of this entry, which must therefore depend on the content of the files
    content = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
    files = [{"split": split, "path": f"{config}/{split}-*"} for split in splits]
    loading = {"data_files": files, "description": f"{config}, content {content}", "default": True}
    others = {name: {"data_files": [{"split": IMAGES, "path": f"{name}/{IMAGES}-*"}]} for name in images}
    MetadataConfigs({config: loading, **others}).to_dataset_card_data(data)
    name = benchmark.path.name if benchmark.path else benchmark.dataset
    name, layout = (re.sub(r"[^\w.,;/ -]", "", text) for text in (name, benchmark.layout.description))
    pruned = any(one.rows < benchmark.splits[split].rows.num_rows for split, one in splits.items())
    what = "rows removed" if pruned else "choices replaced"
    rest = "The remaining rows are unchanged." if pruned else "All columns except choices and labels are unchanged."
    origin = f"{name} ({benchmark.config or config})" + (f" as config {config}" if config != benchmark.config else "")
    return f"---\n{data}\n---\n\n# {name}, {what}\n\nWritten by hf_vqa_mc from {origin}: {layout}. {rest}\n" + (
        f"\n{html.escape(' '.join(note.split()), quote=False)}\n" if note.strip() else ""
    )
