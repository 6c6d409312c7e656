"""Results of an evaluation go to a model's repository as one pull request, in the form of ``.eval_results``."""

import json

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.eval_results import results_shipment
from hf_vqa_mc.hub.push import push
from hf_vqa_mc.hub.shipment import Request
from tests.hub.pushing import READER, STRANGER, TOKEN
from tests.hub.repositories import Fault, Repository

MODEL, BENCHMARK = "ada/mlp-iqa", "eve/bench"
REVISION = "5503434ddd753f426f4b38109466949a1217c2bb"


@pytest.fixture
def run(tmp_path):
    return write(tmp_path / "run")


def write(folder, **changes):
    folder.mkdir(exist_ok=True)
    accuracy = {name: {"accuracy": {"mean": share, "rows": 1000}} for name, share in
                (("full", 0.70123), ("no-image", 0.4))}  # fmt: skip
    about = {"version": "1", "model": "runs/iqa", "dataset": "vqa_mc", "config": "cocoqa_iou", "method": "letters"}
    (folder / "results.json").write_text(json.dumps({**about, "inputs": accuracy, **changes}))
    return folder


def request(folder, **given):
    return Request(MODEL, folder, **{"benchmark": BENCHMARK, **given})


def entries(files):
    return {path: parse_eval_result_entries(yaml.safe_load(content)) for path, content in files.items()}


def test_each_input_is_a_file_that_the_library_of_the_hub_reads(run):
    found = entries({file.path: file.content for file in results_shipment(request(run)).files})
    assert list(found) == [".eval_results/bench-cocoqa_iou.yaml", ".eval_results/bench-cocoqa_iou-no-image.yaml"]
    (full,), (blind,) = found.values()
    assert (full.dataset_id, full.task_id, full.value, full.dataset_revision) == (BENCHMARK, "cocoqa_iou", 70.12, None)
    assert (blind.value, blind.notes) == (40.0, "question and choices, no image; 1,000 questions; letters; vqa-mc 1")


def test_a_dataset_of_the_hub_is_named_with_its_commit(tmp_path):
    run = write(tmp_path / "run", dataset=f"{BENCHMARK}@v1.0", dataset_revision=REVISION)
    shipment = results_shipment(request(run, benchmark=None, task="iou"))
    ((full,), _) = entries({file.path: file.content for file in shipment.files}).values()
    assert (full.dataset_id, full.task_id, full.dataset_revision) == (BENCHMARK, "iou", REVISION)


@pytest.mark.parametrize(
    ("changes", "given", "message"),
    [
        ({}, {"benchmark": None}, "vqa_mc was not read from the Hub; add --benchmark"),
        ({"dataset": "ada/x", "dataset_revision": REVISION}, {}, "the evaluation is of ada/x; remove the option"),
        ({}, {"benchmark": "bench"}, "expected NAMESPACE/NAME"),
    ],
)
def test_other_folders_are_refused_before_the_network_is_used(tmp_path, changes, given, message):
    with pytest.raises(InputError, match=message):
        results_shipment(request(write(tmp_path / "run", **changes), **given))
    with pytest.raises(InputError, match=r"results\.json is missing"):  # of an unfinished evaluation
        results_shipment(request(tmp_path))


@pytest.fixture
def repository(hub_here):
    found = hub_here.repositories["model", MODEL] = Repository("model", MODEL, False)
    found.write("main", {"README.md": b"# A model\n", "config.json": b"{}"}, title="a model")
    return found


def test_a_pull_request_is_opened_once_and_main_is_unchanged(hub_here, repository, run, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", STRANGER)  # anyone may propose
    shipment, before = results_shipment(request(run)), dict(repository.files)
    done = push(shipment)
    assert done.pull_request == f"{hub_here.address}/{MODEL}/discussions/1"
    assert repository.files == before
    proposed = repository.at("refs/pr/1").files
    assert {path for path in proposed if path not in before} == {file.path for file in shipment.files}
    assert not any(secret.encode() in blob.content for blob in proposed.values() for secret in (TOKEN, STRANGER))
    again = push(shipment)
    assert (again.changed, again.pull_request) == (False, done.pull_request)
    assert len(repository.pull_requests) == 1


def test_results_that_the_repository_has_are_not_proposed_again(repository, run):
    shipment = results_shipment(request(run))
    repository.write("main", {file.path: file.content for file in shipment.files}, title="merged")
    done = push(shipment)
    assert (done.changed, done.pull_request, repository.pull_requests) == (False, None, [])


def test_a_concurrent_commit_and_an_interruption_leave_nothing_behind(hub_here, repository, run):
    shipment = results_shipment(request(run))
    hub_here.faults = [
        Fault("POST", "/commit/", first=lambda: repository.write("main", {"b.txt": b"b"}, title="other"))
    ]
    with pytest.raises(InputError, match="was changed by another push"):
        push(shipment)
    hub_here.faults = [Fault("POST", "/commit/", cut=10, times=9)]
    with pytest.raises(ConnectionError, match="push again to resume"):
        push(shipment)
    assert repository.pull_requests == []
    hub_here.faults = []
    assert push(shipment).changed


def test_a_token_that_may_only_read_and_a_missing_model_are_refused(hub_here, repository, run, monkeypatch):
    with pytest.raises(InputError, match="ada/none: no such model on the Hub"):
        push(results_shipment(Request("ada/none", run, benchmark=BENCHMARK)))
    monkeypatch.setenv("HF_TOKEN", READER)
    with pytest.raises(InputError, match="no write access"):
        push(results_shipment(request(run)))
    assert repository.pull_requests == []
