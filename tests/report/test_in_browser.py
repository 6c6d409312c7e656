"""The pages in a real browser: they open from the disk, request nothing, page and filter, and run nothing foreign."""

import pytest

from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.preview import preview_html
from hf_vqa_mc.report.report import report_html
from tests.report import audits, hostile, remedies

CARDS, WHERE = "#cards .card", "#where"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages by their names; those called spoilt are of hostile text."""
    folder = tmp_path_factory.mktemp("pages")
    audit, shown = audits.audit(), audits.examples(14, kinds=True)
    bad = hostile.questions(shown)
    contents = {
        "one": report_html(audit, shown),
        "remedy": remedies.page(),
        "preview": preview_html("a dataset", shown),
        "spoilt": report_html(hostile.spoilt(audit), bad),
        "spoilt-remedy": remedies.page(hostile.TEXTS),
        "spoilt-preview": preview_html(hostile.TEXTS[0], bad),
    }
    made = {name: folder / f"{name}.html" for name in contents}
    for name, content in contents.items():
        made[name].write_text(content, "utf-8")
    return made


@pytest.fixture
def opened(browser, pages):
    """Opens a page by its name; afterwards the console is empty and nothing was requested but the page."""

    def opened(name, **window):
        browser.complaints()
        browser.requests()
        visited.append(pages[name].as_uri())
        browser.open(pages[name], **window)
        return browser

    visited: list[str] = []
    yield opened
    assert browser.complaints() == []
    assert {address for address in browser.requests() if not address.startswith("data:")} == set(visited)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "remedy", "preview"])
@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_from_the_disk_and_fits_the_screen(opened, name, width, dark):
    browser = opened(name, width=width, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") == width
    images = browser.run("return [...document.images].map((one) => one.naturalWidth > 0)")
    assert images or name == "remedy"
    assert all(images)


@pytest.mark.slow
def test_bars_are_as_long_as_their_gains(opened):
    browser = opened("one")
    widths = browser.run(
        "return [...document.querySelectorAll('#shortcuts .row .bar')].map((one) => one.getBoundingClientRect().width)"
    )
    gains = [row[3] for row in audits.SHORTCUTS if row[1] != "everything"]
    for width, gain in zip(widths[:8], gains[:8], strict=True):
        assert width / widths[0] == pytest.approx(gain / gains[0], abs=0.01)


@pytest.mark.slow
def test_buttons_and_arrow_keys_turn_pages(opened):
    browser = opened("one")
    assert (browser.text(WHERE), browser.count(CARDS)) == ("1 to 6 of 14", 6)
    browser.click("#next")
    assert browser.text(WHERE) == "7 to 12 of 14"
    browser.type("body", "\ue014")  # the right arrow
    assert (browser.text(WHERE), browser.count(CARDS)) == ("13 to 14 of 14", 2)
    assert browser.run("return document.getElementById('next').disabled")
    browser.type("body", "\ue014")
    assert browser.text(WHERE) == "13 to 14 of 14"
    browser.type("body", "\ue012")  # the left arrow
    browser.click("#back")
    assert browser.text(WHERE) == "1 to 6 of 14"


@pytest.mark.slow
def test_questions_can_be_chosen_by_type_reason_outcome_and_text(opened):
    browser = opened("one")
    browser.click("#by-type option[value=where]")
    assert browser.text(WHERE) == "1 to 3 of 3"
    browser.click("#by-type option:first-child")
    browser.click("#by-outcome option[value=wrong]")
    wrong = sum(one.picked not in (None, one.label) for one in audits.examples(14))
    assert browser.text(WHERE).endswith(f"of {wrong}")
    assert browser.count(".mark.correct") == 0
    browser.click("#by-outcome option:first-child")
    browser.type("#by-text input", "umbrella")
    assert browser.text(WHERE) == "1 to 3 of 3"
    browser.type("#by-text input", " that is not there")
    assert browser.text(WHERE) == "0 of 0"
    assert "No matching questions" in browser.text("#cards")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spoilt", "spoilt-remedy", "spoilt-preview"])
def test_hostile_text_does_not_run_and_adds_nothing(opened, name):
    browser = opened(name)
    for _ in range(4 if name == "spoilt" else 0):
        browser.type("body", "\ue014")
        assert browser.count(CARDS)
    assert browser.run("return window.hacked") is None
    assert browser.count("script") == (2 if name == "spoilt" else 0)
    assert browser.count("main iframe, main link, main object, main form, main style") == 0
    assert "</script><script>" in browser.text("main")  # it is shown as it is
    assert browser.run("return document.documentElement.scrollWidth") == 1280


@pytest.mark.slow
def test_even_a_hole_in_the_page_would_let_nothing_run(browser, tmp_path):
    page = rendered("preview.html.jinja", {"title": "HOLE", "facts": {}, "cards": []})
    attack = (
        f"<script>{hostile.ALARM}</script><img src=x onerror='{hostile.ALARM}'><style>body {{ margin: 77px }}</style>"
    )
    (tmp_path / "hole.html").write_text(page.replace("HOLE", attack), "utf-8")
    browser.open(tmp_path / "hole.html")
    assert browser.run("return window.hacked") is None
    assert browser.run("return getComputedStyle(document.body).marginTop") == "0px"
    assert any("Content Security Policy" in message for message in browser.complaints())
    browser.requests()
