"""The report of a remedy: its page and its JSON."""

import json

from tests.report import hostile, remedies
from tests.report.test_report import Elements


def test_the_page_has_the_judgement_the_table_each_probe_and_the_next_command():
    page = Elements(remedies.page())
    assert "15.0 points from chance before the remedy" in page.text
    assert "5.0 points from chance after the remedy" in page.text
    assert "Better on average, but 1 of 2 probes find a larger leak." in page.text
    assert "choices alone: strongest probe 40.0% ± 2.0 (forest on character LSA)" in page.text
    assert "forest on character LSA choices alone · distance -10.0 (-13.0 to -7.0); better" in page.text
    assert "most words of the question question and choices · distance +10.0 (+7.0 to +13.0); worse" in page.text
    assert "Audit the result: vqa-mc audit new.csv" in page.text


def test_the_chart_has_a_bar_before_and_after_for_each_probe():
    found = Elements(remedies.page()).found
    for side in ("before", "after"):
        bars = [one["width"] for tag, one in found if tag == "rect" and one["class"] == f"bar {side}"]
        assert len(bars) == 1 + len(remedies.PROBES)  # and a mark in the legend
    widths = [float(one["width"].rstrip("%")) for tag, one in found if tag == "rect" and "%" in one["width"]]
    assert [round(width / widths[0], 2) for width in widths] == [1, 0.33, 1, 1.67]  # 15, 5, 15 and 25 points


def test_at_most_100_changed_decoys_are_on_the_page_and_all_in_the_json():
    found = remedies.contents(n_changes=150)
    page = Elements(found["report.html"].decode())
    assert "100 of 150; report.json has all." in page.text
    assert "a cat99" in page.text and "a cat100" not in page.text
    assert len(json.loads(found["report.json"])["remedy"]["changes"]) == 150


def test_coverage_and_leak_are_listed_for_closed_sets_only():
    page = Elements(remedies.page(closed=True)).text
    assert "Kept: 90.0% of the questions, +16.9 points." in page
    assert "0.980 3,920 +20.0" in page
    assert "Coverage and leak" not in Elements(remedies.page()).text


def test_hostile_text_adds_no_element_and_no_attribute():
    good, bad = Elements(remedies.page()), Elements(remedies.page(hostile.TEXTS, n_changes=100))
    assert set(bad.tags) <= set(good.tags) | {"wbr"}
    assert "script" not in bad.tags
    assert {name for _, one in bad.found for name in one} <= {name for _, one in good.found for name in one}
