"""A metric goes to the Hub as a Space, and ``evaluate.load`` takes it from there."""

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Request
from hf_vqa_mc.hub.spaces import metric_shipment
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.metric_folders import metric_folder
from tests.dataset.fixtures import tree_bytes
from tests.hub.pushing import json_of

LOAD = """
import json, sys
import evaluate
metric = evaluate.load(sys.argv[1])
print(json.dumps(metric.compute(predictions=[1, 0], references=[1, 1])["accuracy"]))
"""


@pytest.mark.slow
def test_a_pushed_metric_loads_from_the_hub_and_then_offline(hub, vqa_mc, process):
    done = vqa_mc("push", "metric", "benchmakers/mc_accuracy")
    assert done.returncode == 0, done.stderr
    assert f"created {hub.address}/spaces/benchmakers/mc_accuracy (public)" in done.stdout
    assert 'to load it: evaluate.load("benchmakers/mc_accuracy")' in done.stdout
    space = hub.repositories["space", "benchmakers/mc_accuracy"]
    assert space.sdk == "gradio"
    folder = {
        path: content for path, content in tree_bytes(metric_folder("mc_accuracy")).items() if "cache" not in path
    }
    sent = {path: content for path, content in space.files.items() if path[0] != "."}
    assert b'launch("mc_accuracy")' in sent.pop("app.py") and sent.pop("requirements.txt") == b"hf_vqa_mc\n"
    assert sent == folder
    assert json_of(process("-c", LOAD, "benchmakers/mc_accuracy", token=None)) == 0.5
    n_requests = len(hub.requests)
    offline = {"HF_EVALUATE_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    assert json_of(process("-c", LOAD, "benchmakers/mc_accuracy", token=None, **offline)) == 0.5
    assert len(hub.requests) == n_requests


def test_every_metric_can_be_a_space():
    for name in SCHEMES:
        assert metric_shipment(Request(f"ada/{name}")).space_sdk == "gradio"


def test_what_is_no_metric_is_rejected():
    with pytest.raises(InputError, match=r"unknown metric 'wup': did you mean 'wups'\?"):
        metric_shipment(Request("ada/wup"))
