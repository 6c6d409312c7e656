"""What the reader makes of every layout is what it made when the golden file was written.

After a change that is meant to move it: ``python -m tests.golden.rewrite layouts``.
"""

from pathlib import Path

import pytest

from tests.golden.layouts import LAYOUTS
from tests.golden.rewrite import REFUSED, golden, read_layout

GOLDEN = golden("layouts")


def test_the_golden_file_has_all_layouts_and_no_others() -> None:
    assert list(GOLDEN) == list(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_as_before(name: str, tmp_path: Path) -> None:
    expected = GOLDEN[name]
    if isinstance(expected, str) and expected != REFUSED:
        expected = GOLDEN[expected.removeprefix("as ")]
    found = read_layout(name, tmp_path)
    assert found == expected
    if expected != REFUSED:
        assert list(found["splits"]) == list(expected["splits"])  # in the same order
