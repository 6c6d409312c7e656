"""Shapes are as large as the numbers that they show."""

from itertools import pairwise
from math import pi
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.audits.figures.figure import Found, Share
from hf_vqa_mc.report.charts import HOLE, OTHERS, SERIES, SUNBURST, WIDTH, bars, lines, stacked, sunburst, text_width

COUNTS = st.lists(st.integers(1, 1000), min_size=1, max_size=20)


class Drawn:
    """The polygons and texts of a drawing, read from its SVG."""

    def __init__(self, drawing):
        elements = list(ElementTree.fromstring(drawing.svg("title")))
        polygons = [one for one in elements if one.tag.endswith("polygon")]
        self.points = [[tuple(map(float, one.split(","))) for one in each.get("points").split()] for each in polygons]
        self.titles = ["".join(one.itertext()) for one in polygons]
        self.colours = [one.get("class").removeprefix("fill-") for one in polygons]
        self.labels = [one for one in elements if one.tag.endswith("text")]
        self.texts = [one.text for one in self.labels]


def area(points):
    """Of a polygon."""
    return abs(sum(x * w - z * y for (x, y), (z, w) in pairwise([*points, points[0]]))) / 2


@given(COUNTS)
def test_arcs_have_their_shares_of_the_ring(counts):
    shares = [Share(count / sum(counts)) for count in counts]
    found = Found(table={"word": [f"w{row}" for row in range(len(counts))], "share": shares})
    drawn = Drawn(sunburst([("data", found)], ("word",), "share"))
    radius, hole = SUNBURST / 2 - 1, SUNBURST / 2 * HOLE
    for points, share in zip(drawn.points, shares, strict=True):
        ring = pi * (radius**2 - hole**2)
        assert area(points) == pytest.approx(share * ring, rel=0.01, abs=0.005 * ring)  # gaps
        assert all(0 <= x <= 480 and 0 <= y <= SUNBURST for x, y in points)


@given(COUNTS, COUNTS)
def test_bars_of_two_datasets_have_one_scale(one, other):
    tables = [{"name": [f"n{row}" for row in range(len(counts))], "count": counts} for counts in (one, other)]
    drawn = Drawn(bars([("a", Found(table=tables[0])), ("b", Found(table=tables[1]))], "name", "count"))
    shown = [(points, title) for points, title in zip(drawn.points, drawn.titles, strict=True) if title]
    lengths = [(points[1][0] - points[0][0], int(title.split(": ")[1].replace(",", ""))) for points, title in shown]
    scale = max(length for length, _ in lengths) / max(count for _, count in lengths)
    assert [length for length, _ in lengths] == pytest.approx([scale * count for _, count in lengths], abs=0.21)
    assert {colour for colour, title in zip(drawn.colours, drawn.titles, strict=True) if title} <= set(SERIES)


@pytest.mark.parametrize("names", [["1", "2"], ["does the image not contain a", "is"], ["x" * 300, "y"]])
def test_names_and_figures_of_bars_are_inside_the_picture(names):
    table = {"name": names, "share": [Share(1), Share(0.5)]}
    drawn = Drawn(bars([("data", Found(table=table))], "name", "share"))
    ends = {"start": (0, 1), "end": (-1, 0)}
    for label in drawn.labels:
        width = text_width(label.text, float(label.get("font-size")))
        first, last = (float(label.get("x")) + part * width for part in ends[label.get("text-anchor")])
        assert -0.1 <= first and last <= WIDTH + 0.1
    assert names[0] in drawn.texts or len(names[0]) > 30


@pytest.mark.parametrize("values", [[0.0], [1e-12], [5, 5], [1e9, 3]])
def test_axes_of_any_numbers_are_drawn(values):
    found = Found(table={"x": list(range(len(values))), "y": values})
    assert lines([("data", found)], "x", "y", "x").labels
    found = Found(table={"x": [one + 1 for one in range(len(values))], "y": values})
    assert lines([("data", found)], "x", "y", "x", logarithmic=True).labels


def test_equal_parts_have_one_colour_in_all_bars_and_only_others_are_grey():
    rows = [(group, f"a{(2 * group + part) % 12}", 0.3 - part / 10) for group in range(6) for part in range(3)]
    table = dict(zip(("group", "part", "share"), map(list, zip(*rows, strict=True)), strict=True))
    table["group"] = list(map(str, table["group"]))
    drawn = Drawn(stacked([("data", Found(table=table))], "group", "part", "share"))
    colours = {(title.split()[1], colour) for title, colour in zip(drawn.titles, drawn.colours, strict=True)}
    own = [colour for _, colour in colours if colour != OTHERS]
    assert len(colours) == len({name for name, _ in colours}) == 12 and len(own) == len(set(own)) == 7


@pytest.mark.parametrize(("draw", "columns"), [(bars, ("name", "share")), (stacked, ("name", "part", "share"))])
def test_a_picture_says_how_many_bars_it_leaves_out(draw, columns):
    names = [f"n{row}" for row in range(40)]
    table = {"name": names, "part": ["x"] * 40, "share": [Share(0.5)] * 40}
    texts = Drawn(draw([("data", Found(table=table))], *columns)).texts
    assert [text for text in texts if "more" in text] == ["16 more in the table only"]
    few = {name: column[:24] for name, column in table.items()}
    assert not any("more" in text for text in Drawn(draw([("data", Found(table=few))], *columns)).texts)
