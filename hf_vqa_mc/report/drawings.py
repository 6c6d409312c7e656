"""Drawings as SVG, inline in a page or as a file."""

from html import escape

from hf_vqa_mc.audits.figures.charts import COLOURS, Drawing, Label, Shape
from hf_vqa_mc.report.plain_text import plain

TITLE = 200  # maximum number of characters of a title
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
LINE = 1.8


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
