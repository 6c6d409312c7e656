"""Tables in xlsx files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hf_vqa_mc.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import pandas as pd


def read_xlsx(path: Path) -> "pd.DataFrame":
    """The cells of the only sheet with rows as text; raises InputError if the file cannot be read, or has several."""
    import pandas as pd

    try:
        options = {"dtype": str, "keep_default_na": False, "na_filter": False, "engine": "openpyxl"}
        sheets: dict[str, pd.DataFrame] = pd.read_excel(path, sheet_name=None, **options)
    except ImportError:
        raise MissingExtra("openpyxl", "evaluate") from None
    except Exception as error:  # openpyxl raises whatever damaged XML leads to
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as xlsx ({reason}); save it again, or as csv") from error
    filled = [str(name) for name, frame in sheets.items() if len(frame)]
    if len(filled) > 1:
        raise InputError(
            f"{path}: the sheets {', '.join(filled)} have rows; save the one to read as a file of its own"
        )
    return sheets[filled[0]] if filled else next(iter(sheets.values()))


def write_xlsx(file: IO[bytes], columns: Mapping[str, Sequence[object]]) -> None:
    """Write columns of cells as a sheet; texts that begin with "=" remain texts."""
    import pandas as pd

    with pd.ExcelWriter(file, engine="openpyxl") as writer:
        pd.DataFrame(dict(columns)).to_excel(writer, index=False)
        for row in next(iter(writer.sheets.values())).iter_rows():
            for cell in row:
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type
