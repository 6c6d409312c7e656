"""Values on Markdown pages stay text, whatever they hold."""

import re
from pathlib import Path

import pytest

from hf_vqa_mc.text.markdown import code, environment, plain

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://127.0.0.1/x.png)",
    "a | b\n\n# heading\n- item",
    "``` \n<script>alert(1)</script>",
    "https://127.0.0.1/x www.example.org",
    "\u202eright\u0000to left",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_in_a_template_is_escaped_on_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("| {{ text }} | {{ text|plain }} | {{ [text, 1]|cells }} | {{ text|code }} |")
    found = environment(tmp_path).get_template("page.md").render(text=text)
    outside = re.sub(r"`[^`]*`", "", found.replace("\\`", ""))
    assert "\n" not in found
    assert re.search(r"(?<!\\)[<\[]|https?://|www\.", outside) is None
    assert len(re.findall(r"(?<!\\)\|", outside)) == 6


def test_numbers_and_names_look_as_before() -> None:
    assert [plain(text) for text in ("1,234.5%", "+3.0", "a red bus (2)")] == ["1,234.5%", "+3.0", "a red bus (2)"]
    assert code("cocoqa_iou") == "`cocoqa_iou`"
