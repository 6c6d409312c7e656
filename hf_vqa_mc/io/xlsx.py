"""The first sheet of xlsx files."""

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.io.packed import check_size

if TYPE_CHECKING:
    import pandas as pd


def read_xlsx(path: Path) -> "pd.DataFrame":
    """The cells as text; raises InputError if it is no such file, or unpacks to too much."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise MissingExtra("openpyxl", "evaluate")
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(str(path), path.stat().st_size, sum(one.file_size for one in archive.infolist()))
        return pd.read_excel(path, dtype=str, keep_default_na=False, na_filter=False, engine="openpyxl")
    except InputError:
        raise
    except Exception as error:  # openpyxl raises whatever damaged XML leads to
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as xlsx ({reason}); save it again, or as csv") from error
