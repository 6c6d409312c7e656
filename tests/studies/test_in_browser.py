"""A page of a study in a real browser: by keyboard alone, as wide as a phone, without requests to other hosts."""

import time
from contextlib import closing

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.studies.store import Study
from tests.report import hostile
from tests.studies import worlds
from tests.studies.worlds import serving

ENTER, LEFT, TAB = "\ue007", "\ue012", "\ue004"
SECONDS = 20


class Address:
    """An address in place of a path."""

    def __init__(self, address):
        self._address = address

    def absolute(self):
        return self

    def as_uri(self):
        return self._address


class Annotator:
    """Someone with a keyboard, whose browser is as wide as a phone."""

    def __init__(self, browser, study, address):
        self.browser, self.study = browser, study
        self.open(f"{address}/a/{study.join()}/")
        self.waits("return document.activeElement.tagName === 'BUTTON'", True.__eq__)  # Start gets the focus

    def open(self, address, **window):
        self.browser.open(Address(address), **{"width": 400, "height": 800, **window})

    def press(self, *keys):
        for key in keys:
            focused = self.browser.run("return document.activeElement.tagName.toLowerCase()")
            self.browser.type("*:focus" if focused != "body" else "body", key)

    def reads(self, text):
        """Wait until a text is visible."""
        self.waits("return document.body ? document.body.innerText : ''", lambda found: text in found, text)

    def waits(self, script, holds, expected=""):
        """Wait until what a script returns is as expected."""
        end = time.monotonic() + SECONDS
        while not holds(found := self.browser.run(script)):
            assert time.monotonic() < end, (expected, found)
            time.sleep(0.02)


@pytest.fixture
def annotator(browser, tmp_path):
    """Opens a study in the browser; afterwards nothing is on the console, and only the server was asked."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def annotator(*arguments, **options):
            study = stack.enter_context(closing(Study(worlds.new_study(tmp_path, *arguments, **options))))
            address = stack.enter_context(serving(study))
            addresses.append(address)
            browser.complaints()
            browser.requests()
            return Annotator(browser, study, address)

        addresses: list[str] = []
        yield annotator
        assert browser.complaints() == []
        requests = [one for one in browser.requests() if not one.startswith("data:")]
        assert requests and all(one.startswith((addresses[0], "file:")) for one in requests)
        browser.open(Address("about:blank"))


def test_a_page_of_choices_by_keyboard_alone_at_the_width_of_a_phone(annotator):
    someone = annotator(conditions="full", per_page=3, controls=0)
    someone.press(ENTER)
    someone.reads("Question 1 of 3")
    assert someone.browser.run("return document.documentElement.scrollWidth") == 400
    someone.press(ENTER)  # not answered yet
    someone.press("3", "2")  # corrects the answer
    someone.reads("Question 1 of 3 · 1 saved")
    someone.press(ENTER)
    someone.reads("Question 2 of 3 · 1 saved")
    someone.press("4", ENTER)
    someone.reads("Question 3 of 3 · 2 saved")
    someone.press(LEFT)
    someone.reads("Question 2 of 3")
    someone.press(TAB, "1", ENTER)  # changes the answer; Enter does not press the button that Tab went to
    someone.reads("Question 3 of 3")
    someone.press("3", ENTER)
    someone.reads("All 3 answers of this page are saved")
    assert [one.value for one in sorted(someone.study.answers(), key=lambda one: one.time)] == [1, 0, 2]
    assert all(0 < one.seconds < 60 for one in someone.study.answers())
    someone.press(ENTER)  # more questions
    someone.reads("Question 1 of 3 · 0 saved")


def test_marks_by_keyboard_and_the_page_after_a_reload(annotator):
    someone = annotator("ambiguity", per_page=3, controls=0)
    someone.press(ENTER)
    someone.reads("Question 1 of 3")
    someone.press("1", "3")
    someone.browser.type("body", "\ue0082\ue000")  # Shift and 2
    someone.reads("1 saved")
    someone.press(ENTER)
    someone.reads("Question 2 of 3")
    someone.press("0", "2", "x")  # corrections, all of the same question
    someone.reads("Question 2 of 3 · 2 saved")
    someone.press(ENTER)
    someone.reads("Question 3 of 3 · 2 saved")
    assert [one.value for one in someone.study.answers()] == [{"correct": [0, 2], "unsure": [1]}, "bad_question"]
    someone.open(someone.browser.run("return location.href"))
    someone.reads("Question 3 of 3 · 2 saved")
    someone.press(LEFT, LEFT)
    shown = "document.querySelectorAll('.task:not([hidden]) [aria-pressed=true]')"
    pressed = f"return [...{shown}].map((one) => one.dataset.mark)"
    assert someone.browser.run(pressed) == ["correct", "unsure", "correct"]
    someone.press("1", "2", "3", "2")  # none is marked any more
    someone.reads("Question 1 of 3 · 1 saved")
    someone.press("0", ENTER)
    someone.reads("Question 2 of 3 · 2 saved")
    assert someone.study.answers()[-1].value == {"correct": [], "unsure": []}


def test_an_answer_that_is_removed_and_given_again_is_saved_and_the_end_is_shown_when_all_are(annotator):
    someone = annotator("ambiguity", per_page=1, controls=0)
    someone.press(ENTER)
    someone.reads("Question 1 of 1")
    someone.press("1")
    someone.reads("1 saved")
    someone.press("1")  # removes the mark
    someone.reads("0 saved")
    someone.study._database.execute("PRAGMA query_only = ON")
    someone.press("1", ENTER)
    someone.reads("Not saved yet")
    assert "Thank you" not in someone.browser.text("main")
    someone.study._database.execute("PRAGMA query_only = OFF")
    someone.reads("All 1 answers of this page are saved")
    assert someone.browser.complaints()  # of the status 507


def test_written_answers_with_confidence_by_keyboard(annotator):
    someone = annotator("answers", per_page=2, controls=0, conditions="image")
    someone.press(ENTER)
    someone.reads("Question 1 of 2")
    someone.press("2 dogs", ENTER, "1", "3", ENTER)
    someone.reads("Question 2 of 2 · 1 saved")
    someone.press("Red", ENTER, "2", ENTER)
    someone.reads("All 2 answers")
    expected = [{"text": "2 dogs", "confidence": "yes"}, {"text": "Red", "confidence": "maybe"}]
    assert [one.value for one in someone.study.answers()] == expected


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(320, False), (1280, True)])
def test_hostile_texts_are_inert_and_fit(annotator, tmp_path, dark, width):
    rows = worlds.benchmark()
    texts = [text.encode("utf-8", "replace").decode() or "empty" for text in hostile.TEXTS]
    rows["question"], rows["choices"] = (
        texts,
        [[f"{texts[(row + at) % 12]}{at}" for at in range(4)] for row in range(12)],
    )
    someone = annotator("ambiguity", dataset=rows, per_page=12, controls=0)
    someone.press(ENTER)
    someone.reads("Question 1 of 12")
    someone.open(someone.browser.run("return location.href"), width=width, dark=dark)
    for number in range(12):
        someone.reads(f"Question {number + 1} of 12")
        assert someone.browser.run("return document.documentElement.scrollWidth") == width
        someone.press("0", ENTER)
    someone.reads("All 12 answers")
    assert someone.browser.run("return window.hacked") is None
    vm.study_results(someone.study.path, output=tmp_path / "results")
    someone.open((tmp_path / "results" / "report.html").as_uri(), width=width, dark=dark)
    someone.reads("What people answered".upper())
    assert someone.browser.run("return [window.hacked || 0, document.documentElement.scrollWidth]") == [0, width]
