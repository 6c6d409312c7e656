"""The report of an audit, or of the audits before and after a remedy: one self-contained HTML file."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.audits.shortcut import Sees
from hf_vqa_mc.report.examples import ORIGIN, TYPE, Example, kind_legends
from hf_vqa_mc.report.figures import (
    SQUARE,
    Sides,
    ambiguous_decoys,
    calibration,
    chart,
    histogram,
    matched,
    per_type,
    strongest,
    tiles,
)
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, plain, shown_name
from hf_vqa_mc.report.thumbnails import picture_values

TEXTS_SHOWN = 10
"""Rows of a table of predictive texts that are not collapsed."""
TEXT = 80
"""Maximum number of characters of a word or a choice."""


def report_html(
    before: Mapping[str, Any],
    examples: Sequence[Example],
    after: Mapping[str, Any] | None = None,
    after_examples: Sequence[Example] = (),
    remedy: str = "",
) -> str:
    """The report of an audit, or of the audits before and after a remedy.

    The page is self-contained and runs only its own script, even if texts of the benchmark are malicious. Sections
    without figures are omitted. The result is deterministic.

    Args:
        before: the output of `vqa-mc audit --json`.
        examples: example questions with their images; some dozens, since images are embedded.
        after: the same for the remedied benchmark.
        after_examples: example questions of the remedied benchmark.
        remedy: command that replaces the decoys, shown at the end if not empty.
    """
    sides = {"before": before} | ({} if after is None else {"after": after})
    shown = _gallery(examples, after_examples)
    values = {**report_values(sides), "has_examples": bool(shown["examples"]), "remedy": remedy}
    return rendered("report.html.jinja", values, "report.js", shown)


def report_values(sides: Sides) -> dict[str, Any]:
    """The values of the report's template."""
    before = sides["before"]
    texts = {
        name: {side: plain(audit[name], most) for side, audit in sides.items() if audit.get(name)}
        for name, most in (("read_as", 600), ("caveat", 600), ("verdict", 1000))
    }
    return {
        "title": plain(shown_name(before.get("dataset") or ""), 120) or "benchmark",
        "config": plain(before.get("config"), 80),
        "split": plain(before.get("split"), 40),
        "version": plain(before.get("version"), 40),
        "facts": _facts(sides),
        "read_as": list(dict.fromkeys(texts["read_as"].values())),
        "sides": list(sides),
        "verdicts": [{"side": side, "text": text} for side, text in texts["verdict"].items()],
        "caveats": list(dict.fromkeys(texts["caveat"].values())),
        "headlines": [headline for side, found in sides.items() if (headline := _headline(side, found))],
        "tiles": tiles(sides),
        "chart": chart(sides),
        "types": per_type(sides),
        "findings": _findings(sides),
        "ambiguous": ambiguous_decoys(sides),
        "predictive_texts": _predictive_texts(sides),
        "calibration": calibration(sides),
        "histogram": histogram(sides),
        "square": SQUARE,
        "not_run": _not_run(sides),
    }


