"""What a dataset card says of open-ended configs: their columns, an example, and their statistics in small tables."""

import json
from typing import Any

SHOWN_ROWS = 25
"""A table on the card has at most so many rows; all of them are in ``statistics.json``."""
SHOWN_ANSWERS = 10
SHOWN_TABLES = 3


def is_open(config: dict[str, Any]) -> bool:
    """Whether an entry of the inventory is an open-ended config's."""
    return "open_ended" in config


def open_table(configs: dict[str, Any], default: str) -> list[str]:
    """The open-ended configs with their sizes, as the lines of a table; none where there are none."""
    found = {name: config for name, config in configs.items() if is_open(config)}
    if not found:
        return []
    splits = [s for s in ("train", "validation", "test", "challenge") if any(s in c["splits"] for c in found.values())]
    lines = [
        f"| open-ended config | {' | '.join(splits)} | different answers | entropy (bits) |",
        f"|---|{'--:|' * (len(splits) + 2)}",
    ]
    for name, config in found.items():
        rows = [f"{config['splits'][s]['rows']:,}" if s in config["splits"] else "" for s in splits]
        figures = config["statistics"]
        shown = f"`{name}`" + (" (default)" if name == default else "")
        cells = [shown, *rows, f"{figures['answers']['different']:,}", f"{figures['entropy']['overall']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def open_text(configs: dict[str, Any]) -> list[str]:
    """The card's parts about a source's open-ended configs, in Markdown."""
    found = {name: config for name, config in sorted(configs.items()) if is_open(config)}
    parts = []
    for name, config in found.items():
        about, figures = config["open_ended"], config["statistics"]
        parts += [f"### `{name}`", about["description"], _columns(about["columns"]), _example(config["example"])]
        parts += [*_left_out(figures), _answers(figures), *_tables(figures)]
        if about["before"] in found:
            parts.append(_compared(about["before"], found[about["before"]]["statistics"], name, figures))
        if "pairs" in figures:
            parts.append(_pairs(figures))
    return parts


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _columns(columns: list[list[str]]) -> str:
    return "\n".join(["| column | meaning |", "|---|---|", *(f"| {name} | {text} |" for name, text in columns)])


def _example(example: dict[str, str]) -> str:
    row = json.loads(example["row"])
    fields = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in row.items()]
    shown = ",\n".join(fields).replace("```", "` ` `")
    return f"A row of the {example['split']} split:\n\n```json\n{{\n{shown}\n}}\n```"


def _left_out(figures: dict[str, Any]) -> list[str]:
    told = [f"Not read: {plain(name)} ({plain(reason)})." for name, reason in figures["not_read"].items()]
    told += [f"Left out: {rows:,} ({plain(reason)})." for reason, rows in figures["left_out"].items() if rows]
    return [" ".join(told)] if told else []


def _answers(figures: dict[str, Any]) -> str:
    answers, entropy = figures["answers"], figures["entropy"]
    frequent = ", ".join(f"{plain(text)} ({rows:,})" for text, rows in answers["most_frequent"][:SHOWN_ANSWERS])
    means = "; ".join(f"{name} {value:.2f}" for name, value in sorted(entropy.items()) if isinstance(value, float))
    return (
        f"{answers['different']:,} different answers, the most frequent ones {frequent}. Entropy of the answers in "
        f"bits: {means}."
    )


def _tables(figures: dict[str, Any]) -> list[str]:
    parts = []
    for table in figures["tables"][:SHOWN_TABLES]:
        numbers = [
            all(isinstance(row[at], int | float) for row in table["rows"]) for at in range(len(table["columns"]))
        ]
        lines = [
            f"*{table['title']}*",
            "",
            f"| {' | '.join(map(plain, table['columns']))} |",
            f"|{''.join('--:|' if number else '---|' for number in numbers)}",
            *(f"| {' | '.join(map(_cell, row))} |" for row in table["rows"][:SHOWN_ROWS]),
        ]
        more = len(table["rows"]) - SHOWN_ROWS
        parts.append("\n".join([*lines, *(["", f"and {more:,} more in `statistics.json`"] if more > 0 else [])]))
    return parts


def _cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return plain(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _compared(before_name: str, before: dict[str, Any], after_name: str, after: dict[str, Any]) -> str:
    """Before and after balancing, side by side."""

    def row(name: str, one: float, other: float) -> str:
        risen = f"{100 * (other - one) / one:+.0f}%" if one else ""
        return f"| {plain(name)} | {one:.2f} | {other:.2f} | {risen} |"

    lines = [
        f"*Entropy of the answers in bits before (`{before_name}`) and after balancing (`{after_name}`)*",
        "",
        "| | before | after | |",
        "|---|--:|--:|--:|",
    ]
    for name, value in sorted(before["entropy"].items()):
        if isinstance(value, float):
            lines.append(row(name, value, after["entropy"][name]))
    for kind in ("structural type", "semantic type"):
        values, others = (figures["entropy"]["by"].get(kind, {}) for figures in (before, after))
        lines += [row(f"{kind} {name}", values[name], others[name]) for name in sorted(values.keys() & others.keys())]
    return "\n".join(lines)


def _pairs(figures: dict[str, Any]) -> str:
    pairs, entropy = figures["pairs"], figures["entropy"]
    share = pairs["same_answer"] / pairs["all"]
    one, other = (entropy[f"mean of question types, by questions, {when}"] for when in ("before", "after"))
    return (
        f"{pairs['same_answer']:,} of {pairs['all']:,} pairs ({share:.1%}) have the same answer twice. *Before* are "
        "the first questions of the pairs, as listed, *after* all questions of pairs; a question in several pairs "
        "counts in each. The files do not tell which image of a pair was in VQA v1, so this is not the paper's "
        "comparison of all of VQA with all of VQA2. Mean entropy of question types, each by its questions: "
        f"{one:.2f} bits before, {other:.2f} after; of few questions the estimate is too low, before more than after."
    )
