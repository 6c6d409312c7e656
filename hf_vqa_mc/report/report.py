"""The audit's report: one html file that a browser opens from the disk, before and after a remedy side by side."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_vqa_mc.audits import Sees
from hf_vqa_mc.report.example import Example
from hf_vqa_mc.report.figures import SQUARE, Sides, calibration, chart, histogram, per_type, tiles
from hf_vqa_mc.report.gallery import gallery
from hf_vqa_mc.report.page import rendered
from hf_vqa_mc.report.plain_text import count, plain, shown_name
from hf_vqa_mc.report.tables import doubtful_decoys, findings, not_run, telling


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
    sides = Sides(before, after)
    shown = gallery(examples, after_examples)
    values = {**report_values(sides), "has_examples": bool(shown["examples"])}
    return rendered("report.html.jinja", values, "report.js", shown)


def report_values(sides: Sides) -> dict[str, Any]:
    """The values of the report's template."""
    before = sides.before
    return {
        "title": plain(shown_name(str(before.get("dataset") or "")), 120) or "benchmark",
        "config": plain(before.get("config"), 80),
        "split": plain(before.get("split"), 40),
        "version": plain(before.get("version"), 40),
        "facts": _facts(sides),
        "read_as": list(dict.fromkeys(plain(found["read_as"], 600) for _, found in sides if found.get("read_as"))),
        "sides": sides.names,
        "verdicts": [
            {"side": side, "text": plain(found["verdict"], 1000)} for side, found in sides if found.get("verdict")
        ],
        "caveats": list(dict.fromkeys(plain(found["caveat"], 600) for _, found in sides if found.get("caveat"))),
        "headlines": [headline for side, found in sides if (headline := _headline(side, found))],
        "tiles": tiles(sides),
        "chart": chart(sides),
        "types": per_type(sides),
        "findings": findings(sides),
        "doubtful": doubtful_decoys(sides),
        "telling": telling(sides),
        "calibration": calibration(sides),
        "histogram": histogram(sides),
        "square": SQUARE,
        "not_run": not_run(sides),
    }


def strongest(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The shortcut that gains most; what sees everything is none."""
    shortcuts = [one for one in found.get("shortcuts") or () if one.get("knows") != Sees.EVERYTHING]
    return max(shortcuts, key=lambda one: one["gain"], default=None)


def _headline(side: str, found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The accuracy of the strongest shortcut, and what it lacks."""
    best = strongest(found)
    if best is None:
        return None
    without = next((sees.without for sees in Sees if sees == best.get("knows")), "")
    if found.get("images") == 0:
        without = "without the question" if best.get("knows") == Sees.CHOICES else "by a shortcut"
    chance = found["chance"] if found.get("chance") is not None else best["accuracy"] - best["gain"]
    return {
        "side": side,
        "name": plain(best["name"], 120),
        "sentence": plain(best.get("sentence"), 400),
        "without": without,
        "accuracy": best["accuracy"],
        "gain": best["gain"],
        "row": best,
        "chance": chance,
        "alarm": bool(best.get("alarm")),
        "start": f"{100 * min(chance, best['accuracy']):.2f}%",
        "width": f"{100 * abs(best['accuracy'] - chance):.2f}%",
        "chance_at": f"{100 * chance:.2f}%",
    }


def _facts(sides: Sides) -> list[dict[str, str]]:
    """What was audited, in a line of figures; both values where a remedy changed them."""
    texts_of: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "questions": lambda found: count(found.get("rows")),
        "images": lambda found: count(found.get("images")) if found.get("images") else "none",
        "choices each": lambda found: _range(found.get("choices") or []),
        "chance": lambda found: f"{100 * found['chance']:.1f}%" if found.get("chance") is not None else "",
        "learnt from": lambda found: plain(found.get("learnt_from"), 60),
    }
    facts = []
    for name, text_of in texts_of.items():
        texts = list(dict.fromkeys(text for _, found in sides if (text := text_of(found))))
        if texts:
            facts.append({"name": name, "text": " \u2192 ".join(texts)})
    return facts


def _range(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"{min(numbers)}" if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"
