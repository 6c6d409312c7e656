"""The badge: its figures, and texts of the benchmark, which are inert."""

from xml.etree import ElementTree as ET

import pytest

from hf_vqa_mc.report.badge import NONE, badge_svg
from tests.report import audits, hostile


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_it_shows_the_strongest_significant_shortcut_and_chance():
    assert texts(badge_svg(audits.audit())) == ["shortcuts", "58% without the image (chance 25%)"]


def test_it_says_that_none_was_found():
    svg = badge_svg(audits.audit(strength=0.0))
    assert texts(svg) == ["shortcuts", "none found (chance 25%)"]
    assert NONE in svg


@pytest.mark.parametrize("name", [*hostile.TEXTS, "/home/SECRETDIR/x.csv"])
def test_names_are_escaped_and_have_no_folders(name):
    svg = badge_svg({**audits.audit(), "dataset": name, "config": name})
    root = ET.fromstring(svg)
    drawn = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert drawn == {"svg", "title", "clipPath", "rect", "g", "text"}
    assert len(svg) < 3000
    assert "SECRETDIR" not in badge_svg({**audits.audit(), "dataset": name})
