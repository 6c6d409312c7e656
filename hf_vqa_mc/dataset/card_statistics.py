"""The statistics of a source's variants, in sentences."""

from typing import Any

from hf_vqa_mc.decoys import methods

FILTERS = {
    "same_text": "the same text as the target or as a decoy already taken",
    "contains": "one contains the other",
    "wup_target": "means what the target means (WUP)",
    "wup_taken": "means what a decoy already taken means (WUP)",
    "repeats_other_set": "already a decoy of the other set",
}

MOSTLY = 0.5
"""From this share of fall-backs on a set measures the fall-back more than its own principle."""


def statistics_text(configs: dict[str, Any]) -> str:
    """What the statistics of a source's configs say, in Markdown.

    Args:
        configs: config name to its entry in the inventory, without images.
    """
    found = {name: config["statistics"] for name, config in sorted(configs.items())}
    parts = [
        *_fallbacks(found),
        *_fewer_choices(found),
        *_turned_away(found),
        *_repeated(found),
        *_neutrality(found),
        *_coverage(found),
    ]
    return "\n\n".join(parts)


def _per_set(found: dict[str, Any], key: str) -> dict[tuple[str, str], Any]:
    """The figures of each set on its own, and those that differ as it must differ from the other sets of a config.

    Returns:
        (set, config) to figures; the config is "" for a set on its own.
    """
    figures: dict[tuple[str, str], Any] = {}
    for config, statistics in sorted(found.items(), key=lambda item: len(item[1].get(key, {}))):
        for name, value in statistics.get(key, {}).items():
            if figures.setdefault((name, ""), value) != value:
                figures[name, config] = value
    return figures


def _label(name: str, config: str = "") -> str:
    known = methods()
    return (known[name][1].label if name in known else name) + (f" in `{config}`" if config else "")


def _fallbacks(found: dict[str, Any]) -> list[str]:
    sentences = []
    for (name, config), figures in _per_set(found, "fallbacks").items():
        kind, called = _label(name), _label(name, config)
        choices, fallback, missing = (figures[key] for key in ("choices", "fallback", "missing"))
        if not fallback and not missing:
            sentences.append(f"**{called}**: there is a decoy of this kind in each of the {choices:,} places.")
            continue
        share = fallback / choices if choices else 0.0
        why = ", ".join(f"{reason}: {count:,}" for reason, count in figures["why"].items() if count)
        text = (
            f"**{called}**: of {choices:,} decoys, {fallback:,} ({share:.1%}) are fall-backs, random answers that "
            f"stand in where no {kind} decoy was left" + (f" ({why})." if why else ".")
        )
        if missing:
            text += f" {missing:,} are missing altogether."
        if share >= MOSTLY:
            text += f" **So what is measured with these {kind} decoys alone is mostly the fall-back.**"
        sentences.append(text)
    return sentences


def _fewer_choices(found: dict[str, Any]) -> list[str]:
    sentences = []
    for name, statistics in found.items():
        sizes: dict[int, int] = {}
        for split in statistics["choices_per_row"].values():
            for size, rows in split.items():
                sizes[int(size)] = sizes.get(int(size), 0) + rows
        full = max(sizes)
        fewer = sum(rows for size, rows in sizes.items() if size < full)
        if fewer:
            listed = ", ".join(f"{rows:,} with {size}" for size, rows in sorted(sizes.items()))
            sentences.append(f"`{name}`: {fewer:,} rows have fewer than {full} choices ({listed}).")
    return sentences


def _turned_away(found: dict[str, Any]) -> list[str]:
    counted = _per_set(found, "turned_away")
    figures = {_label(*which): reasons for which, reasons in counted.items() if sum(reasons.values())}
    if not figures:
        return []
    reasons = [reason for reason in FILTERS if any(figures[name].get(reason) for name in figures)]
    reasons += sorted({reason for counts in figures.values() for reason in counts if reason not in FILTERS})
    lines = [
        "How many candidates the filters turned away:",
        "",
        f"| | {' | '.join(figures)} |",
        f"|---|{'--:|' * len(figures)}",
        *(
            f"| {FILTERS.get(reason, reason)} | {' | '.join(f'{figures[n].get(reason, 0):,}' for n in figures)} |"
            for reason in reasons
        ),
    ]
    return ["\n".join(lines)]


def _repeated(found: dict[str, Any]) -> list[str]:
    sentences = []
    for name, statistics in found.items():
        figures = statistics.get("repeated_across_sets", {})
        if figures.get("rows"):
            sentences.append(
                f"`{name}`: in {figures['rows']:,} rows the sets made on their own shared a text "
                f"({figures['texts']:,} texts); {figures['replaced']:,} of them were replaced by the later set's next "
                "candidate, else by a fall-back."
            )
    return sentences


def _neutrality(found: dict[str, Any]) -> list[str]:
    lines = [
        f"| `{name}` | {figures['unique_targets']:,} | {figures['as_target_mean']:.1f} | "
        f"{figures['as_decoy_mean']:.1f} | {figures['as_decoy_chance']:.1f} | {figures['never_a_decoy']:,} | "
        f"{figures['distance']:.2f} |"
        for name, figures in ((name, s["neutrality"]) for name, s in found.items() if s.get("neutrality"))
    ]
    if not lines:
        return []
    head = [
        "Neutrality, in the training split: how often each of the different correct answers is correct and how often "
        "it is a decoy, on average, and how often it would be a decoy if all decoys were correct answers elsewhere. "
        "The distance is between the shares of all texts among correct answers and among decoys: 0 is neutral, 1 "
        "if no correct answer is ever a decoy.",
        "",
        "| config | correct answers | correct | a decoy | a decoy, if neutral | never a decoy | distance |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    return ["\n".join([*head, *lines])]


def _coverage(found: dict[str, Any]) -> list[str]:
    for statistics in found.values():
        if figures := statistics.get("wordnet_coverage"):
            return [
                f"WordNet knows a word of {figures['share']:.1%} of the correct answers ({figures['covered']:,} of "
                f"{figures['triplets']:,}); of words that it does not know only equal ones count as similar."
            ]
    return []
