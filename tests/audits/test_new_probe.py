"""A probe, a figure and a check from outside the package are run and reported without further edits."""

import html
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.audits.checks import CHECKS
from hf_vqa_mc.audits.checks.check import ERROR, Check
from hf_vqa_mc.audits.figures import FIGURES, Figure, Found
from hf_vqa_mc.audits.probes import PROBES, Probe
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.cli import app
from hf_vqa_mc.errors import python_names
from tests.audits import frames

FITTED, COUNTED = "answers that start with a", "letters of the alphabet"


def starts_with_a(context):
    """A model that is fitted on each part: whether targets or decoys start with a."""

    def fit(part):
        rows, test = context.shuffled.take(part.train), context.shuffled.take(part.test)
        starts = np.array([text.startswith("a") for text in rows.vocabulary.choices])
        sign = starts[rows.texts][rows.is_target].mean() - starts[rows.texts][rows.valid & ~rows.is_target].mean()
        return np.sign(sign) * starts[test.texts]

    return context.cross_fit(fit)


def first_letter(context):
    """The choice whose first letter is the first of the alphabet."""
    letters = np.array([-ord(text[0]) for text in context.rows.vocabulary.choices])
    return context.prefer(letters[context.rows.texts])


@pytest.fixture
def probes():
    """Two probes of somebody else's package."""
    added = [
        Probe(FITTED, ProbeInputs.CHOICES, "prefers answers with an a", starts_with_a, trained=True),
        Probe(COUNTED, ProbeInputs.QUESTION, "picks the first of the alphabet", first_letter),
    ]
    for probe in added:
        PROBES.add(probe)
    yield
    for probe in added:
        del PROBES[probe.name]


@pytest.fixture
def benchmark(tmp_path):
    """Targets start with an a in nine of ten rows; no decoy does."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(200):
        target = f"{'a' if number % 10 else 'z'}{rng.integers(10**6):06}"
        choices = [f"{rng.choice(list('bcdefg'))}{rng.integers(10**6):06}" for _ in range(3)]
        label = int(rng.integers(4))
        choices.insert(label, target)
        rows.append({"question": f"what is {number}", "choices": choices, "label": label})
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.slow
def test_it_is_audited_shown_and_fails_above_a_limit(probes, benchmark, tmp_path, monkeypatch):
    result = vm.audit(benchmark, output=tmp_path / "found")
    table = result.to_pandas().set_index("name")
    assert table.loc[FITTED, "accuracy"] > 0.85
    assert table.loc[COUNTED, "accuracy"] > 0.85
    assert table.loc[FITTED, "trained"]
    assert (table.loc[COUNTED, "inputs"], table.loc[FITTED, "inputs"]) == ("question", "choices")
    assert FITTED in repr(result)
    assert FITTED in result._repr_html_()
    shown = [line.strip() for line in result.report() if isinstance(line, str) and line]
    assert any(line.startswith("columns: ") for line in shown)
    assert all(f"<p>{html.escape(python_names(line))}</p>" in result._repr_html_() for line in shown)
    page = (tmp_path / "found" / "report.html").read_text("utf-8")
    assert FITTED in page
    assert "A strategy that prefers answers with an a is correct in" in page
    assert "Without the image and the question, " in result.to_dict()["verdict"]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["audit", str(benchmark), "--no-probes", "--fail-above", "0.3"])
    assert done.exit_code == 3
    assert COUNTED in done.stdout.partition("above 30 points: ")[2]
    assert FITTED not in done.stdout  # its setting switches it off


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
    result = vm.describe(frames.benchmark(5), output=tmp_path / "out", figures="marks")
    assert result.to_pandas().to_numpy().tolist() == [["marks", "question marks", 5]]
    assert "Question marks" in (tmp_path / "out" / "report.html").read_text()
    assert {path.name for path in (tmp_path / "out" / "figures").iterdir()} == {"marks.svg", "marks.csv"}


def test_a_new_check_is_run(added):
    data = frames.benchmark(5)
    data.loc[3, "question"] = "Say what this is"
    result = vm.lint(data)
    assert result.exit_code == 3
    assert result.to_pandas()["detail"].tolist()[0] == "no question mark"
