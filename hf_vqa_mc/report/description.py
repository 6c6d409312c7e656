"""A description as a table of its headline numbers, as a page, and as a folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from hf_vqa_mc.audits.figures.charts import Drawing, Label, Shape
from hf_vqa_mc.audits.figures.figure import Described, Description, Figure, Number, Table, number_text
from hf_vqa_mc.io.atomic import Staged, json_bytes, new_folder, published
from hf_vqa_mc.io.outputs import FolderKind, check_output, check_outside
from hf_vqa_mc.report.pages import drawing_styles, rendered
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.text.tables import TextTable, csv_bytes

DESCRIBED = FolderKind("vqa-mc describe")
REPORT, FIGURES, FOLDER = "report.html", "describe.json", "figures"
SHOWN = 40  # maximum number of rows of a table on the page; all are in the CSV files
CELL, TITLE = 80, 200  # maximum number of characters of a cell, and of a title or text of a drawing
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"


def headline_numbers(done: Description) -> Iterator[tuple[Figure, str, list[Number | None]]]:
    """Each figure's headline numbers: figure, name of the number, and its value in each dataset."""
    for one in done.figures:
        for name in dict.fromkeys(name for _, found in one.sides for name in found.numbers):
            yield one.figure, name, [found.numbers.get(name) for _, found in one.sides]


def number_table(done: Description) -> TextTable:
    """The headline numbers for terminals."""
    rows = list(headline_numbers(done))
    repeated = [False, *(one[0] is before[0] for before, one in pairwise(rows))]
    columns = {
        "figure": ["" if again else figure.title for (figure, _, _), again in zip(rows, repeated, strict=False)],
        "number": [name for _, name, _ in rows],
        **{name: [number_text(values[at]) for _, _, values in rows] for at, name in enumerate(done.names)},
    }
    return TextTable(columns, ("figure", "number"), ("figure", "number"))


def _section(one: Described) -> dict[str, Any]:
    """The values of a figure for the page."""
    from markupsafe import Markup

    drawing, title = one.drawing(), one.figure.title
    numbers = dict.fromkeys(name for _, found in one.sides for name in found.numbers)
    return {
        "id": one.figure.name,
        "title": title,
        "source": one.figure.source,
        "sentence": one.figure.sentence,
        "drawing": drawing and Markup(svg(drawing, title)),  # whose texts are escaped
        "numbers": {
            plain(name, CELL): [plain(number_text(found.numbers.get(name)), CELL) for _, found in one.sides]
            for name in numbers
        },
        "tables": [_table(name, found.table) for name, found in one.sides if found.table],
        "reasons": [
            f"{plain(name, 120)}: {why}" for (name, _), why in zip(one.sides, one.reasons, strict=True) if why
        ],
    }


def _table(name: str, columns: Table) -> dict[str, Any]:
    rows = zip(*(column[:SHOWN] for column in columns.values()), strict=True)
    is_text = {key: any(isinstance(cell, str) for cell in column) for key, column in columns.items()}
    return {
        "name": plain(name, 120),
        "heads": [(key, not is_text[key]) for key in columns],
        "rows": [[plain(number_text(cell), CELL) for cell in row] for row in rows],
        "more": max(len(next(iter(columns.values()))) - SHOWN, 0),
    }


def svg(drawing: Drawing, title: str, file: bool = False) -> str:
    """An SVG element; with ``file``, one with its own colours and background."""
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    look = ""
    if file:
        look = f"<style>{drawing_styles()}text {{ font-family: {FONT}; }}</style>"
        look += f'<rect class="fill-paper" width="{width}" height="{height}"/>'
    about = f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(plain(title, TITLE))}"'
    shapes = "".join([*map(_shape, drawing.shapes), *map(_label, drawing.labels)])
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" {about}>{look}{shapes}</svg>'


def _shape(one: Shape) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in one.points)
    if not one.filled:
        width = 1 if one.colour == "hair" else 1.8
        return f'<polyline class="line-{one.colour}" stroke-width="{width}" points="{points}"/>'
    title = f"<title>{escape(plain(one.title, TITLE))}</title>" if one.title else ""
    return f'<polygon class="fill-{one.colour}" points="{points}">{title}</polygon>'


def _label(one: Label) -> str:
    turn = f' transform="rotate({one.angle:.1f} {one.x:.1f} {one.y:.1f})"' if one.angle else ""
    at = f'x="{one.x:.1f}" y="{one.y:.1f}" text-anchor="{one.anchor}"{turn}'
    return f'<text class="fill-{one.colour}" font-size="{one.size:g}" {at}>{escape(plain(one.text, TITLE))}</text>'


def check_description_folder(folder: Path, option: str, inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Raise InputError unless the folder is new, empty, or the unchanged output of an earlier run."""
    check_outside(folder, option, inputs)
    check_output(folder, DESCRIBED, overwrite, option)


@contextmanager
def _staged(folder: Path, done: Description, overwrite: bool = False) -> Iterator[tuple[Staged, list[Path]]]:
    """Write a description: report.html, describe.json, and figures/NAME.csv and .svg."""
    import pandas as pd

    names = [plain(name, 120) for name in done.names]
    values = {
        "title": " and ".join(names),
        "names": names,
        "notes": [plain(note, 400) for note in done.notes],
        "figures": list(map(_section, done.figures)),
    }
    page = rendered("description.html.jinja", values)  # self-contained, and safe with malicious texts
    contents = {REPORT: page.encode(), FIGURES: json_bytes(done.as_json(), indent=1)}
    for one in done.figures:
        path = f"{FOLDER}/{one.figure.name}"
        frames = {name: pd.DataFrame(found.table, dtype=object) for name, found in one.sides if found.table}
        for name, frame in frames.items() if len(names) > 1 else ():  # below each other
            frame.insert(0, "dataset", name)
        if frames:
            contents[f"{path}.csv"] = csv_bytes(pd.concat(frames.values()))
        if drawing := one.drawing():
            contents[f"{path}.svg"] = svg(drawing, one.figure.title, file=True).encode()
    with new_folder(folder, DESCRIBED, overwrite) as new:
        (new.tree / FOLDER).mkdir()
        for name, content in contents.items():
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]


write_description = published(_staged)  # write a description's folder atomically, and return its files
