"""The questions of a report's gallery, as its script reads them."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.report.example import Example, kind_legends, letter
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.report.thumbnails import picture_values

CHOICE, TYPE, ORIGIN = 160, 60, 160
"""Characters shown of a choice, of a question's type and of a choice's origin."""


def gallery(examples: Sequence[Example], after: Sequence[Example] = ()) -> dict[str, Any]:
    """The data of the report's script.

    Args:
        examples: of the benchmark that was audited.
        after: of the remedied one; a question in both, by id and text, is shown once, with its choices before and
            after.
    """
    later = {(example.question_id, example.question): example for example in after}
    shown = []
    for example in examples:
        partner = later.pop((example.question_id, example.question), None)
        shown.append(_card(example) | {"before": _choices(example), "after": _choices(partner) if partner else None})
    for example in later.values():
        shown.append(_card(example) | {"before": None, "after": _choices(example)})
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
        "choices": [choice_values(example, index) for index in range(len(example.choices))],
    }


def choice_values(example: Example, index: int) -> dict[str, Any]:
    """A choice as templates and scripts take it."""
    return {
        "letter": letter(index),
        "text": plain(example.choices[index], CHOICE),
        "kind": example.kind(index),
        "origin": plain(example.origin(index), ORIGIN),
        "target": index == example.label,
        "picked": index == example.picked,
    }
