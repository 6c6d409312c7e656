"""Drawings as SVG, inline in a page or as a file, and as PNG."""

import io
from collections.abc import Callable
from html import escape

from hf_vqa_mc.descriptions.drawing import COLOURS, Drawing, Label, Shape
from hf_vqa_mc.errors import MissingExtra
from hf_vqa_mc.report.plain_text import plain

TITLE = 200
"""Maximum number of characters of a title."""
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
LINE = 1.8
DOTS_PER_UNIT = 3.0
INCH = 100.0
"""Units per inch of a PNG."""


def styles() -> str:
    """CSS of the colours, by the classes that `svg` uses."""
    light, dark = ("".join(f" --draw-{name}: {pair[side]};" for name, pair in COLOURS.items()) for side in (0, 1))
    rules = "".join(
        f".fill-{name} {{ fill: var(--draw-{name}); }}\n.line-{name} {{ stroke: var(--draw-{name}); }}\n"
        for name in COLOURS
    )
    dark_screen = f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}"
    text = ".drawing text { dominant-baseline: central; }"
    return f":root {{{light} }}\n{dark_screen}\n.drawing polyline {{ fill: none; }}\n{text}\n{rules}"


def svg(drawing: Drawing, title: str, file: bool = False) -> str:
    """An SVG element; with ``file``, one with its own colours and background."""
    size = f"{drawing.width:g} {drawing.height:g}"
    style = background = ""
    if file:
        background = f'<rect class="fill-paper" width="{drawing.width:g}" height="{drawing.height:g}"/>'
        style = f"<style>{styles()}text {{ font-family: {FONT}; }}</style>"
    name = escape(plain(title, TITLE))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {size}" role="img" aria-label="{name}">'
    )
    shapes = "".join(map(_shape, drawing.shapes))
    return f"{head}{style}{background}{shapes}{''.join(map(_label, drawing.labels))}</svg>"


def _shape(one: Shape) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in one.points)
    if not one.filled:
        width = 1 if one.colour == "hair" else LINE
        return f'<polyline class="line-{one.colour}" stroke-width="{width}" points="{points}"/>'
    title = f"<title>{escape(plain(one.title, TITLE))}</title>" if one.title else ""
    return f'<polygon class="fill-{one.colour}" points="{points}">{title}</polygon>'


def _label(one: Label) -> str:
    turn = f' transform="rotate({one.angle:.1f} {one.x:.1f} {one.y:.1f})"' if one.angle else ""
    place = f'x="{one.x:.1f}" y="{one.y:.1f}" text-anchor="{one.anchor}"{turn}'
    return f'<text class="fill-{one.colour}" font-size="{one.size:g}" {place}>{escape(plain(one.text, TITLE))}</text>'


def check_matplotlib() -> None:
    """Raise MissingExtra unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None


def png(drawing: Drawing) -> bytes:
    """A PNG file in the light colours; deterministic.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

    shown = _in_font()
    with rc_context({"font.family": "DejaVu Sans", "text.usetex": False}):
        figure = Figure(figsize=(drawing.width / INCH, drawing.height / INCH), facecolor=COLOURS["paper"][0])
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, drawing.width)
        axes.set_ylim(drawing.height, 0)
        axes.set_axis_off()
        for one in drawing.shapes:
            colour = COLOURS[one.colour][0]
            if one.filled:
                axes.add_patch(Polygon(one.points, facecolor=colour, linewidth=0))
            else:
                axes.plot(*zip(*one.points, strict=True), color=colour, linewidth=LINE * 72 / INCH)
        for label in drawing.labels:
            axes.text(
                label.x,
                label.y,
                shown(label.text),
                fontsize=0.92 * label.size * 72 / INCH,  # DejaVu Sans is wider than the page's font
                color=COLOURS[label.colour][0],
                ha={"start": "left", "middle": "center", "end": "right"}[label.anchor],
                va="center_baseline" if not label.angle else "center",
                rotation=-label.angle,
                rotation_mode="default",
                parse_math=False,
            )
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=INCH * DOTS_PER_UNIT, metadata={"Software": None})
    return content.getvalue()


def _in_font() -> Callable[[str], str]:
    """Replaces the characters that the font lacks, about which matplotlib would warn."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
    return lambda text: "".join(sign if ord(sign) in known else "\ufffd" for sign in plain(text, TITLE))
