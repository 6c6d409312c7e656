"""``README.md`` of a dataset folder: YAML metadata for ``datasets`` and the Hub, then the page of `card_text`.

And ``croissant.json``: Croissant 1.1 metadata with the fields for responsible AI (RAI 1.0) that conferences ask for.
The Hub makes the core part of a repository with Parquet files, but no RAI fields. All of it is from the inventory,
except for sentences that hold for every folder (``croissant.yaml``). Specifications:
https://docs.mlcommons.org/croissant.
"""

import bisect
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from yaml import safe_load

from hf_vqa_mc.data.inventory import IMAGES, Inventory, about_sources, configs_of, inventory_text, is_open
from hf_vqa_mc.dataset.card_text import (
    card_text,
    choice_configs,
    citations,
    measured_split,
    per_set,
    set_label,
    title,
)
from hf_vqa_mc.decoys import CHOICE_KINDS, VARIANTS, methods
from hf_vqa_mc.schema import MULTIPLE_CHOICE
from hf_vqa_mc.sources.source import OPEN_SPLITS
from hf_vqa_mc.text.counted import percent

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


CROISSANT = "croissant.json"
FORMATS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_NO_HASH = "https://github.com/mlcommons/croissant/issues/80"
"""Stands for the sha256 of a git repository, as on the Hub."""
_SPLIT = r"^.*/(.+?)-\d+-of-\d+\.parquet$"
_LISTS = ("List", "LargeList", "Sequence")
_FIXED = safe_load(Path(__file__).with_name("croissant.yaml").read_text("utf-8"))


def croissant(
    inventory: Inventory,
    address: str | None = None,
    release: tuple[str, str] | None = None,
    creators: Sequence[str] = (),
) -> str:
    """The content of ``croissant.json``; without an address on the Hub, files are relative to its folder.

    ``release`` is a version and its date (YYYY-MM-DD).
    """
    version, date = release or (None, None)
    inventory = json.loads(inventory_text(inventory))
    about = about_sources(inventory)
    names = dict.fromkeys(one["licence"] for one in about.values())
    licences = [f"https://spdx.org/licenses/{one}.html" if one.lower() in HUB_LICENCES else one for one in names]
    versions = {name: source["made_with"]["version"] for name, source in inventory["sources"].items()}
    made_by = [f"vqa-mc build {name}, hf_vqa_mc {one}; settings in statistics.json" for name, one in versions.items()]
    made_by += ["vqa-mc remedy"] if inventory.get("configs") else []
    found: dict[str, Any] = {
        "@context": _FIXED["context"],
        "@type": "sc:Dataset",
        "name": title(inventory),
        "description": " ".join(_descriptions(inventory)),
        "conformsTo": FORMATS,
        "url": address,
        "version": version,
        "datePublished": date,
        "creator": [{"@type": "sc:Person", "name": one} for one in dict.fromkeys(creators)],
        "license": licences[0] if len(licences) == 1 else licences,
        "citeAs": "\n\n".join(citations(inventory)),
        "keywords": ["visual question answering", "hf_vqa_mc", *about],
        "isLiveDataset": False,
        **{f"rai:{name}": text for name, text in _responsible_ai(inventory).items()},
        "prov:wasDerivedFrom": [{"@id": one} for one in _origins(inventory)],
        "prov:wasGeneratedBy": [{"@type": "prov:Activity", "prov:label": one} for one in made_by],
        "distribution": list(_distribution(inventory, address)),
        "recordSet": [_records(name, config) for name, config in configs_of(inventory).items()],
    }
    known = {name: value for name, value in found.items() if value not in (None, "", [])}
    return json.dumps(known, indent=1, ensure_ascii=False) + "\n"


def _descriptions(inventory: Inventory) -> Iterator[str]:
    for source in inventory["sources"].values():
        yield f"{source['about']['title']}: {source['about']['description']}"
    for config in inventory.get("configs", {}).values():
        yield from (config[name] for name in ("text", "note") if config.get(name))


