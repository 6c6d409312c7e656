"""The page of counter-examples: what it says of each, and how it looks in a real browser."""

import io
from dataclasses import replace

import pytest
from PIL import Image

from hf_vqa_mc.report.counterexamples import Explained
from hf_vqa_mc.report.pages import counterexamples_html
from tests.report import hostile
from tests.report.test_report import Elements

SHOWN = 6
"""The best five counter-examples, and the picked one."""
CANDIDATES = [f"i{index}" for index in range(8)]
EXPLAINED = Explained("q7", "Is the dog asleep?", "own", "yes", "no", CANDIDATES, [0.1] * 8, "i7")
SHAPES = [(90, 60), (60, 90), (200, 20), (20, 200)]
INSIDE = """
return [...document.querySelectorAll('.candidates li')].map((one) => {
  const picture = one.querySelector('.picture').getBoundingClientRect();
  return [...one.querySelectorAll('p')].every((text) => text.getBoundingClientRect().top >= picture.bottom);
})"""
PADDING = (
    "return [...document.querySelectorAll('.candidates p')].map((one) => parseFloat(getComputedStyle(one).paddingTop))"
)
COLUMNS = """
const list = document.querySelector('.candidates');
return new Set([...list.children].map((one) => Math.round(one.getBoundingClientRect().left))).size"""


def image(image_id):
    if image_id == "i5":
        return None
    stream = io.BytesIO()
    Image.new("RGB", SHAPES[len(image_id) % 2 + 2 * (image_id == "i2")], (90, 40, 0)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(counterexamples_html("a dataset", [EXPLAINED] * 3, image))
    return path


def text_of(**changes):
    return Elements(counterexamples_html("", [replace(EXPLAINED, **changes)], image)).text


def test_five_counter_examples_are_shown_and_the_picked_one_with_its_rank():
    html = counterexamples_html("", [EXPLAINED], image)
    assert html.count("different answer</p>") == 5 + 1
    assert html.count('<li class="picked">') == 1
    text = Elements(html).text
    assert "picked image among the best 5 0 of 1" in text
    assert "90% different answer image i4 90% different answer ✓ picked by people, rank 8 image i7" in text


@pytest.mark.parametrize(("picked", "number"), [("i1", 1), (None, 0)])
def test_a_picked_image_among_the_best_is_marked_and_an_unknown_one_is_not(picked, number):
    text = text_of(picked=picked)
    assert text.count("different answer") == 5
    assert text.count("✓ picked by people image i1") == number
    assert ("picked image among" in text) == bool(number)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("yes", "model’s answer: yes ✓ question q7"),
        ("no", "model’s answer: yes ✗ correct answer: no question q7"),
        ("", "model’s answer: yes question q7"),
    ],
)
def test_the_answer_is_compared_with_the_correct_one_where_it_is_published(target, expected):
    text = text_of(target=target)
    assert expected in text
    assert ("correct answers" in text) == bool(target)


def test_hostile_text_stays_text_on_the_page_of_counter_examples():
    rows = [
        replace(
            EXPLAINED, question_id=text, question=text, answer=text, target=text, candidates=[text] * 5, picked=text
        )
        for text in hostile.TEXTS
    ]
    assert "<script" not in counterexamples_html(hostile.TEXTS[0], rows, lambda image_id: None)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(1400, 6), (390, 2), (320, 2)])
@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_below_pictures_in_a_grid_that_wraps(browser, page, width, columns, dark):
    browser.open(page, width=width, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run(INSIDE) == [True] * 3 * SHOWN
    assert browser.run(COLUMNS) == columns
    assert set(browser.run(PADDING)) == {0}
    overflow = (
        "return [...document.querySelectorAll('.picture')].every((one) => one.scrollHeight <= one.clientHeight + 1)"
    )
    assert browser.run(overflow)
