r"""Tables of text cells: in terminals of any width, Markdown and LaTeX; data frames as CSV."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.markdown import code, one_line, plain

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
        for table, padding in ((self, 1), (self._stacked(), 0)):
            if table._width(self.columns, padding) <= options.max_width:
                yield table._table(self.columns, padding)
                return
        row_names = self._row_names()
        names = row_names
        for name in [name for name in self.columns if name not in row_names]:
            if len(names) > len(row_names) and table._width([*names, name], padding) > options.max_width:
                yield table._table(names, padding)
                names = row_names
            names = [*names, name]
        yield table._table(names, padding)

    def _stacked(self) -> "TextTable":
        """The table with intervals below their numbers."""
        return self._replace(
            columns={
                name: column if name in self.texts else [cell.replace(" (", "\n(") for cell in column]
                for name, column in self.columns.items()
            }
        )

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
        heading, cells = _widest([self._heading(name)]), _widest(self.columns[name])
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

    def to_markdown(self, codes: Collection[str] = ()) -> str:
        """The table in Markdown; cells of the columns ``codes`` are code."""
        cells = {
            name: [code(cell) if cell and name in codes else plain(cell) for cell in column]
            for name, column in self.columns.items()
        }
        lines = [list(map(plain, cells)), ["---" if name in self.texts else "--:" for name in cells]]
        lines += [list(line) for line in zip(*cells.values(), strict=True)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_latex(self) -> str:
        """The table as a LaTeX ``tabular`` with the rules of the package ``booktabs``."""
        cells = {
            name: [latex(cell) if name in self.texts else _number(cell) for cell in column]
            for name, column in self.columns.items()
        }
        kinds = "".join("l" if name in self.texts else "r" for name in cells)
        rows = [f"{' & '.join(line)} \\\\" for line in zip(*cells.values(), strict=True)]
        heads = f"{' & '.join(map(latex, cells))} \\\\"
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", heads, r"\midrule", *rows, r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}", ""])


def _widest(texts: Iterable[str]) -> int:
    """Cells that the widest line of some texts takes in a terminal."""
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


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