def _responsible_ai(inventory: Inventory) -> dict[str, Any]:
    fixed: dict[str, str] = _FIXED["rai"]
    choices = choice_configs(configs_of(inventory))
    built = {name: config for name, config in choices.items() if "statistics" in config}
    kinds = {name: VARIANTS.get(config["variant"]) for name, config in built.items()}
    variants = {name: variant for name, variant in kinds.items() if variant}
    decoys = [f"{name}: the target and {variant.description}." for name, variant in variants.items()]
    sets = {name for variant in variants.values() for name in variant.sets}
    cards = dict.fromkeys(kind.card for name, (kind, _) in methods().items() if name in sets)
    decoys += [" ".join(card.replace("*", "").split()) for card in cards if card]
    figures = []
    for (kind, where), found in per_set(built, "fallbacks").items():
        if found["fallback"]:
            share = percent(found["fallback"] / found["choices"])
            figures.append(f"{set_label(kind)} decoys{where and f' of {where}'}: {share} are random fallbacks.")
    for name, config in built.items():
        prior = config["statistics"]["prior_rule"].get(measured_split(config["statistics"]))
        if prior:
            accuracy, chance = percent(prior["accuracy"]), percent(prior["chance"])
            figures.append(f"{name}: the answer prior of the training split reaches {accuracy} (chance {chance}).")
    figures += [f"{name}: {config['measured']}" for name, config in choices.items() if config.get("measured")]
    synthetic = [one.get("synthetic") for one in about_sources(inventory).values()]
    return {
        "dataCollection": " ".join([*_descriptions(inventory), *filter(None, synthetic), *decoys]),
        **fixed,
        "dataBiases": " ".join([fixed["dataBiases"], *figures]),
        "hasSyntheticData": any(synthetic) if synthetic and None not in synthetic else None,
    }


def _origins(inventory: Inventory) -> list[str]:
    remedied = [str(config.get("dataset")).partition("@")[0] for config in inventory.get("configs", {}).values()]
    on_hub = [f"https://huggingface.co/datasets/{quote(name)}" for name in remedied if name.count("/") == 1]
    homepages = [one["homepage"] for one in about_sources(inventory).values() if one["homepage"]]
    return list(dict.fromkeys([*homepages, *on_hub]))


def _distribution(inventory: Inventory, address: str | None) -> Iterator[dict[str, Any]]:
    if address:
        repository = {"@type": "cr:FileObject", "@id": "repo", "name": "repo", "contentUrl": address}
        yield {**repository, "encodingFormat": "git+https", "sha256": _NO_HASH}
    inside = {"containedIn": {"@id": "repo"}} if address else {}
    for name in configs_of(inventory):
        about = {"@type": "cr:FileSet", "@id": _files(name), "name": _files(name), **inside}
        yield {**about, "encodingFormat": "application/x-parquet", "includes": f"{name}/*.parquet"}


def _records(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """The rows of a config: a field per column, and their split."""
    columns = dataset_info(name, config).features.to_dict()
    fields = {column: _field(name, column, feature) for column, feature in columns.items()}
    if "split" not in columns:
        source = {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": _SPLIT}}
        fields["split"] = _described(name, "split", "sc:Text", source)
    others = ", ".join(column for column, field in fields.items() if field is None)
    rows = ", ".join(f"{split['rows']} rows of {one}" for one, split in config["splits"].items())
    about = {"@type": "cr:RecordSet", "@id": quote(name, ""), "name": name}
    about["description"] = rows + (f". Columns without a type in Croissant: {others}" if others else "")
    return {**about, "field": [field for field in fields.values() if field is not None]}


def _field(config: str, column: str, feature: Any) -> dict[str, Any] | None:  # noqa: ANN401  as stored by datasets
    """A column; None if Croissant has no such type."""
    nested = 0
    while isinstance(feature, list) or feature.get("_type") in _LISTS:
        feature, nested = feature[0] if isinstance(feature, list) else feature["feature"], nested + 1
    kind = feature.get("_type")
    dtype = _FIXED["types"].get(str(feature.get("dtype") if kind == "Value" else kind))
    if dtype is None or (kind == "Image" and nested):
        return None
    source: dict[str, Any] = {"extract": {"column": column}}
    source |= {"transform": {"jsonPath": "bytes"}} if kind == "Image" else {}
    shape = {"isArray": True, "arrayShape": ",".join(["-1"] * nested)} if nested else {}
    names = {"description": ", ".join(f"{n}: {one}" for n, one in enumerate(feature.get("names") or ()))}
    return _described(config, column, dtype, source) | shape | (names if kind == "ClassLabel" else {})


def _described(config: str, column: str, dtype: str, source: dict[str, Any]) -> dict[str, Any]:
    where = {"fileSet": {"@id": _files(config)}}
    about = {"@type": "cr:Field", "@id": f"{quote(config, '')}/{quote(column, '')}", "name": column}
    return {**about, "dataType": dtype, "source": {**where, **source}}


def _files(config: str) -> str:
    return f"files-of-{quote(config, '')}"
