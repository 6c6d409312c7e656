"""Sample questions as one HTML page, as in Figure 2 of Chao et al. (2018): image, question, choices by kind."""

from collections.abc import Sequence
from typing import Any

from hf_vqa_mc.report.example import Example, by_kind, kind_legends
from hf_vqa_mc.report.gallery import ORIGIN, TYPE, choice_values
from hf_vqa_mc.report.page import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values

SIDE = 480
"""Pixels of the longer side of an image."""


def preview_html(title: str, examples: Sequence[Example]) -> str:
    """Sample questions as a page that loads nothing from elsewhere.

    Choices are grouped by kind, decoys first and the target last, each with the letter of its index in the row; a
    model's pick is marked by a tick if correct, by a cross if not.

    Args:
        title: what the questions are from.
        examples: some dozens, as each brings its image along.
    """
    facts = [{"name": "questions", "text": count(len(examples))}]
    picks = [example for example in examples if example.picked is not None]
    if picks:
        right = sum(example.picked == example.label for example in picks)
        share = percent(right / len(picks), 0)
        facts.append({"name": "the model’s picks", "text": f"{right:,} of {len(picks):,} right ({share})"})
    values = {"title": plain(title, 200), "facts": facts, "cards": [_card(one) for one in examples]}
    return rendered("preview.html.jinja", values)


def _card(example: Example) -> dict[str, Any]:
    about = (plain(example.note, ORIGIN), plain(example.question_type, TYPE), plain(example.question_id, TYPE))
    return {
        "question": plain(example.question),
        **picture_values(example.image, SIDE),
        "about": [text for text in about if text],
        "sets": [
            {
                "kind": kind,
                "name": kind_legends()[kind],
                "choices": [choice_values(example, index) for index in indices],
            }
            for kind, indices in by_kind(example)
        ],
    }
