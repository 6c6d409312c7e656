"""Questions with images that look alike but may call for another answer, as one html file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_vqa_mc.io.atomic_file import write_bytes
from hf_vqa_mc.report.gallery import CHOICE, TYPE
from hf_vqa_mc.report.page import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values

SHOWN = 6
"""Candidates of a question."""
SIDE, SMALL_SIDE = 400, 240
"""Pixels of the longer side of the question's image, and of a candidate's."""
_PREMISES = {
    "holds": "what the question needs is there",
    "fails": "what the question needs is not there",
    "unknown": "",
    "none": "nothing is taken for granted",
}
"""Note on a candidate, by the names of `engines.complementary`."""


def write_complementary_images(
    path: Path, title: str, rows: Sequence[Mapping[str, Any]], image: Callable[[str], bytes | None]
) -> None:
    """Write a page that loads nothing from elsewhere.

    Args:
        path: of the html file; replaced atomically.
        title: what the questions are from.
        rows: of a table ``engines.complementary.COMPLEMENTARY``; some dozens, as each brings its images along.
        image: gives an image's file by its image_id, None where there is none.

    Raises:
        OSError: the file cannot be written.
    """
    cards = [_card(row, image) for row in rows]
    values = {"title": plain(title, 200), "count": count(len(rows)), "cards": cards}
    write_bytes(path, rendered("complementary.html.jinja", values).encode())


def _card(row: Mapping[str, Any], image: Callable[[str], bytes | None]) -> dict[str, Any]:
    columns = (row[name][:SHOWN] for name in ("candidates", "differs", "premise"))
    return {
        "question": plain(row["question"]),
        "answer": plain(row["answer"], CHOICE),
        "about": plain(row["question_id"], TYPE),
        **picture_values(image(row["image_id"]), SIDE, "no image"),
        "candidates": [
            {
                "name": plain(image_id, TYPE),
                "differs": percent(share, 0),
                "premise": _PREMISES[premise],
                "kind": premise,
                **picture_values(image(image_id), SMALL_SIDE, "no image"),
            }
            for image_id, share, premise in zip(*columns, strict=True)
        ],
    }
