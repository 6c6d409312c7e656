"""A description as a table of its headline numbers, as a page, and as a folder."""

from pathlib import Path

from hf_vqa_mc.audits.figures.figure import Description, number_text
from hf_vqa_mc.io.atomic import json_bytes, publish
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.report.charts import CHARTS, Drawing
from hf_vqa_mc.report.pages import rendered, staged_report
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.text.tables import TextTable, csv_bytes

DESCRIBED = FolderKind("vqa-mc describe")
REPORT, FIGURES, FOLDER = "report.html", "describe.json", "figures"
SHOWN = 40  # maximum number of rows of a table on the page; all are in the CSV files


def number_table(done: Description) -> TextTable:
    """The headline numbers for terminals."""
    rows = [("" if at else one.figure.title, name, *map(number_text, values))
            for one in done.figures for at, (name, values) in enumerate(one.numbers.items())]  # fmt: skip
    columns = zip(*rows, strict=True) if rows else [[]] * (2 + len(done.names))
    names = ("figure", "number", *done.names)
    return TextTable(dict(zip(names, map(list, columns), strict=True)), names[:2])


def write_description(folder: Path, done: Description, overwrite: bool = False) -> list[Path]:
    """Write a description atomically: report.html, describe.json, and figures/NAME.csv and .svg."""
    import pandas as pd
    from markupsafe import Markup  # the texts of drawings are escaped

    names, drawings = [plain(name, 120) for name in done.names], list[Drawing | None]()
    for figure, sides in done.figures:
        chart, *columns = figure.chart or ("",)
        drawings.append(CHARTS[chart](sides, *columns) if chart else None)
    svgs = (one and Markup(one.svg(figure.title)) for one, (figure, _) in zip(drawings, done.figures, strict=True))
    values = {
        "names": names,
        "notes": done.notes,
        "figures": list(zip(done.figures, svgs, strict=True)),
        "shown": SHOWN,
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
    return publish(staged_report(folder, DESCRIBED, contents, overwrite))
