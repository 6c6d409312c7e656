"""The page of a dataset card, rendered from ``card.md.jinja``: what the folder holds and how it was made."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.inventory import IMAGES, PREFERRED, Inventory, about_sources, canary_of, configs_of, is_open
from hf_vqa_mc.decoys import CHOICE_KINDS, VARIANTS, methods
from hf_vqa_mc.decoys.decoy_table import LeftOut
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.source import OPEN_SPLITS, reference
from hf_vqa_mc.text.counted import counted, percent
from hf_vqa_mc.text.markdown import code, environment, plain

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

Configs = dict[str, dict[str, Any]]

FILTERS = {
    "same_text": "the same text as the target or as a decoy already taken",
    "contains": "one contains the other",
    "wup_target": "has the meaning of the target (WUP)",
    "wup_taken": "has the meaning of a decoy already taken (WUP)",
    "repeats_other_set": "already a decoy of the other set",
}


def card_text(inventory: Inventory) -> str:
    """The whole page of a built folder, in Markdown."""
    sources, configs = inventory["sources"], configs_of(inventory)
    choices, opened = (choice_configs(configs), {name: one for name, one in configs.items() if is_open(one)})
    built = {config["variant"] for config in choices.values()}
    sets = {name for variant in VARIANTS.values() if variant.name in (built or {PREFERRED}) for name in variant.sets}
    return _page(
        card_template(),
        title=title(inventory),
        default=inventory["default"],
        sources=sources,
        choice_configs=choices,
        open_configs=opened,
        image_configs={name: config for name, config in configs.items() if config["variant"] == IMAGES},
        open_splits=[split for split in OPEN_SPLITS if any(split in config["splits"] for config in opened.values())],
        built_variants=[variant for name, variant in VARIANTS.items() if name in built],
        closed=bool(built) and all(VARIANTS[name].closed for name in built if name in VARIANTS),
        described_kinds=dict.fromkeys(kind for name, (kind, _) in methods().items() if name in sets and kind.card),
        config_with_images=_config_with_images(inventory),
        citations=citations(inventory),
        **_hashes(inventory),
    )


def remedied_text(inventory: Inventory) -> str:
    """The page of a folder of ``vqa-mc remedy``: a short text on each config except images."""
    described = {name: one for name, one in inventory["configs"].items() if "text" in one}
    template = environment(Path(__file__).parent).get_template("remedied.md.jinja")
    about = about_sources(inventory)
    return _page(template, title=title(inventory), described=described, about=about, **_hashes(inventory))


def _page(template: "Template", **values: Any) -> str:  # noqa: ANN401  of the template
    return re.sub(r"\n{3,}", "\n\n", template.render(values)).strip("\n") + "\n"


def citations(inventory: Inventory) -> list[str]:
    """BibTeX entries: of the method, if a build made choices by it, and of the sources."""
    method = [reference("chao2018being")] if inventory["sources"] and choice_configs(configs_of(inventory)) else []
    found = dict.fromkeys([*method, *(one["citation"] for one in about_sources(inventory).values())])
    return [one for one in found if one]


def _hashes(inventory: Inventory) -> dict[str, Any]:
    hashed = {name: config for name, config in configs_of(inventory).items() if config.get("row_hashes")}
    return {"hashed": hashed, "canary": canary_of(inventory)}


def card_template() -> "Template":
    """The template of a built folder's page."""
    from jinja2 import StrictUndefined
    from markupsafe import Markup

    made = environment(Path(__file__).parent, undefined=StrictUndefined, keep_trailing_newline=True)
    made.filters.update(
        percent=percent,
        count="{:,}".format,
        decimals=lambda value, digits=2: f"{value:.{digits}f}",
        cell=_cell,
        quoted=lambda text: Markup(json.dumps(text, ensure_ascii=False).replace("```", "` ` `")),
    )
    functions = (
        choice_counts, choices_text, example_json, lacks_images, measured_split, numeric_columns,
        per_set, rejections, set_counts, set_label, shown_config, sorted,
    )  # fmt: skip
    made.globals |= {function.__name__: function for function in functions}
    made.globals |= {
        "filters": FILTERS,
        "kinds": list(CHOICE_KINDS),
        "choices_of": lambda source: choice_configs(dict(sorted(source["configs"].items()))),
        "open_of": lambda source: {name: one for name, one in sorted(source["configs"].items()) if is_open(one)},
    }
    return made.get_template("card.md.jinja")


def choice_configs(configs: Configs) -> Configs:
    """The configs that are multiple-choice."""
    return {name: one for name, one in configs.items() if one.get("variant") != IMAGES and not is_open(one)}


def title(inventory: Inventory) -> str:
    """The card's title."""
    if not inventory["sources"]:
        return "; ".join(dict.fromkeys(one["title"] for one in inventory["configs"].values() if "title" in one))
    titles = ", ".join(entry["about"]["title"] for entry in inventory["sources"].values())
    return f"VQA-MC: {titles}, {'remedied' if choice_configs(configs_of(inventory)) else 'open-ended'}"


