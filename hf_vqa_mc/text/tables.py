"""Tables of text cells: in terminals of any width and Markdown; data frames as CSV."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.result import HTML_ROWS
from hf_vqa_mc.text.markdown import one_line, plain

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

FOLDED = 12  # width above which a word of a heading is folded at its underscores, and below which texts are not
NARROW, WIDEST = 60, 1000  # terminal width up to which tables have no padding, and up to which they grow


class TextTable(NamedTuple):
    """Columns of text. Numbers are never folded; where they need it, the table is wider than the terminal."""

    columns: Mapping[str, list[str]]
    texts: Collection[str]  # columns of text, on the left; the others are numbers, on the right
    groups: Sequence[str] = ()  # heading of each row's group in terminals, "" for none

    @classmethod
    def of(cls, headings: Sequence[str], lines: Sequence[Sequence[str]], texts: int = 1) -> "TextTable":
        """A table of lines whose first cells are texts, and the others numbers."""
        return cls({name: [line[at] for line in lines] for at, name in enumerate(headings)}, headings[:texts])

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        from rich.table import Table
        from rich.text import Text

        table = Table(padding=(0, 1 if options.max_width > NARROW else 0))
        for name, column in self.columns.items():
            is_text = name in self.texts
            words = (word if len(word) <= FOLDED else word.replace("_", "_\n") for word in name.split(" "))
            heading = name if is_text else "\n".join(words)
            least = max(len(line) for cell in (heading, *column) for line in cell.split("\n"))
            least = min(least, FOLDED) if is_text else least
            justify: Literal["left", "right"] = "left" if is_text else "right"
            table.add_column(Text(heading), justify=justify, overflow="fold", no_wrap=not is_text, min_width=least)
        rows = zip(*self.columns.values(), strict=True)
        for group, lines in groupby(zip(self.groups or repeat(""), rows, strict=False), key=itemgetter(0)):
            table.add_section()
            if group:
                table.add_row(group, style="bold")
            for _, cells in lines:
                table.add_row(*(Text("\n".join(map(one_line, cell.split("\n")))) for cell in cells))
        least = console.measure(table, options=options.update(max_width=WIDEST)).minimum
        table.width = least if least > options.max_width else None
        yield table

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
