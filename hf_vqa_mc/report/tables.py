"""The tables of a report: findings, possibly correct decoys, telling words, and what was not run."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_vqa_mc.report.figures import Sides
from hf_vqa_mc.report.plain_text import count, plain

TELLING_SHOWN = 10
"""Words at first sight, of those that say "right" and of those that say "wrong"."""
TEXT = 80
"""Characters of a word or a choice."""


def findings(sides: Sides) -> list[dict[str, Any]]:
    """The findings, a row each, before and after."""
    by_side = {side: {row["name"]: row for row in audit.get("findings") or ()} for side, audit in sides}
    names = list(dict.fromkeys(name for rows in by_side.values() for name in rows))
    lines = []
    for name in names:
        cells = [
            {"side": side, "share": _share(rows[name]), "told": _counted(rows[name])} if name in rows else None
            for side, rows in by_side.items()
        ]
        first = next(rows[name] for rows in by_side.values() if name in rows)
        lines.append(
            {
                "name": plain(name, 120),
                "sentence": plain(first.get("sentence"), 600),
                "cells": cells,
                "ids": [plain(one, 60) for one in first.get("question_ids") or ()],
                "quiet": not any(cell and cell["share"] for cell in cells),
            }
        )
    return lines


def _share(row: Mapping[str, Any]) -> float | None:
    if row.get("share") is not None:
        return float(row["share"])
    return row["count"] / row["of"] if row.get("of") else None


def _counted(row: Mapping[str, Any]) -> str:
    return f"{count(row.get('count'))} of {count(row.get('of'))} {plain(row.get('per'), 40)}".strip()


def doubtful_decoys(sides: Sides) -> dict[str, Any] | None:
    """How many decoys are possibly correct, and why."""
    given = [(side, audit["may_be_right"]) for side, audit in sides if audit.get("may_be_right")]
    if not given:
        return None
    reasons = list(dict.fromkeys(reason for _, found in given for reason in found.get("reasons") or ()))
    largest = max((share for _, found in given for share in (found.get("reasons") or {}).values() if share), default=0)
    return {
        "sides": [
            {"side": side, "share": found.get("share"), "decoys": count(found.get("decoys"))} for side, found in given
        ],
        "reasons": [
            {
                "name": plain(reason, 100),
                "cells": [_reason(side, (found.get("reasons") or {}).get(reason), largest) for side, found in given],
            }
            for reason in reasons
        ],
    }


def _reason(side: str, share: float | None, largest: float) -> dict[str, Any]:
    width = f"{100 * share / largest:.2f}%" if share and largest else "0%"
    return {"side": side, "share": share, "width": width}


def telling(sides: Sides) -> list[dict[str, Any]]:
    """The words and choices that give most away; choices are left out where they are the same as the words."""
    found = []
    for side, audit in sides:
        for what, title in (("words", "words"), ("choices", "whole choices")):
            found_here = audit.get("telling") or {}
            rows = found_here.get(what) or ()
            if rows and not (what == "choices" and _texts(rows) == _texts(found_here.get("words") or ())):
                found.append(
                    {
                        "side": side,
                        "what": title,
                        "lists": [
                            {"says": says, "shown": told[:TELLING_SHOWN], "rest": told[TELLING_SHOWN:]}
                            for says, told in (("right", _told(rows, 1)), ("wrong", _told(rows, -1)))
                            if told
                        ],
                    }
                )
    return found


def _texts(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    return {row["text"] for row in rows}


def _told(rows: Sequence[Mapping[str, Any]], sign: int) -> list[dict[str, Any]]:
    """Texts of one direction, the most significant first, with how often they are right and would be by chance."""
    chosen = sorted((row for row in rows if sign * row["z"] > 0), key=lambda row: -sign * row["z"])
    return [
        {
            "text": plain(row["text"], TEXT) or "(no text)",
            "offered": row["offered"],
            "right": row["target"] / row["offered"] if row["offered"] else None,
            "expected": row["expected"] / row["offered"] if row["offered"] else None,
            "z": f"{row['z']:+.1f}".replace("-", "\u2212"),
        }
        for row in chosen
    ]


def not_run(sides: Sides) -> list[dict[str, str]]:
    """Probes and splits that were left out, and why; each once."""
    told: dict[tuple[str, str], None] = {}
    for _, audit in sides:
        told |= {(plain(row["name"], 120), plain(row.get("why"), 400)): None for row in audit.get("not_run") or ()}
        left_out = audit.get("left_out") or {}
        told |= {(f"split {plain(split, 60)}", plain(why, 400)): None for split, why in left_out.items()}
    return [{"name": name, "why": why} for name, why in told]
