"""The page of a description in a real browser; its figures as files."""

import json
from xml.etree import ElementTree

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from tests.audits.frames import answered, benchmark
from tests.report import hostile

TEXTS = [text.encode("utf-8", "replace").decode()[:3000] or "empty" for text in hostile.TEXTS]

ELEMENTS = {"svg", "style", "rect", "polygon", "polyline", "text", "title"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of two datasets of hostile texts side by side."""
    rows = len(TEXTS)
    columns = {"question": [f"{text} {row % 3}" for row, text in enumerate(TEXTS)], "question_type": TEXTS[::-1]}
    mine = benchmark(rows, choices=[[text, f"{text} b", "c", "d"] for text in TEXTS], **columns)
    other = answered(2, question_type=TEXTS[:10], answer=TEXTS[:10])
    folder = tmp_path_factory.mktemp("description") / "out"
    vm.describe(mine, against=other, output=folder)
    return folder


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_page_of_hostile_texts_fits_the_screen_and_runs_nothing(browser, written, width, dark):
    page = written / "report.html"
    browser.complaints()
    browser.requests()
    browser.open(page, width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run("return window.hacked === undefined && document.scripts.length === 0")
    assert browser.count("svg.drawing") >= 8
    assert browser.complaints() == []
    assert {one for one in browser.requests() if not one.startswith("data:")} == {page.as_uri()}


def test_figures_that_do_not_apply_are_not_on_the_page(tmp_path):
    result = vm.describe(benchmark(40), output=tmp_path / "out")
    assert result.to_dict()["left_out"]
    assert "not apply" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_each_figure_is_data_and_a_picture(written):
    figures = json.loads((written / "describe.json").read_text())["figures"]
    pictures = sorted((written / "figures").glob("*.svg"))
    assert {path.stem for path in pictures} >= {"first_words", "question_lengths", "answers_by_question_type"}
    for path in pictures:
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert {one.tag.split("}")[1] for one in root.iter()} <= ELEMENTS
    for name, figure in figures.items():
        if any(one and one["table"] for one in figure["found"]):
            assert (written / "figures" / f"{name}.csv").is_file()


def test_the_same_data_give_the_same_files(tmp_path):
    for name in ("one", "two"):
        vm.describe(answered(), output=tmp_path / name)
    first, second = (sorted((tmp_path / name).rglob("*.*")) for name in ("one", "two"))
    assert [path.name for path in first] == [path.name for path in second]
    assert all(one.read_bytes() == two.read_bytes() for one, two in zip(first, second, strict=True))


def test_a_folder_is_replaced_only_with_overwrite(tmp_path):
    vm.describe(answered(), figures="size", output=tmp_path / "out")
    (tmp_path / "out" / "describe.json").write_text("mine")
    with pytest.raises(InputError, match=r"^output"):
        vm.describe(answered(), figures="size", output=tmp_path / "out")
    vm.describe(answered(), figures="size", output=tmp_path / "out", overwrite=True)
    assert json.loads((tmp_path / "out" / "describe.json").read_text())["datasets"] == ["dataset"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"figures": "first_word"}, "did you mean 'first_words'"),
        ({"figures": "label_positions"}, "no figure applies: label_positions: questions have no choices"),
        ({"against_config": "x"}, "give the second dataset with against"),
        ({"split": "tset"}, "unknown split"),
    ],
)
def test_invalid_options(options, message):
    with pytest.raises(InputError, match=message):
        vm.describe(answered(), **options)
