"""Tables of text cells: in terminals of any width and Markdown; data frames as CSV."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.result import HTML_ROWS
from hf_vqa_mc.text.markdown import one_line, plain

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

FOLDED = 12  # width above which a word of a heading is folded at its underscores


class TextTable(NamedTuple):
    """Columns of text; in a narrow terminal with intervals below their numbers, then with a table for each row."""

    columns: Mapping[str, list[str]]
    texts: Collection[str]  # columns of text, on the left; the others are numbers, on the right, and never folded

    @classmethod
    def of(cls, headings: Sequence[str], lines: Sequence[Sequence[str]], texts: int = 1) -> "TextTable":
        """A table of lines whose first cells are texts, and the others numbers."""
        return cls({name: [line[at] for line in lines] for at, name in enumerate(headings)}, headings[:texts])

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        from rich.table import Table
        from rich.text import Text

        for table in (self._table(console, stacked=False), self._table(console, stacked=True)):
            if console.measure(table, options=options.update(max_width=1000)).minimum <= options.max_width:
                yield table
                return
        for row in zip(*self.columns.values(), strict=True):
            table = Table(show_header=False)
            for name, cell in zip(self.columns, row, strict=True):
                table.add_row(Text(name), Text(cell))
            yield table

    def _table(self, console: "Console", stacked: bool) -> "Table":
        """A table whose headings of numbers have a word per line."""
        from rich.measure import measure_renderables
        from rich.table import Table
        from rich.text import Text

        table = Table(padding=(0, 0 if stacked else 1))
        cells = []
        for name, column in self.columns.items():
            is_text = name in self.texts
            words = (word if len(word) <= FOLDED else word.replace("_", "_\n") for word in name.split(" "))
            heading = Text(name if is_text else "\n".join(words))
            cells.append([Text(one.replace(" (", "\n(") if stacked and not is_text else one) for one in column])
            width = max(measure_renderables(console, console.options, [heading, *cells[-1]]).maximum, 1)
            justify: Literal["left", "right"] = "left" if is_text else "right"
            least = min(width, FOLDED) if is_text else width
            table.add_column(heading, justify=justify, overflow="fold", no_wrap=not is_text, min_width=least)
        for row in zip(*cells, strict=True):
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        """The table in Markdown."""
        lines = [map(plain, self.columns), ["---" if name in self.texts else "--:" for name in self.columns]]
        lines += [map(plain, line) for line in zip(*self.columns.values(), strict=True)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_html(self) -> str:
        """The table in HTML, for notebooks."""
        import pandas as pd

        columns = {name: [one_line(cell) for cell in column] for name, column in self.columns.items()}
        with pd.option_context("display.max_colwidth", None):
            html: str = pd.DataFrame(columns).to_html(index=False, max_rows=HTML_ROWS)
        return html


def csv_bytes(frame: "pd.DataFrame") -> bytes:
    """A data frame as CSV, in which spreadsheets find no formulas."""
    text: str = frame.rename(columns=_no_formula).map(_no_formula).to_csv(index=False)
    return text.encode()


def frame_bytes(frame: "pd.DataFrame", suffix: str) -> bytes:
    """A data frame in the format of a suffix: .csv as `csv_bytes`, .parquet, .json (a list of records) or .jsonl."""
    from hf_vqa_mc.io.atomic import json_bytes

    if suffix == ".csv":
        return csv_bytes(frame)
    if suffix == ".parquet":
        return bytes(frame.to_parquet(index=False))
    records = json.loads(frame.to_json(orient="records"))
    return json_bytes(records, 1) if suffix == ".json" else b"".join(map(json_bytes, records))


def _no_formula(value: Any) -> Any:  # noqa: ANN401  any cell
    """A cell of CSV; a text that spreadsheets would take for a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def check_suffix(path: Path, what: str, formats: Collection[str]) -> str:
    """The suffix of a file that ``what`` names; raises InputError unless it is one of the formats."""
    if path.suffix not in formats:
        raise InputError(f"{what} {path}: expected a file with one of the suffixes {', '.join(formats)}")
    return path.suffix
