"""The leaderboard in a real browser."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from tests.evaluation import worlds
from tests.report import hostile

CUT = "return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
"""Number of tables that are wider than their box."""


class AlwaysA:
    def generate(self, prompts):
        return ["A" for _ in prompts]


def test_a_narrow_screen_shows_every_figure_of_an_evaluation_and_a_leaderboard(browser, tmp_path):
    inputs = ["full", "gray-image", "no-image", "no-question", "choices-only"]
    for name in ("one", "other"):
        vm.evaluate(worlds.benchmark(8), model=AlwaysA(), inputs=inputs, output=tmp_path / name)
    vm.compare([tmp_path / "one", tmp_path / "other"], by="label", output=tmp_path / "board.html")
    for page, heads in (("one/report.html", ("accuracy", "gain")), ("board.html", ("mean", "difference"))):
        browser.open(tmp_path / page, width=400)
        assert browser.run("return document.documentElement.scrollWidth") == 400 and browser.run(CUT) == 0
        assert all(f"{head}\n95% interval" in browser.text(".axis .figures") for head in heads)
        assert "25.0%" in browser.text("main .lead") or "Chance is 25.0%" in browser.text(".hero")
        if page.startswith("one"):
            assert "question and choices, no image" in browser.text(".headline.before")
        assert browser.count("line.zero") > 0  # random guessing


@pytest.mark.parametrize("width", [1280, 390])
def test_a_leaderboard_of_hostile_names_fits_the_screen_and_runs_nothing(browser, tmp_path, width):
    folders = []
    for at, text in enumerate(hostile.TEXTS):
        folders.append(tmp_path / f"run{at}")
        folders[-1].mkdir()
        about = {"model": f"{text} {at}", "dataset": text, "questions_sha256": "0", "inputs": {"full": {}}}
        (folders[-1] / "results.json").write_text(json.dumps(about))
        types = [hostile.TEXTS[(row + 1) % 11][:3000] for row in range(20)]
        types = [one.encode("utf-8", "replace").decode() for one in types]
        rows = {"question_id": [f"q{row}" for row in range(20)], "question_type": types}
        scores = {"full_score": [float(row % (at + 2) > 0) for row in range(20)]}
        pq.write_table(pa.table({**rows, **scores}), folders[-1] / "rows.parquet")
    page = tmp_path / "leaderboard.html"
    vm.compare(folders, by="question_type", output=page)
    browser.complaints()
    browser.requests()
    browser.open(page, width=width)
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run(CUT) == 0
    assert browser.run("return window.hacked === undefined && document.scripts.length === 0")
    assert browser.complaints() == []
    assert {one for one in browser.requests() if not one.startswith("data:")} == {page.as_uri()}
