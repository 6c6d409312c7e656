"""The page of candidates for complementary images: what is said of each, and how it looks in a real browser."""

import io

import pytest
from PIL import Image

from hf_vqa_mc.engines.complementary.premise import PREMISES
from hf_vqa_mc.report.pages import SHOWN, complementary_images_html
from tests.report import hostile
from tests.report.test_report import Elements

PREMISE_OF = [*PREMISES, "holds", "fails"]
ROW = {
    "question": "Is the dog asleep?",
    "answer": "yes",
    "question_id": "q7",
    "image_id": "own",
    "candidates": [f"i{index}" for index in range(8)],
    "differs": [0.9 - index / 10 for index in range(8)],
    "premise": [*PREMISE_OF, "holds", "fails"],
}
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
    path = tmp_path_factory.mktemp("complementary") / "page.html"
    path.write_text(complementary_images_html("a dataset", [ROW] * 3, image))
    return path


def test_each_premise_is_said_in_words_that_are_true_of_it():
    for premise, label in (
        ("holds", "premise of the question holds"),
        ("fails", "premise of the question fails"),
        ("none", "question without premise"),
        ("unknown", None),
    ):
        row = {**ROW, "candidates": ["i1"], "differs": [0.5], "premise": [premise]}
        text = Elements(complementary_images_html("", [row], image)).text
        assert f"50% different answer {label + ' ' if label else ''}image i1" in text


def test_hostile_text_stays_text():
    rows = [{**ROW, "question": text, "answer": text, "question_id": text} for text in hostile.TEXTS]
    html = complementary_images_html(hostile.TEXTS[0], rows, lambda image_id: None)
    assert "<script" not in html
    assert html.count("no image") == len(rows) * (1 + SHOWN)


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
