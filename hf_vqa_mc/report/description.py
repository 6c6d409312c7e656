"""A description as a table of its headline numbers, as a page, and as a folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from hf_vqa_mc.audits.figures.figure import Described, Description, Figure, Number, number_text
from hf_vqa_mc.io.atomic import Staged, json_bytes, new_folder, published
from hf_vqa_mc.io.outputs import FolderKind, check_output, check_outside
from hf_vqa_mc.report.charts import CHARTS, Drawing
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.text.tables import TextTable, csv_bytes

DESCRIBED = FolderKind("vqa-mc describe")
REPORT, FIGURES, FOLDER = "report.html", "describe.json", "figures"
SHOWN = 40  # maximum number of rows of a table on the page; all are in the CSV files
CELL = 80  # maximum number of characters of a cell


def headline_numbers(done: Description) -> Iterator[tuple[Figure, str, list[Number | None]]]:
    """Each figure's headline numbers: figure, name of the number, and its value in each dataset."""
    for figure, sides in done.figures:
        for name in dict.fromkeys(name for _, found in sides for name in found.numbers):
            yield figure, name, [found.numbers.get(name) for _, found in sides]


def number_table(done: Description) -> TextTable:
    """The headline numbers for terminals."""
    rows = list(headline_numbers(done))
    repeated = [False, *(one[0] is before[0] for before, one in pairwise(rows))]
    columns = {
        "figure": ["" if again else figure.title for (figure, _, _), again in zip(rows, repeated, strict=False)],
        "number": [name for _, name, _ in rows],
        **{name: [number_text(values[at]) for _, _, values in rows] for at, name in enumerate(done.names)},
    }
    return TextTable(columns, ("figure", "number"))


def _drawing(one: Described) -> Drawing | None:
    """The chart; None if there is nothing to draw."""
    name, *columns = one.figure.chart or ("",)
    drawing: Drawing | None = CHARTS[name](one.sides, *columns) if name else None
    return drawing


def _section(figure: Figure, sides: Iterable[tuple[str, Any]], drawing: Drawing | None) -> dict[str, Any]:
    """The values of a figure for the page."""
    from markupsafe import Markup

    numbers, tables = dict[str, list[str]](), []
    for name in dict.fromkeys(name for _, found in sides for name in found.numbers):
        numbers[plain(name, CELL)] = [plain(number_text(found.numbers.get(name)), CELL) for _, found in sides]
    for name, columns in ((name, found.table) for name, found in sides if found.table):
        rows = zip(*(column[:SHOWN] for column in columns.values()), strict=True)
        tables.append(
            {
                "name": plain(name, 120),
                "heads": [(key, not any(isinstance(one, str) for one in column)) for key, column in columns.items()],
                "rows": [[plain(number_text(cell), CELL) for cell in row] for row in rows],
                "more": max(len(next(iter(columns.values()))) - SHOWN, 0),
            }
        )
    return {
        "id": figure.name,
        "title": figure.title,
        "source": figure.source,
        "sentence": figure.sentence,
        "drawing": drawing and Markup(drawing.svg(figure.title)),  # whose texts are escaped
        "numbers": numbers,
        "tables": tables,
        "reasons": [f"{plain(name, 120)}: {found.why}" for name, found in sides if found.why],
    }


def check_description_folder(folder: Path, option: str, inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Raise InputError unless the folder is new, empty, or the unchanged output of an earlier run."""
    check_outside(folder, option, inputs)
    check_output(folder, DESCRIBED, overwrite, option)


@contextmanager
def _staged(folder: Path, done: Description, overwrite: bool = False) -> Iterator[tuple[Staged, list[Path]]]:
    """Write a description: report.html, describe.json, and figures/NAME.csv and .svg."""
    import pandas as pd

    names, drawings = [plain(name, 120) for name in done.names], list(map(_drawing, done.figures))
    values = {
        "title": " and ".join(names),
        "names": names,
        "notes": [plain(note, 400) for note in done.notes],
        "figures": [_section(*one, drawing) for one, drawing in zip(done.figures, drawings, strict=True)],
    }
    page = rendered("description.html.jinja", values)  # self-contained, and safe with malicious texts
    contents = {REPORT: page.encode(), FIGURES: json_bytes(done.as_json(), indent=1)}
    for (figure, sides), drawing in zip(done.figures, drawings, strict=True):
        path = f"{FOLDER}/{figure.name}"
        frames = {name: pd.DataFrame(found.table, dtype=object) for name, found in sides if found.table}
        for name, frame in frames.items() if len(names) > 1 else ():  # below each other
            frame.insert(0, "dataset", name)
        if frames:
            contents[f"{path}.csv"] = csv_bytes(pd.concat(frames.values()))
        if drawing:
            contents[f"{path}.svg"] = drawing.svg(figure.title, file=True).encode()
    with new_folder(folder, DESCRIBED, overwrite) as new:
        (new.tree / FOLDER).mkdir()
        for name, content in contents.items():
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]


write_description = published(_staged)  # write a description's folder atomically, and return its files
