"""The result of a description: its headline numbers, its page, and a folder with each figure as SVG and CSV."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hf_vqa_mc.audits.figures.figure import Description, number_text
from hf_vqa_mc.errors import unknown_name
from hf_vqa_mc.io.atomic import json_bytes
from hf_vqa_mc.report.charts import CHARTS
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.tables import TextTable, csv_bytes

SHOWN = 40  # maximum number of rows of a table on the page; all are in the CSV files


@dataclass(frozen=True, eq=False, repr=False)
class DescribeResult(OutputResult):
    """The figures of one dataset, or of two."""

    description: Description

    def report(self) -> Report:
        """The headline numbers of each figure, notes, and the written files."""
        done = self.description
        yield from done.notes
        lines = [("" if at else one.figure.title, name, *map(number_text, values))
                 for one in done.figures for at, (name, values) in enumerate(one.numbers.items())]  # fmt: skip
        yield TextTable.of(("figure", "number", *done.names), lines, texts=2)
        for name in self.settings.figures:
            if name in done.left_out:
                yield f"{name} does not apply: {done.left_out[name]}"
        if self.written:
            yield f"wrote {self.written[0]} and {len(self.written) - 1} other files"
        else:
            yield "Tables and pictures: --output FOLDER"

    def to_dict(self) -> dict[str, Any]:
        """All numbers and tables, as in describe.json; fractions."""
        return {**self.description.as_json(), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per headline number: figure, number, and the value of each dataset; fractions."""
        figures = self.description.figures
        rows = [[one.figure.name, name, *values] for one in figures for name, values in one.numbers.items()]
        return frame_of(rows, columns=["figure", "number", *self.description.names], dtype=object)

    def table(self, figure: str, dataset: int = 0) -> Frame:
        """The table of a figure, of the first (0) or second (1) dataset; empty where it does not apply."""
        found = {one.name: sides[dataset][1].table for one, sides in self.description.figures}
        if figure not in found:
            raise unknown_name("figure", figure, found)
        return frame_of(found[figure], dtype=object)

    def _files(self) -> dict[str, bytes]:
        """The files of the folder: the page, all figures, and each as CSV and SVG."""
        import pandas as pd

        done, shown, files = self.description, [], dict[str, bytes]()
        names = [plain(name, 120) for name in done.names]
        for one in done.figures:
            figure, sides = one
            chart, *columns = figure.chart or ("",)
            drawing = CHARTS[chart](sides, *columns) if chart else None
            shown.append((one, drawing and Markup(drawing.svg(figure.title))))  # the texts of drawings are escaped
            frames = {name: pd.DataFrame(found.table, dtype=object) for name, found in sides if found.table}
            for name, frame in frames.items() if len(names) > 1 else ():  # below each other
                frame.insert(0, "dataset", name)
            if frames:
                files[f"figures/{figure.name}.csv"] = csv_bytes(pd.concat(frames.values()))
            if drawing:
                files[f"figures/{figure.name}.svg"] = drawing.svg(figure.title, file=True).encode()
        values = {"names": names, "notes": done.notes, "figures": shown, "shown": SHOWN}
        page = rendered("description.html.jinja", values)
        return {"report.html": page.encode(), "describe.json": json_bytes(done.as_json(), indent=1), **files}
