"""Example questions as one picture, for dataset cards."""

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.report.examples import Example
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.report.thumbnails import small_image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS, MOST = 2, 4
"""Questions per row, and in the picture; with more columns the text is too small to read."""
WIDTH, PICTURE, LINE, GAP = 3.0, 2.25, 0.24, 0.1
"""Width of a question, heights of its image, of a line of text and of the space between groups, in inches."""
FONT_SIZE = 12.5
"""Points; 11.6 pixels where a dataset card shows two columns 400 pixels wide."""
LINE_CHARACTERS = 26
"""Characters per line of DejaVu Sans."""
LINES = 3
"""Maximum number of lines of a question or a choice."""
MOST_CHOICES = 18
"""Maximum number of choices of a group; VQA has 17 decoys of its own."""
DOTS_PER_INCH = 150
INK, SOFT, RIGHT, WRONG = "#1e252e", "#5c6673", "#2f7d4f", "#b3372f"
Line = tuple[str, str, str, float]
"""Text, colour, weight, and indent in inches."""


def preview_picture(examples: Sequence[Example]) -> bytes:
    """Draw questions in two columns: image, question and choices by kind, as in the paper's Figure 2.

    Args:
        examples: the first four are drawn. A model's pick is marked by a tick or a cross, its attention is drawn on
            the image.

    Returns:
        A PNG file; deterministic.

    Raises:
        InputError: there are no examples.
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    if not examples:
        raise InputError("no questions to draw; expected a split with rows")
    shown = [(example, _lines(example)) for example in examples[:MOST]]
    rows = [shown[start : start + COLUMNS] for start in range(0, len(shown), COLUMNS)]
    above = PICTURE if any(example.image for example, _ in shown) else 0.0
    heights = [above + LINE + max(sum(map(_height, lines)) for _, lines in row) for row in rows]
    width, height = WIDTH * len(rows[0]), sum(heights)
    with rc_context({"font.family": "DejaVu Sans", "font.size": FONT_SIZE, "text.usetex": False}):
        figure = Figure(figsize=(width, height), facecolor="white")
        for number, row in enumerate(rows):
            bottom, share = sum(heights[number + 1 :]) / height, heights[number] / height
            for column, (example, lines) in enumerate(row):
                axes = figure.add_axes((WIDTH * column / width, bottom, WIDTH / width, share))
                axes.set_xlim(0, WIDTH)
                axes.set_ylim(heights[number], 0)
                axes.set_axis_off()
                if above:
                    _draw_image(axes, example)
                _write(axes, lines, above + LINE)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return content.getvalue()


def _lines(example: Example) -> list[Line]:
    lines: list[Line] = [(text, INK, "bold", 0.0) for text in _wrapped(example.question, LINE_CHARACTERS - 3)]
    for kind, indices in example.by_kind():
        lines.append(("", SOFT, "normal", 0.0))
        heading, colour = "fallback decoys" if kind else "decoys", SOFT
        if kind in CHOICE_KINDS:
            heading, colour = CHOICE_KINDS[kind].legend, CHOICE_KINDS[kind].colour
        more = f" (of {len(indices):,})" if len(indices) > MOST_CHOICES else ""
        lines.append((heading + more, colour, "bold", 0.0))
        for index in [*indices[:MOST_CHOICES], *(one for one in indices[MOST_CHOICES:] if one == example.picked)]:
            mark, colour, weight = "", INK, "bold" if kind == "target" else "normal"
            if index == example.picked:
                mark, colour = ("  \u2713", RIGHT) if kind == "target" else ("  \u2717", WRONG)
            shown = example.choices[index] or "\u2013"
            shown += f" ({example.origin(index).removeprefix('fallback ')})" if kind == "fallback" else ""
            first, *others = _wrapped(shown, LINE_CHARACTERS - 4)
            lines.append((f"{example.letter(index)}  {first}{mark}".lstrip(), colour, weight, 0.06))
            lines += [(f"    {text}", colour, weight, 0.06) for text in others]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """Wrapped lines; characters missing in the font, about which matplotlib would warn, are replaced."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties(family="DejaVu Sans", weight="bold"))).get_charmap()
    text = "".join(sign if ord(sign) in known else "\ufffd" for sign in plain(text, width * LINES))
    return textwrap.wrap(text, width, max_lines=LINES, placeholder=" \u2026") or [""]


def _draw_image(axes: "Axes", example: Example) -> None:
    import numpy as np

    side = int(PICTURE * DOTS_PER_INCH)
    picture = small_image(example.image, side, example.attention) if example.image else "no image"
    wide, high = WIDTH - 0.2, PICTURE - 0.1
    if isinstance(picture, str):
        axes.text(WIDTH / 2, PICTURE / 2, picture, color=SOFT, ha="center", va="center", parse_math=False)
        return
    scale = min(wide / picture.width, high / picture.height)
    width, height = scale * picture.width, scale * picture.height
    left, top = (WIDTH - width) / 2, 0.1 + (high - height)
    axes.imshow(np.asarray(picture), extent=(left, left + width, top + height, top), aspect="auto")
    axes.set_xlim(0, WIDTH)


def _write(axes: "Axes", lines: Sequence[Line], top: float) -> None:
    for line in lines:
        text, colour, weight, inset = line
        y = top + 0.4 * _height(line)
        axes.text(0.14 + inset, y, text, color=colour, weight=weight, va="center", parse_math=False, clip_on=True)
        top += _height(line)


def _height(line: Line) -> float:
    return LINE if line[0] else GAP
