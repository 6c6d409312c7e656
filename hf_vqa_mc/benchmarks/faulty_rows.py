"""The error for rows that cannot be read; it lists all of them, for `vqa-mc lint`."""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError


class FaultyRows(InputError):
    """Rows of a split that cannot be read.

    Args:
        message: names the first row.
        fault: ``question``, ``label`` or ``choices``.
        rows: all such rows, indices in the split.
        column: of the faulty cells; "" for several columns.
    """

    def __init__(self, message: str, fault: str, rows: NDArray[np.integer], column: str = "") -> None:
        super().__init__(f"{message}; vqa-mc lint lists all faulty rows")
        self.message, self.fault, self.rows, self.column = message, fault, rows, column
        self.split = ""
        """set where the split's name is known"""