def _headline(side: str, found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The accuracy of the strongest shortcut, and its missing inputs."""
    best = strongest(found.get("shortcuts") or ())
    if best is None:
        return None
    without, chance = Sees[best["inputs"].upper()].without, found["chance"]
    if found["images"] == 0:
        without = "without the question" if best["inputs"] == Sees.CHOICES else "by a shortcut"
    return {
        "side": side,
        "name": plain(best["name"], 120),
        "sentence": plain(best["sentence"], 400),
        "without": without,
        "accuracy": best["accuracy"],
        "gain": best["gain"],
        "row": best,
        "chance": chance,
        "alarm": best["alarm"],
        "start": f"{100 * min(chance, best['accuracy']):.2f}%",
        "width": f"{100 * abs(best['accuracy'] - chance):.2f}%",
        "chance_at": f"{100 * chance:.2f}%",
    }


def _facts(sides: Sides) -> list[dict[str, str]]:
    """Key figures of the audited benchmark; both values if a remedy changed them."""
    texts_of: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "questions": lambda found: count(found.get("rows")),
        "images": lambda found: count(found["images"]) if found.get("images") else "none",
        "choices per question": lambda found: " to ".join(
            dict.fromkeys(str(end(found["choices"])) for end in (min, max) if found.get("choices"))
        ),
        "chance": lambda found: f"{100 * found['chance']:.1f}%" if "chance" in found else "",
        "probes trained on": lambda found: plain(found.get("train_source"), 60),
    }
    facts = []
    for name, text_of in texts_of.items():
        texts = list(dict.fromkeys(text for found in sides.values() if (text := text_of(found))))
        if texts:
            facts.append({"name": name, "text": " \u2192 ".join(texts)})
    return facts


def _findings(sides: Sides) -> list[dict[str, Any]]:
    """One row per finding, with the figures before and after."""
    lines = []
    for name, rows in matched(sides, "findings").items():
        first = next(filter(None, rows.values()))
        cells = [
            row
            and {
                "share": row["share"],
                "count": f"{count(row['count'])} of {count(row['total'])} {plain(row['unit'])}",
            }
            for row in rows.values()
        ]
        lines.append(
            {
                "name": plain(name, 120),
                "sentence": plain(first["sentence"], 600),
                "cells": cells,
                "ids": [plain(one, 60) for one in first["question_ids"]],
                "quiet": not any(cell and cell["share"] for cell in cells),
            }
        )
    return lines


def _predictive_texts(sides: Sides) -> list[dict[str, Any]]:
    """The tables of predictive words and choices; choices are omitted if they are the same as the words."""
    found = []
    for side, audit in sides.items():
        given = audit.get("predictive_texts") or {"words": (), "choices": ()}
        words = {row["text"] for row in given["words"]}
        for what in ("words", "choices"):
            rows = given[what]
            if rows and not (what == "choices" and {row["text"] for row in rows} == words):
                tables = [
                    {"predicts": predicts, "shown": texts[:TEXTS_SHOWN], "rest": texts[TEXTS_SHOWN:]}
                    for predicts, sign in (("target", 1), ("decoy", -1))
                    if (texts := _of_direction(rows, sign))
                ]
                found.append({"side": side, "what": what, "tables": tables})
    return found


def _of_direction(rows: Sequence[Mapping[str, Any]], sign: int) -> list[dict[str, Any]]:
    """Texts that predict the target (sign 1) or a decoy (-1), most significant first."""
    chosen = sorted((row for row in rows if sign * row["z"] > 0), key=lambda row: -sign * row["z"])
    return [
        {
            "text": plain(row["text"], TEXT) or "(no text)",
            "presented": row["presented"],
            "correct": row["target"] / row["presented"],
            "expected": row["expected"] / row["presented"],
            "z": f"{row['z']:+.1f}".replace("-", "\u2212"),
        }
        for row in chosen
    ]


def _not_run(sides: Sides) -> list[dict[str, str]]:
    """Probes that were not run and splits that were skipped, with the reasons; each once."""
    reasons: dict[tuple[str, str], None] = {}
    for audit in sides.values():
        probes = [(plain(row["name"], 120), row["reason"]) for row in audit.get("not_run") or ()]
        splits = [(f"split {plain(name, 60)}", reason) for name, reason in (audit.get("skipped_splits") or {}).items()]
        reasons |= {(name, plain(reason, 400)): None for name, reason in probes + splits}
    return [{"name": name, "reason": reason} for name, reason in reasons]


def _gallery(examples: Sequence[Example], after: Sequence[Example]) -> dict[str, Any]:
    """The questions for the report's script; a question of both sides (same id and text) is one entry."""
    later = {(example.question_id, example.question): example for example in after}
    pairs = [(example, later.pop((example.question_id, example.question), None)) for example in examples]
    shown = [_card(one) | {"before": _choices(one), "after": other and _choices(other)} for one, other in pairs]
    shown += [_card(one) | {"before": None, "after": _choices(one)} for one in later.values()]
    return {"examples": shown, "sides": 2 if after else 1, "kinds": kind_legends()}


def _card(example: Example) -> dict[str, Any]:
    return {
        "id": plain(example.question_id, TYPE),
        "question": plain(example.question),
        "type": plain(example.question_type, TYPE),
        **picture_values(example.image),
        "note": plain(example.note, ORIGIN),
    }


def _choices(example: Example) -> dict[str, Any]:
    return {
        "bias": round(example.bias, 4) if example.bias is not None and isfinite(example.bias) else None,
        "outcome": "" if example.picked is None else "correct" if example.picked == example.label else "wrong",
        "choices": [example.choice(index) for index in range(len(example.choices))],
    }
