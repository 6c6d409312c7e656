"""Sample questions as one html file, as in Figure 2 of Chao et al. (2018): image, question, choices by their sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_vqa_mc.report.example import KIND_NAMES, Example, by_kind, letter
from hf_vqa_mc.report.gallery import CHOICE, ORIGIN, TYPE
from hf_vqa_mc.report.page import write_page
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import thumbnail

SIDE = 480
"""Pixels of the longer side of an image."""


def write_preview(path: Path, title: str, examples: Sequence[Example]) -> None:
    """Write sample questions as a page that asks for nothing from elsewhere.

    Choices stand set by set, decoys first and the target last, each with the letter of its place in the row; a model's
    pick has a tick where it is right, a cross where it is wrong.

    Args:
        path: of the html file; what was there before is replaced in one step.
        title: what the questions are from.
        examples: some dozens, as each brings its image along.

    Raises:
        OSError: the file cannot be written.
    """
    values = {"title": plain(title, 200), "facts": _facts(examples), "cards": [_card(one) for one in examples]}
    write_page(path, "preview.html.jinja", values)


def _facts(examples: Sequence[Example]) -> list[dict[str, str]]:
    picks = [example for example in examples if example.picked is not None]
    facts = [{"name": "questions", "text": count(len(examples))}]
    if picks:
        right = sum(example.picked == example.label for example in picks)
        share = percent(right / len(picks), 0)
        facts.append({"name": "the model’s picks", "text": f"{right:,} of {len(picks):,} right ({share})"})
    return facts


def _card(example: Example) -> dict[str, Any]:
    picture = thumbnail(example.image, SIDE)
    told = (plain(example.note, ORIGIN), plain(example.question_type, TYPE), plain(example.question_id, TYPE))
    return {
        "question": plain(example.question),
        "image": picture.address,
        "width": picture.width,
        "height": picture.height,
        "missing": picture.note,
        "about": [text for text in told if text],
        "sets": [
            {"kind": kind, "name": KIND_NAMES[kind], "choices": [_choice(example, place) for place in places]}
            for kind, places in by_kind(example)
        ],
    }


def _choice(example: Example, place: int) -> dict[str, Any]:
    return {
        "letter": letter(place),
        "text": plain(example.choices[place], CHOICE),
        "kind": example.kind(place),
        "origin": plain(example.origin(place), ORIGIN),
        "target": place == example.label,
        "picked": place == example.picked,
    }
