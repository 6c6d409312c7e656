"""TSV cells that pandas reads back unchanged.

VLMEvalKit reads its files with ``pandas.read_csv``, which parses a choice "None" or "NA" as missing, and a column of
"1", "2" and gaps as 1.0 and 2.0. A no-break space at the end of such cells prevents that and is invisible.
"""

import csv
import io
from collections.abc import Mapping, Sequence

from hf_vqa_mc.errors import InputError, shown

GUARD = "\N{NO-BREAK SPACE}"
Cells = Sequence[str | None]


def guarded(columns: Mapping[str, Cells], location: str) -> tuple[dict[str, list[str | None]], int]:
    """Columns that pandas reads unchanged, and how many cells needed a no-break space.

    Args:
        columns: name to cells, None for a missing cell; all of the same length.
        location: for messages.

    Raises:
        InputError: pandas cannot read a cell unchanged, such as one with a NUL character.
    """
    kept = {name: [cell or None for cell in cells] for name, cells in columns.items()}
    guards = 0
    for _ in range(2):  # two rounds: numbers are read as text only once the other cells are
        wrong = _misread(kept)
        if not any(wrong.values()):
            return kept, guards
        for name, rows in wrong.items():
            for row in rows:
                kept[name][row] = f"{kept[name][row]}{GUARD}"
            guards += len(rows)
    for name, rows in _misread(kept).items():
        if rows:
            text = shown(kept[name][rows[0]])
            raise InputError(f"{location}, row {rows[0]}: {name} is {text}, which a TSV file cannot hold; fix the row")
    return kept, guards


def tsv_lines(columns: Mapping[str, Cells], rows: Sequence[int]) -> str:
    """Rows of a TSV file, every cell in quotes, without a header."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([columns[name][row] or "" for name in columns] for row in rows)
    return text.getvalue()


def tsv_header(names: Sequence[str]) -> str:
    """The first line of a TSV file."""
    return "\t".join(names) + "\n"


def _misread(columns: Mapping[str, list[str | None]]) -> dict[str, list[int]]:
    import pandas

    size = len(next(iter(columns.values())))
    cells_read: dict[str, Cells] = {**columns, "image": ["x"] * size}  # the column count changes pandas' chunks
    text = tsv_header(list(cells_read)) + tsv_lines(cells_read, range(size))
    read = pandas.read_csv(io.StringIO(text), sep="\t")
    if len(read) != size:
        raise InputError(f"pandas reads {len(read)} of {size} rows; a cell has characters that TSV cannot hold")
    wrong = {}
    for name, cells in columns.items():
        missing, texts = read[name].isna().tolist(), read[name].astype(str).tolist()
        pairs = enumerate(zip(cells, missing, texts, strict=True))
        wrong[name] = [row for row, (cell, gone, text) in pairs if cell is not None and (gone or text != cell)]
        gaps = (gone for cell, gone in zip(cells, missing, strict=True) if cell is None)
        if not wrong[name] and not all(gaps):  # next to integers beyond 64 bits, gaps are read as empty text
            wrong[name] = [row for row, cell in enumerate(cells) if cell and cell.strip("+-").isdecimal()]
    return wrong
