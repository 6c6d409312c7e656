"""Whatever text a cell holds, pandas reads it as that text, but for a no-break space at its end."""

import csv
import io

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.exports.vlmevalkit import GUARD, guarded

TRICKY = ["None", "NA", "nan", "1", "2.50", "007", "1e3", "True", "yes", '"', "a\tb", "a\r\nb", " ", "-inf"]
CELLS = st.none() | st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def read(columns):
    text = io.StringIO()
    lines = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    lines.writerows([columns, *zip(*columns.values(), strict=True)])
    return pandas.read_csv(io.StringIO(text.getvalue()), sep="\t")


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12))
def test_cells_come_back_as_they_were(rows):
    columns = {"A": [row[0] for row in rows], "B": [row[1] for row in rows]}
    kept, guards = guarded(columns)
    back = read({"index": [str(at) for at in range(len(rows))], **kept})
    guarded_cells = 0
    for name, cells in columns.items():
        for cell, read_cell in zip(cells, back[name], strict=True):
            same = cell and str(read_cell).removesuffix(GUARD) == cell.removesuffix(GUARD)
            assert pandas.isna(read_cell) if cell is None else same
            guarded_cells += cell is not None and str(read_cell) != cell
    assert guarded_cells == guards


@pytest.mark.parametrize(
    ("cells", "guards"),
    [(["a", "None"], 1), (["1", "2"], 0), (["1", None], 1), (["1", "2.50"], 2), (["1", "a"], 0), (["yes", "no"], 0)],
)
def test_only_cells_that_pandas_would_change_are_guarded(cells, guards):
    assert guarded({"A": cells})[1] == guards
