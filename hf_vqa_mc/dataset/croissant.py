"""``croissant.json``: Croissant 1.1 metadata with the fields for responsible AI (RAI 1.0) that conferences ask for.

The Hub makes the core part of a repository with Parquet files, but no RAI fields. All of it is from the inventory,
except for sentences that hold for every folder (``croissant.yaml``). Specifications:
https://docs.mlcommons.org/croissant.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from yaml import safe_load

from hf_vqa_mc.data.inventory import Inventory, about_sources, configs_of, inventory_text
from hf_vqa_mc.dataset.card import HUB_LICENCES, dataset_info
from hf_vqa_mc.dataset.card_text import choice_configs, citations, measured_split, per_set, set_label, title
from hf_vqa_mc.decoys import VARIANTS, methods
from hf_vqa_mc.text.counted import percent

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
