"""A description as a table of its headline numbers, as a page, and as a folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_vqa_mc.audits.figures.figure import Described, Description, Found, Number, number_text
from hf_vqa_mc.io.atomic import Staged, json_bytes, new_folder, published
from hf_vqa_mc.io.outputs import FolderKind, check_output, check_outside
from hf_vqa_mc.report.drawings import svg
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.text.tables import TextTable, csv_bytes

DESCRIBED = FolderKind("vqa-mc describe")
REPORT, FIGURES, FOLDER = "report.html", "describe.json", "figures"
SHOWN = 40  # maximum number of rows of a table on the page; all are in the CSV files
CELL = 80  # maximum number of characters of a cell


def headline_numbers(done: Description) -> Iterator[tuple[Described, str, list[Number | None]]]:
    """Each figure's headline numbers: figure, name of the number, and its value in each dataset."""
    for one in done.figures:
        for name in dict.fromkeys(name for found in one.found if found for name in found.numbers):
            yield one, name, [found.numbers.get(name) if found else None for found in one.found]


def number_table(done: Description) -> TextTable:
    """The headline numbers for terminals."""
    rows = list(headline_numbers(done))
    columns = {
        "figure": [one.figure.title for one, _, _ in rows],
        "number": [name for _, name, _ in rows],
        **{name: [number_text(values[at]) for _, _, values in rows] for at, name in enumerate(done.names)},
    }
    repeated = [at for at in range(1, len(rows)) if rows[at][0] is rows[at - 1][0]]
    for at in repeated:
        columns["figure"][at] = ""
    return TextTable(columns, ("figure", "number"), ("figure", "number"))


def description_html(done: Description) -> str:
    """The page: self-contained, deterministic, and safe with malicious texts."""
    values = {
        "title": " and ".join(plain(name, 120) for name in done.names),
        "names": [plain(name, 120) for name in done.names],
        "notes": [plain(note, 400) for note in done.notes],
        "figures": [_section(one, done.names) for one in done.figures],
    }
    return rendered("description.html.jinja", values)


def _section(one: Described, names: list[str]) -> dict[str, Any]:
    from markupsafe import Markup

    drawing = one.drawing(names)
    title = one.figure.title
    numbers = dict.fromkeys(name for found in one.found if found for name in found.numbers)
    return {
        "id": one.figure.name,
        "title": title,
        "source": one.figure.source,
        "sentence": one.figure.sentence,
        "drawing": drawing and Markup(svg(drawing, title)),  # whose texts are escaped
        "numbers": {
            plain(name, CELL): [
                plain(number_text(found.numbers.get(name)), CELL) if found else "" for found in one.found
            ]
            for name in numbers
        },
        "tables": [_table(name, found) for name, found in one.sides(names) if found.table],
        "reasons": [
            f"{plain(name, 120)}: {reason}" for name, reason in zip(names, one.reasons, strict=True) if reason
        ],
    }


def _table(name: str, found: Found) -> dict[str, Any]:
    columns = found.table
    rows = list(zip(*(column[:SHOWN] for column in columns.values()), strict=True))
    is_text = {key: any(isinstance(cell, str) for cell in column) for key, column in columns.items()}
    return {
        "name": plain(name, 120),
        "heads": [(key, not is_text[key]) for key in columns],
        "rows": [[plain(number_text(cell), CELL) for cell in row] for row in rows],
        "more": max(len(next(iter(columns.values()))) - SHOWN, 0),
    }


def check_description_folder(folder: Path, option: str, inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Raise InputError unless the folder is new, empty, or the unchanged output of an earlier run."""
    check_outside(folder, option, inputs)
    check_output(folder, DESCRIBED, overwrite, option)


@contextmanager
def _staged(folder: Path, done: Description, overwrite: bool = False) -> Iterator[tuple[Staged, list[Path]]]:
    """Write a description: report.html, describe.json, and figures/NAME.csv and .svg."""
    contents = {REPORT: description_html(done).encode(), FIGURES: json_bytes(done.as_json(), indent=1)}
    for one in done.figures:
        path = f"{FOLDER}/{one.figure.name}"
        if table := _csv(one, done.names):
            contents[f"{path}.csv"] = table
        drawing = one.drawing(done.names)
        if drawing is not None:
            contents[f"{path}.svg"] = svg(drawing, one.figure.title, file=True).encode()
    with new_folder(folder, DESCRIBED, overwrite) as new:
        (new.tree / FOLDER).mkdir()
        for name, content in contents.items():
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]


write_description = published(_staged)  # write a description's folder atomically, and return its files


def _csv(one: Described, names: list[str]) -> bytes:
    """The table; those of two datasets below each other, with a column ``dataset``."""
    import pandas as pd

    frames = {name: pd.DataFrame(found.table, dtype=object) for name, found in one.sides(names) if found.table}
    if len(names) > 1:
        for name, frame in frames.items():
            frame.insert(0, "dataset", name)
    return csv_bytes(pd.concat(frames.values())) if frames else b""
