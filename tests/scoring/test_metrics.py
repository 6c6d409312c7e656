import doctest
import os
import re
import subprocess
from pathlib import Path

import evaluate
import numpy as np
import pytest
import torch
import yaml

import hf_vqa_mc
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Request
from hf_vqa_mc.hub.spaces import metric_shipment
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.metric_folders import metric_folder

OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9", "HF_EVALUATE_OFFLINE": "1"}

ONE_LINE_EACH = """
import hf_vqa_mc
from hf_vqa_mc.scoring import SCHEMES
print(*(hf_vqa_mc.load_metric(name).name for name in SCHEMES))
"""


def run(python: Path, code: str, home: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [python, "-c", code, *arguments],
        env={**os.environ, "HF_HOME": str(home), "HF_UPDATE_DOWNLOAD_COUNTS": "0", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Rows and copies of modules go where the test may write."""
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path / "metrics"))
    return tmp_path


def test_there_is_a_folder_for_each_metric_and_no_other():
    folders = {path.parent.name for path in metric_folder("wups").parent.glob("*/README.md")}
    assert folders == set(SCHEMES)


@pytest.mark.slow
def test_all_load_with_one_line_and_without_a_network(preloaded, tmp_path):
    assert run(preloaded / "python", ONE_LINE_EACH, tmp_path, **OFFLINE).split() == list(SCHEMES)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_card_holds_a_worked_example_that_works(name):
    text = (metric_folder(name) / "README.md").read_text()
    example = doctest.DocTestParser().get_doctest(_code(text), {}, f"{name}/README.md", None, 0)
    assert any(f'load_metric("{name}")' in step.source for step in example.examples)
    assert any(step.want for step in example.examples)
    results = doctest.DocTestRunner().run(example)
    assert results.failed == 0


def _code(card: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", card, re.DOTALL))


@pytest.mark.parametrize("name", SCHEMES)
def test_the_folder_is_a_space(name):
    folder = metric_folder(name)
    head = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    assert head["sdk"] == "gradio"
    assert {"evaluate", "metric"} <= set(head["tags"])
    contents = {file.path: file.content for file in metric_shipment(Request(f"ada/{name}")).files}
    assert f'launch("{name}")' in contents[head["app_file"]].decode()
    assert contents["requirements.txt"].split() == [b"hf_vqa_mc"]


@pytest.mark.parametrize("name", SCHEMES)
def test_the_card_names_every_column_and_every_result(name):
    metric, card = hf_vqa_mc.load_metric(name), (metric_folder(name) / "README.md").read_text()
    for column in metric.scheme.columns:
        assert f"`{column}`" in card
        assert column in metric.inputs_description


def test_an_unknown_metric_is_an_error_that_suggests_the_nearest():
    with pytest.raises(InputError, match="unknown metric 'vqa_acuracy': did you mean 'vqa_accuracy'"):
        hf_vqa_mc.load_metric("vqa_acuracy")


def test_batches_and_single_rows_add_up_with_their_columns():
    metric = hf_vqa_mc.load_metric("mc_accuracy")
    metric.add_batch(predictions=np.array([1, 0]), references=[1, 1], question_types=["what", "how"])
    metric.add(prediction=2, reference=2, question_types="how")
    assert metric.compute()["per_question_type"] == {"how": 0.5, "what": 1.0}
    assert metric.compute(predictions=[0], references=[0])["accuracy"] == 1.0  # nothing is left of the rows before


def test_values_of_numpy_and_torch_count_as_those_of_python():
    metric = hf_vqa_mc.load_metric("vqa_accuracy")
    answers = [{"answer": "red", "answer_id": np.int64(number)} for number in range(10)]
    metric.add_batch(predictions=np.array(["red"]), references=[tuple(answers)])
    assert (len(metric), metric.compute()["accuracy"], len(metric)) == (1, 1.0, 0)
    picking = hf_vqa_mc.load_metric("mc_accuracy")
    assert picking.compute(predictions=[torch.tensor(1), np.int8(0)], references=[1, 1])["accuracy"] == 0.5


def test_columns_of_some_rows_only_are_an_error():
    metric = hf_vqa_mc.load_metric("mc_accuracy")
    metric.add_batch(predictions=[1], references=[1], question_types=["what"])
    with pytest.raises(InputError, match="row 2: question_types is missing; expected it in all"):
        metric.add_batch(predictions=[1], references=[1])
    assert metric.compute()["per_question_type"] == {"what": 1.0}


def test_columns_may_come_with_compute_for_all_rows():
    metric = hf_vqa_mc.load_metric("mc_accuracy")
    metric.add_batch(predictions=[1, 0], references=[1, 1])
    assert metric.compute(question_types=["what", "how"])["per_question_type"] == {"how": 0.0, "what": 1.0}
    metric.add_batch(predictions=[1], references=[1], question_types=["what"])
    with pytest.raises(InputError, match="question_types was given with the rows and again to compute"):
        metric.compute(question_types=["what"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"predictions": [], "references": []}, "no questions to score"),
        ({"predictions": [1, 2], "references": [1]}, "2 predictions, 1 references"),
        ({"predictions": [1], "references": [1], "question_types": []}, "1 references, 0 question_types"),
        ({"predictions": [1.7], "references": [1]}, "row 1: predictions is 1.7"),
        ({"predictions": [True], "references": [1]}, "row 1: predictions is True"),
        ({"predictions": [float("nan")], "references": [1]}, "row 1: predictions is nan"),
        ({"predictions": [b"a"], "references": [1]}, "row 1: predictions is b'a'"),
        ({"predictions": [1]}, "references is NoneType, expected a list"),
        ({"predictions": [1], "references": [1], "question_types": [float("nan")]}, "row 1: question_types is nan"),
        ({"predictions": {1: 2}, "references": [1]}, "predictions is dict, expected a list"),
        ({"predictions": "a", "references": "b"}, "predictions is str, expected a list"),
    ],
)
def test_what_evaluate_would_cast_is_an_error_and_the_metric_still_works(rows, message, cache):
    metric = hf_vqa_mc.load_metric("mc_accuracy")
    with pytest.raises(InputError, match=message):
        metric.compute(**rows)
    assert metric.compute(predictions=[1, 0], references=[1, 1])["accuracy"] == 0.5
    assert not list(cache.rglob("*.arrow"))


@pytest.mark.parametrize("wrong", [{"predictions": [1], "references": [1, 1]}, {"typo": 1}, {"predictions": [1]}])
def test_what_cannot_be_added_leaves_the_rows_before_it(wrong):
    metric = hf_vqa_mc.load_metric("mc_accuracy")
    metric.add_batch(predictions=[0, 1], references=[1, 1])
    with pytest.raises(InputError):
        metric.compute(**wrong)
    assert metric.compute()["accuracy"] == 0.5


def test_predictions_and_references_that_are_joined_by_id_may_come_one_by_one():
    metric = hf_vqa_mc.load_metric("gqa_score")
    record = {
        "question_id": "1",
        "isBalanced": True,
        "imageId": "7",
        "question": "Is it?",
        "answer": "yes",
        "entailed": [],
        "types": {"structural": "verify", "semantic": "obj", "detailed": "exist"},
        "groups": {"global": "a"},
        "semantic": [],
    }
    metric.add(reference=record)
    metric.add(prediction={"question_id": 1, "prediction": "no"})
    metric.add(prediction={"question_id": 1, "prediction": "yes"})
    assert metric.compute()["accuracy"] == 1.0


def test_what_a_metric_does_not_take_or_lacks_is_reported():
    with pytest.raises(InputError, match=r"wups takes no question_types; it takes thresholds, .* \(evaluate.combine"):
        hf_vqa_mc.load_metric("wups").compute(predictions=["a"], references=["a"], question_types=["b"])
    with pytest.raises(InputError, match="tdiuc_mpt needs question_types"):
        hf_vqa_mc.load_metric("tdiuc_mpt").compute(predictions=["a"], references=["a"])
    with pytest.raises(InputError, match="no questions to score: give predictions and references"):
        hf_vqa_mc.load_metric("wups").compute()


def test_metrics_combine():
    pair = evaluate.combine({name: hf_vqa_mc.load_metric("mc_accuracy") for name in ("first", "second")})
    pair.add(prediction=1, reference=1)
    pair.add_batch(predictions=[0, 2], references=[1, 2])
    assert pair.compute()["second_accuracy"] == pytest.approx(2 / 3)
    both = evaluate.combine([hf_vqa_mc.load_metric("wups"), hf_vqa_mc.load_metric("vqa_accuracy")])
    assert set(both.evaluation_module_names) == {"wups", "vqa_accuracy"}
