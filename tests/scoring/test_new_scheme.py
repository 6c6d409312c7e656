"""A scheme of another package: one declaration and a folder, and everything works with it."""

import json

import numpy as np
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Request
from hf_vqa_mc.hub.spaces import metric_shipment
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.inputs import Input
from hf_vqa_mc.scoring.scheme import VQA, Scheme
from tests.scoring import files

MODULE = """
import hf_vqa_mc.scoring.scheme_metric as base

WordOverlap = base.metric("word_overlap")
"""
CARD = """---
title: Word overlap
sdk: gradio
app_file: app.py
---
# Word overlap
```bibtex
@misc{overlap}
```
"""
PREDICTIONS = {"1": "dark red", "2": "2", "3": "no"}


def word_overlap(predictions, references, *, weights=None, question_ids=None, per_question=False):
    """Share of a prediction's words that the right answer has.

    Args:
        predictions: text.
        references: text.
        weights: of questions, by id.
        question_ids: what errors call the questions.
        per_question: also give each question's score.
    """
    pairs = zip(predictions, references, strict=True)
    scores = np.array([np.mean([word in gold.split() for word in text.split()]) for text, gold in pairs])
    weight = np.array([(weights or {}).get(str(name), 1.0) for name in question_ids or scores])
    mean = float((scores * weight).sum() / weight.sum())
    return {"overlap": mean, "per_question": scores.tolist() if per_question else None}


@pytest.fixture
def scheme(tmp_path):
    folder = tmp_path / "word_overlap"
    folder.mkdir()
    for name, text in {"word_overlap.py": MODULE, "README.md": CARD}.items():
        (folder / name).write_text(text)
    weights = Input("weights", lambda path, annotations: json.loads(path.read_text()))
    declared = Scheme(
        "word_overlap",
        word_overlap,
        "words shared with {gold}",
        columns=("question_ids",),
        kinds=(VQA,),
        inputs=(weights,),
        folder=folder,
    )
    SCHEMES.add(declared)
    yield declared
    del SCHEMES["word_overlap"]


def test_it_is_a_metric_of_evaluate_with_a_card_that_can_be_pushed(scheme, tmp_path, monkeypatch):
    import evaluate

    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path / "metrics"))
    metric = vm.load_metric("word_overlap")
    assert metric.compute(predictions=["dark red", "no"], references=["red", "no"])["overlap"] == 0.75
    assert metric.description == "Share of a prediction's words that the right answer has."
    assert "question_ids: what errors call" in metric.inputs_description
    assert metric.citation == "@misc{overlap}\n"
    with pytest.raises(InputError, match="word_overlap takes no column weights; it takes question_ids"):
        metric.add_batch(predictions=["a"], references=["a"], weights=[1])
    shipment = metric_shipment(Request("ada/word_overlap"))
    assert {file.path for file in shipment.files} == {"README.md", "app.py", "requirements.txt", "word_overlap.py"}


def test_it_scores_predictions_in_python(scheme, tmp_path):
    annotations = files.vqa_file(tmp_path)
    result = vm.score(PREDICTIONS, annotations, metric=["word_overlap"])
    assert result.to_dict()["results"]["word_overlap"] == {"overlap": pytest.approx(2.5 / 3)}
    assert result.to_pandas().to_dict("records")[0]["measure"] == "overlap"
    assert result.per_question["word_overlap"].tolist() == [0.5, 1.0, 1.0]
    assert "words shared with the annotators' most frequent answer" in repr(result)
    assert "83.3" in repr(result)
    weights = files.write(tmp_path / "weights.json", {"1": 0.0})
    weighted = vm.score(PREDICTIONS, annotations, metric=["word_overlap"], inputs={"weights": weights})
    assert weighted.to_dict()["results"]["word_overlap"]["overlap"] == 1.0


def test_it_scores_predictions_on_the_command_line(scheme, tmp_path):
    from typer.testing import CliRunner

    path, annotations = files.write(tmp_path / "p.json", PREDICTIONS), files.vqa_file(tmp_path)
    weights = files.write(tmp_path / "weights.json", {"1": 0.0})
    arguments = ["score", str(path), str(annotations), "--metric", "word_overlap", "--inputs", f"weights={weights}"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--per-question"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)["results"]["word_overlap"]
    assert result == {"overlap": 1.0, "per_question": {"1": 0.5, "2": 1.0, "3": 1.0}}
    assert "100.0" in CliRunner().invoke(app, arguments).stdout


def test_what_it_does_not_fit_is_reported(scheme, tmp_path):
    path = files.write(tmp_path / "p.json", {str(name): answer for name, *_, answer in files.TDIUC})
    with pytest.raises(InputError, match="word_overlap does not fit TDIUC annotations; expected tdiuc_mpt, wups"):
        vm.score(path, files.tdiuc_file(tmp_path), metric=["word_overlap"])
    with pytest.raises(InputError, match="inputs weights is not used by vqa_accuracy on VQA annotations"):
        vm.score(PREDICTIONS, files.vqa_file(tmp_path), inputs={"weights": path})
    with pytest.raises(InputError, match=r"no metric has an input 'weight'; expected .*weights"):
        vm.score(PREDICTIONS, files.vqa_file(tmp_path), inputs={"weight": path})
