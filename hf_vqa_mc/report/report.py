"""The audit's report: one html file that a browser opens from the disk, before and after a remedy side by side."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.audits.shortcut import Sees
from hf_vqa_mc.report.examples import ORIGIN, TYPE, Example, kind_legends
from hf_vqa_mc.report.figures import SQUARE, Sides, calibration, chart, histogram, matched, per_type, strongest, tiles
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, plain, shown_name
from hf_vqa_mc.report.thumbnails import picture_values

TELLING_SHOWN = 10
"""Words at first sight, of those that say "right" and of those that say "wrong"."""
TEXT = 80
"""Characters of a word or a choice."""


def report_html(
    before: Mapping[str, Any],
    examples: Sequence[Example],
    after: Mapping[str, Any] | None = None,
    after_examples: Sequence[Example] = (),
) -> str:
    """The report of an audit, or of one before and one after a remedy.

    The page holds all it needs: it loads nothing from elsewhere and runs no script but its own, whatever text the
    benchmark brings. Sections without figures are left out. The same figures give the same text.

    Args:
        before: what `vqa-mc audit --json` gives.
        examples: questions to page through; some dozens, as each brings its image along.
        after: the same of the remedied benchmark.
        after_examples: questions of the remedied benchmark.
    """
    sides = {"before": before} | ({} if after is None else {"after": after})
    shown = _gallery(examples, after_examples)
    values = {**report_values(sides), "has_examples": bool(shown["examples"])}
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
        "doubtful": _ambiguous_decoys(sides),
        "telling": _telling(sides),
        "calibration": calibration(sides),
        "histogram": histogram(sides),
        "square": SQUARE,
        "not_run": _not_run(sides),
    }


def _headline(side: str, found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The accuracy of the strongest shortcut, and what it lacks."""
    best = strongest(found.get("shortcuts") or ())
    if best is None:
        return None
    without, chance = Sees[best["knows"].upper()].without, found["chance"]
    if found["images"] == 0:
        without = "without the question" if best["knows"] == Sees.CHOICES else "by a shortcut"
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
    """What was audited, in a line of figures; both values where a remedy changed them."""
    texts_of: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "questions": lambda found: count(found.get("rows")),
        "images": lambda found: count(found["images"]) if found.get("images") else "none",
        "choices each": lambda found: " to ".join(
            dict.fromkeys(str(end(found["choices"])) for end in (min, max) if found.get("choices"))
        ),
        "chance": lambda found: f"{100 * found['chance']:.1f}%" if "chance" in found else "",
        "learnt from": lambda found: plain(found.get("learnt_from"), 60),
    }
    facts = []
    for name, text_of in texts_of.items():
        texts = list(dict.fromkeys(text for found in sides.values() if (text := text_of(found))))
        if texts:
            facts.append({"name": name, "text": " \u2192 ".join(texts)})
    return facts


def _findings(sides: Sides) -> list[dict[str, Any]]:
    """The findings, a row each, before and after."""
    lines = []
    for name, rows in matched(sides, "findings").items():
        first = next(filter(None, rows.values()))
        cells = [
            row and {"share": row["share"], "told": f"{count(row['count'])} of {count(row['of'])} {plain(row['per'])}"}
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


def _ambiguous_decoys(sides: Sides) -> dict[str, Any] | None:
    """How many decoys are possibly correct, and why."""
    given = {side: audit["may_be_right"] for side, audit in sides.items() if audit.get("may_be_right")}
    if not given:
        return None
    reasons = dict.fromkeys(reason for found in given.values() for reason in found["reasons"])
    largest = max((share for found in given.values() for share in found["reasons"].values()), default=0) or 1
    return {
        "sides": [
            {"side": side, "share": found["share"], "decoys": count(found["decoys"])} for side, found in given.items()
        ],
        "reasons": [
            {
                "name": plain(reason, 100),
                "cells": [
                    {"side": side, "share": share, "width": f"{100 * (share or 0) / largest:.2f}%"}
                    for side, found in given.items()
                    for share in [found["reasons"].get(reason)]
                ],
            }
            for reason in reasons
        ],
    }


def _telling(sides: Sides) -> list[dict[str, Any]]:
    """The words and choices that give most away; choices are left out where they are the same as the words."""
    found = []
    for side, audit in sides.items():
        given = audit.get("telling") or {"words": (), "choices": ()}
        words = {row["text"] for row in given["words"]}
        for what, title in (("words", "words"), ("choices", "whole choices")):
            rows = given[what]
            if rows and not (what == "choices" and {row["text"] for row in rows} == words):
                lists = [
                    {"says": says, "shown": told[:TELLING_SHOWN], "rest": told[TELLING_SHOWN:]}
                    for says, sign in (("right", 1), ("wrong", -1))
                    if (told := _of_direction(rows, sign))
                ]
                found.append({"side": side, "what": title, "lists": lists})
    return found


def _of_direction(rows: Sequence[Mapping[str, Any]], sign: int) -> list[dict[str, Any]]:
    """Texts of one direction, the most significant first, with how often they are right and would be by chance."""
    chosen = sorted((row for row in rows if sign * row["z"] > 0), key=lambda row: -sign * row["z"])
    return [
        {
            "text": plain(row["text"], TEXT) or "(no text)",
            "offered": row["offered"],
            "right": row["target"] / row["offered"],
            "expected": row["expected"] / row["offered"],
            "z": f"{row['z']:+.1f}".replace("-", "\u2212"),
        }
        for row in chosen
    ]


def _not_run(sides: Sides) -> list[dict[str, str]]:
    """Probes and splits that were left out, and why; each once."""
    reasons: dict[tuple[str, str], None] = {}
    for audit in sides.values():
        probes = [(plain(row["name"], 120), row["why"]) for row in audit.get("not_run") or ()]
        splits = [(f"split {plain(name, 60)}", why) for name, why in (audit.get("left_out") or {}).items()]
        reasons |= {(name, plain(why, 400)): None for name, why in probes + splits}
    return [{"name": name, "why": why} for name, why in reasons]


def _gallery(examples: Sequence[Example], after: Sequence[Example]) -> dict[str, Any]:
    """The questions for the report's script; one in both, by id and text, once, with its choices before and after."""
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
        "outcome": "" if example.picked is None else "right" if example.picked == example.label else "wrong",
        "choices": [example.choice(index) for index in range(len(example.choices))],
    }
