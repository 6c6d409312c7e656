"""The questions through which a report lets one page, as its script reads them."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.report.example import KIND_NAMES, Example, letter
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.report.thumbnails import thumbnail

CHOICE, TYPE, ORIGIN = 160, 60, 160
"""Characters that are shown of a choice, of a question's type and of a choice's origin."""


def gallery(examples: Sequence[Example], after: Sequence[Example] = ()) -> dict[str, Any]:
    """What the report's script is told.

    Args:
        examples: of the benchmark that was audited.
        after: of the remedied one; a question that is in both, by its id and its text, is shown once, with the choices
            that it had and those that it has.
    """
    later = {(example.question_id, example.question): example for example in after}
    shown = []
    for example in examples:
        partner = later.pop((example.question_id, example.question), None)
        shown.append(_card(example) | {"before": _asked(example), "after": _asked(partner) if partner else None})
    for example in later.values():
        shown.append(_card(example) | {"before": None, "after": _asked(example)})
    return {"examples": shown, "sides": 2 if after else 1, "kinds": KIND_NAMES}


def _card(example: Example) -> dict[str, Any]:
    picture = thumbnail(example.image)
    return {
        "id": plain(example.question_id, TYPE),
        "question": plain(example.question),
        "type": plain(example.question_type, TYPE),
        "image": picture.address,
        "width": picture.width,
        "height": picture.height,
        "missing": picture.note,
        "note": plain(example.note, ORIGIN),
    }


def _asked(example: Example) -> dict[str, Any]:
    return {
        "bias": round(example.bias, 4) if example.bias is not None and isfinite(example.bias) else None,
        "outcome": "" if example.picked is None else "right" if example.picked == example.label else "wrong",
        "choices": [
            {
                "letter": letter(place),
                "text": plain(text, CHOICE),
                "kind": example.kind(place),
                "origin": plain(example.origin(place), ORIGIN),
                "target": place == example.label,
                "picked": place == example.picked,
            }
            for place, text in enumerate(example.choices)
        ],
    }
