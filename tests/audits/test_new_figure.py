"""A figure and a check added from outside of the package."""

import numpy as np
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.audits.checks import CHECKS
from hf_vqa_mc.audits.checks.check import ERROR, Check
from hf_vqa_mc.audits.figures import FIGURES, Figure, Found
from tests.audits.frames import benchmark


@pytest.fixture
def added():
    def question_marks(data):
        marks = [text.count("?") for text in data.questions.texts]
        return Found({"question marks": sum(marks)}, {"text": data.questions.texts, "marks": marks})

    def unasked(linted):
        asked = np.array([text.endswith("?") for text in linted.data.questions.texts])
        rows = np.flatnonzero(~asked[linted.data.questions.codes])
        return linted.issues(rows, ["no question mark"] * len(rows))

    FIGURES.add(Figure("marks", "Question marks", "", "Question marks.", question_marks, ("bars", "text", "marks")))
    CHECKS.add(Check("unasked", ERROR, "the question has no question mark", "add it", unasked))
    yield
    del FIGURES["marks"], CHECKS["unasked"]


def test_a_new_figure_is_described_drawn_and_written(added, tmp_path):
    result = vm.describe(benchmark(5), output=tmp_path / "out", figures="marks")
    assert result.to_pandas().to_numpy().tolist() == [["marks", "question marks", 5]]
    assert "Question marks" in (tmp_path / "out" / "report.html").read_text()
    assert {path.name for path in (tmp_path / "out" / "figures").iterdir()} == {"marks.svg", "marks.csv"}


def test_a_new_check_is_run(added):
    data = benchmark(5)
    data.loc[3, "question"] = "Say what this is"
    result = vm.lint(data)
    assert result.exit_code == 3
    assert result.to_pandas()["detail"].tolist()[0] == "no question mark"
