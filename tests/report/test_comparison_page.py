"""The leaderboard in a real browser."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from tests.report import hostile


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
    assert browser.run("return window.hacked === undefined && document.scripts.length === 0")
    assert browser.complaints() == []
    assert {one for one in browser.requests() if not one.startswith("data:")} == {page.as_uri()}
