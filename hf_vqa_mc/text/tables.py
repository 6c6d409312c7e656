r"""Tables of text cells: in terminals of any width, Markdown and LaTeX; data frames as CSV."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.result import HTML_ROWS
from hf_vqa_mc.text.markdown import one_line, plain

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

FOLDED = 12  # width above which a text may be folded before columns move to a further table
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after \\ it would begin an argument, and * is a part of \\*
    "*": "{*}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_NUMBER_SIGNS = re.compile(r"[-<>]")


class TextTable(NamedTuple):
    """Columns of text; in a narrow terminal with intervals below their numbers, and in several tables if need be."""

    columns: Mapping[str, list[str]]
    texts: Collection[str]  # columns of text, on the left; the others are numbers, on the right
    row_names: tuple[str, ...]
    """columns that name a row, in each table of a narrow terminal: as many of them as distinguish the rows"""

    @classmethod
    def of(cls, headings: Sequence[str], lines: Iterable[Sequence[str]]) -> "TextTable":
        """A table of lines whose first cell is their name, and the others numbers."""
        columns = dict(zip(headings, map(list, zip(*lines, strict=True)), strict=True))
        return cls(columns, headings[:1], (headings[0],))

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        if self._width(self.columns, 1) <= options.max_width:
            yield self._table(self.columns, 1)
            return
        stacked = self._replace(  # intervals below their numbers
            columns={
                name: column if name in self.texts else [cell.replace(" (", "\n(") for cell in column]
                for name, column in self.columns.items()
            }
        )
        every, row_names = list(self.columns), self._row_names()
        names = every if stacked._width(every, 0) <= options.max_width else row_names
        for name in [name for name in every if name not in names]:
            if len(names) > len(row_names) and stacked._width([*names, name], 0) > options.max_width:
                yield stacked._table(names, 0)
                names = row_names
            names = [*names, name]
        yield stacked._table(names, 0)

    def _row_names(self) -> list[str]:
        """The first columns of ``row_names`` whose cells distinguish the rows, else all."""
        names = [name for name in self.row_names if name in self.columns]
        for count in range(1, len(names)):
            rows = list(zip(*(self.columns[name] for name in names[:count]), strict=True))
            if len(set(rows)) == len(rows):
                return names[:count]
        return names

    def _width(self, names: Iterable[str], padding: int) -> int:
        """Width of a table with padding and borders, in which texts and headings are folded."""
        return sum(self._column_width(name) + 2 * padding + 1 for name in names) + 1

    def _column_width(self, name: str) -> int:
        """Width of a column: of all its cells if they are numbers."""
        from rich.cells import cell_len

        heading, cells = (
            max((cell_len(line) for text in texts for line in text.split("\n")), default=0)
            for texts in ([self._heading(name)], self.columns[name])
        )
        return min(max(heading, cells), FOLDED) if name in self.texts else max(min(heading, FOLDED), cells)

    def _table(self, names: Iterable[str], padding: int) -> "Table":
        from rich.table import Table
        from rich.text import Text

        table = Table(padding=(0, padding))
        for name in names:
            is_text = name in self.texts
            width = None if is_text else self._column_width(name)  # numbers are not folded
            justify: Literal["left", "right"] = "left" if is_text else "right"
            table.add_column(Text(self._heading(name)), justify=justify, overflow="fold", width=width)
        for cells in zip(*(self.columns[name] for name in names), strict=True):
            table.add_row(*map(Text, cells))
        return table

    def _heading(self, name: str) -> str:
        """A heading; that of numbers with a word per line, and long words with a part per line."""
        if name in self.texts:
            return name
        words = (word if len(word) <= FOLDED else word.replace("_", "_\n") for word in name.split(" "))
        return "\n".join(words)

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

    def to_latex(self) -> str:
        """The table as a LaTeX ``tabular`` with the rules of the package ``booktabs``."""
        cells = {
            name: list(map(latex if name in self.texts else _number, column)) for name, column in self.columns.items()
        }
        kinds = "".join("l" if name in self.texts else "r" for name in cells)
        rows = [f"{' & '.join(line)} \\\\" for line in zip(*cells.values(), strict=True)]
        heads = f"{' & '.join(map(latex, cells))} \\\\"
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", heads, r"\midrule", *rows, r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}", ""])


def latex(text: str) -> str:
    r"""One line of LaTeX that looks like the text.

    >>> print(latex("a_b & 50%"))
    a\_b \& 50\%
    """
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def _number(cell: str) -> str:
    """A cell of a number, with the signs of mathematics."""
    return _NUMBER_SIGNS.sub(lambda found: f"${found[0]}$", one_line(cell).replace("%", r"\%"))


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
