"""Shapes are as large as the numbers that they show."""

from itertools import pairwise
from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.audits.figures.charts import HOLE, OTHERS, SERIES, SUNBURST, Bars, Lines, Stacked, Sunburst, text_width
from hf_vqa_mc.audits.figures.figure import Found, Share

COUNTS = st.lists(st.integers(1, 1000), min_size=1, max_size=20)


def area(points):
    """Of a polygon."""
    return abs(sum(x * w - z * y for (x, y), (z, w) in pairwise([*points, points[0]]))) / 2


@given(COUNTS)
def test_arcs_have_their_shares_of_the_ring(counts):
    shares = [Share(count / sum(counts)) for count in counts]
    found = Found(table={"word": [f"w{row}" for row in range(len(counts))], "share": shares})
    shapes = Sunburst(("word",), "share")([("data", found)]).shapes
    radius, hole = SUNBURST / 2 - 1, SUNBURST / 2 * HOLE
    for shape, share in zip(shapes, shares, strict=True):
        ring = pi * (radius**2 - hole**2)
        assert area(shape.points) == pytest.approx(share * ring, rel=0.01, abs=0.005 * ring)  # gaps
        assert all(0 <= x <= 480 and 0 <= y <= SUNBURST for x, y in shape.points)


@given(COUNTS, COUNTS)
def test_bars_of_two_datasets_have_one_scale(one, other):
    tables = [{"name": [f"n{row}" for row in range(len(counts))], "count": counts} for counts in (one, other)]
    drawing = Bars("name", "count")([("a", Found(table=tables[0])), ("b", Found(table=tables[1]))])
    bars = [shape for shape in drawing.shapes if shape.title]
    scales = [(one.points[1][0] - one.points[0][0]) / int(one.title.split(": ")[1].replace(",", "")) for one in bars]
    assert scales == [pytest.approx(scales[0])] * len(scales)
    assert {bar.colour for bar in bars} <= set(SERIES)


@pytest.mark.parametrize("names", [["1", "2"], ["does the image not contain a", "is"], ["x" * 300, "y"]])
def test_names_and_figures_of_bars_are_inside_the_picture(names):
    drawing = Bars("name", "share")([("data", Found(table={"name": names, "share": [Share(1), Share(0.5)]}))])
    ends = {"start": (0, 1), "end": (-1, 0)}
    for label in drawing.labels:
        first, last = (label.x + part * text_width(label.text, label.size) for part in ends[label.anchor])
        assert 0 <= first and last <= drawing.width
    assert any(label.text == names[0] for label in drawing.labels) or len(names[0]) > 30


def test_numbers_of_two_datasets_ascend():
    tables = [{"words": words, "share": [Share(0.5)] * len(words)} for words in ([3, 4], [1, 4, 10])]
    drawing = Bars("words", "share")([("a", Found(table=tables[0])), ("b", Found(table=tables[1]))])
    assert [label.text for label in drawing.labels if label.anchor == "end"] == ["1", "3", "4", "10"]


def test_a_dataset_without_the_figure_leaves_the_other_its_colour():
    drawing = Bars("name", "count")([("a", Found()), ("b", Found(table={"name": ["x"], "count": [1]}))])
    assert [shape.colour for shape in drawing.shapes if shape.title] == ["b"]


@pytest.mark.parametrize("values", [[0.0], [1e-12], [5, 5], [1e9, 3]])
def test_axes_of_any_numbers_are_drawn(values):
    found = Found(table={"x": list(range(len(values))), "y": values})
    assert Lines("x", "y", "x")([("data", found)]).labels
    found = Found(table={"x": [one + 1 for one in range(len(values))], "y": values})
    assert Lines("x", "y", "x", logarithmic=True)([("data", found)]).labels


def test_equal_parts_have_one_colour_in_all_bars_and_only_others_are_grey():
    rows = [(group, f"a{(2 * group + part) % 12}", 0.3 - part / 10) for group in range(6) for part in range(3)]
    table = dict(zip(("group", "part", "share"), map(list, zip(*rows, strict=True)), strict=True))
    table["group"] = list(map(str, table["group"]))
    shapes = Stacked("group", "part", "share")([("data", Found(table=table))]).shapes
    colours = {(shape.title.split()[1], shape.colour) for shape in shapes}
    own = [colour for _, colour in colours if colour != OTHERS]
    assert len(colours) == len({name for name, _ in colours}) == 12 and len(own) == len(set(own)) == 7


@pytest.mark.parametrize("draw", [Bars("name", "share"), Stacked("name", "part", "share")])
def test_a_picture_says_how_many_bars_it_leaves_out(draw):
    names = [f"n{row}" for row in range(40)]
    table = {"name": names, "part": ["x"] * 40, "share": [Share(0.5)] * 40}
    last = draw([("data", Found(table=table))]).labels
    assert [label.text for label in last if "more" in label.text] == ["16 more in the table only"]
    few = {name: column[:24] for name, column in table.items()}
    assert not any("more" in label.text for label in draw([("data", Found(table=few))]).labels)
