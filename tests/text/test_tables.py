"""Numbers of a table are never cut or folded."""

import io

import pytest
from rich.console import Console

from hf_vqa_mc.text.tables import TextTable

TABLE = TextTable(
    {
        "run": ["a model with a long name", "b"],
        "accuracy": ["51.9 (50.0 to 53.0)", "1.0"],
        "full minus this": ["+1.0 (0.0 to 1.2)", ""],
        "questions": ["1,000", "23"],
    },
    ("run",),
)


@pytest.mark.parametrize("width", [100, 60, 30])
def test_all_numbers_are_whole_at_any_width(width):
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(TABLE, crop=False)
    words = text.getvalue().replace("│", " ").split()
    for cell in (*TABLE.columns["accuracy"], *TABLE.columns["full minus this"], *TABLE.columns["questions"]):
        assert {*cell.split()} <= {*words}, cell