def example_json(row: str) -> str:
    """A row of an open-ended config, stored as JSON, with a field per line."""
    fields = ((json.dumps(name), json.dumps(value, ensure_ascii=False)) for name, value in json.loads(row).items())
    return "{\n" + ",\n".join(f" {name}: {value}" for name, value in fields) + "\n}"


def measured_split(statistics: dict[str, Any]) -> str | None:
    """The split whose prior rule the tables show: test, else validation, else train."""
    return next((split for split in reversed(SPLITS) if split in statistics.get("prior_rule", {})), None)


def choices_text(statistics: dict[str, Any]) -> str:
    """Number of choices per row: "7", or "3 to 7"."""
    sizes = list(choice_counts(statistics))
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def choice_counts(statistics: dict[str, Any]) -> dict[int, int]:
    """Rows of all splits by their number of choices, ascending."""
    sizes = Counter[int]()
    for split in statistics["choices_per_row"].values():
        sizes.update({int(size): rows for size, rows in split.items()})
    return dict(sorted(sizes.items()))


def shown_config(source: str, configs: Configs) -> dict[str, Any]:
    """The config whose example is shown: the preferred variant's, else the one with the most choices."""
    longest = max(configs.values(), key=lambda config: len(config["example"]["choices"]))
    return configs.get(f"{source}_{PREFERRED}") or longest


def lacks_images(name: str, source: dict[str, Any]) -> bool:
    """Whether a source was built without its images."""
    embedded = any(config["embedded_images"] for config in choice_configs(source["configs"]).values())
    return f"{name}_{IMAGES}" not in source["configs"] and not embedded


def _config_with_images(inventory: Inventory) -> str | None:
    for name, source in inventory["sources"].items():
        if f"{name}_{IMAGES}" in source["configs"]:
            own = {one: config for one, config in source["configs"].items() if config["variant"] != IMAGES}
            default: str = inventory["default"]
            return default if default in own else min(own, key=lambda one: (is_open(own[one]), one))
    return None


def per_set(configs: Configs, key: str) -> dict[tuple[str, str], Any]:
    """A statistic by (set, config): config "" for the set alone, others where combining it changed the figures."""
    figures: dict[tuple[str, str], Any] = {}
    found = [(config, entry["statistics"].get(key, {})) for config, entry in sorted(configs.items())]
    for config, sets in sorted(found, key=lambda item: len(item[1])):
        for name, value in sets.items():
            if figures.setdefault((name, ""), value) != value:
                figures[name, config] = value
    return figures


def set_label(name: str, config: str = "") -> "Markup":
    """A set of decoys in words, as Markdown."""
    from markupsafe import Markup

    known = methods()
    label = plain(known[name][1].label if name in known else name)
    return Markup(label + (f" in {code(config)}" if config else ""))


def rejections(configs: Configs) -> dict[str, Any]:
    """Candidates rejected by each filter: the labels of sets, and reason to counts; empty if there are none."""
    counted = per_set(configs, "rejected")
    found = {set_label(*which): reasons for which, reasons in counted.items() if sum(reasons.values())}
    reasons = [reason for reason in FILTERS if any(counts.get(reason) for counts in found.values())]
    reasons += sorted({reason for counts in found.values() for reason in counts if reason not in FILTERS})
    by_reason = {reason: [counts.get(reason, 0) for counts in found.values()] for reason in reasons}
    return {"labels": list(found), "counts": by_reason} if found else {}


def set_counts(sets: dict[str, dict[str, int]]) -> str:
    """The number of closed answer sets by kind and size in words.

    >>> set_counts({"same_question": {"2": 1032, "4": 301}})
    '1,032 same-question sets of 2, 301 same-question sets of 4'
    """
    counts = [
        f"{counted(count, kind.replace('_', '-') + ' set')} of {size}"
        for kind, sizes in sets.items()
        for size, count in sizes.items()
    ]
    return ", ".join(counts) or "no sets"


def sets_in_words(splits: dict[str, dict[str, Any]]) -> list[str]:
    """The closed answer sets of each split, and its rows that are left out."""
    lines, reasons = [], {reason.name.lower(): reason.sentence for reason in LeftOut}
    for split, found in splits.items():
        left_out = [f"{rows:,} {reasons[reason]}" for reason, rows in found["left_out"].items() if rows]
        total = sum(found["left_out"].values())
        rest = f" Left out: {total:,} of {found['rows'] + total:,} rows: {'; '.join(left_out)}." if left_out else ""
        lines.append(f"{split}: {counted(found['rows'], 'row')} in {set_counts(found['sets'])}.{rest}")
    return lines


def numeric_columns(table: dict[str, Any]) -> list[bool]:
    """Whether each column of a table of an open-ended config holds numbers only."""
    return [all(not isinstance(row[at], str) for row in table["rows"]) for at in range(len(table["columns"]))]


def _cell(value: str | int | float) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
