"""Results of an evaluation as a record of Every Eval Ever: valid by its schema, proposed once, never guessed."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.hub.every_eval_ever import record_shipment
from hf_vqa_mc.hub.push import push
from hf_vqa_mc.hub.shipment import Request
from tests.hub.pushing import STRANGER, TOKEN
from tests.hub.repositories import Fault, Repository
from tests.hub.test_push_results import BENCHMARK, REVISION, write

STORE, MODEL = "evaleval/EEE_datastore", "ada/mlp-iqa"
SCHEMA = json.loads((Path(__file__).parent / "every_eval_ever" / "eval.schema.json").read_text())


@pytest.fixture
def run(tmp_path):
    accuracy = {name: {"accuracy": {"mean": mean, "low": mean - 0.03, "high": mean + 0.03, "rows": 1000}}
                for name, mean in (("full", 0.7), ("no-image", 0.4))}  # fmt: skip
    return write(
        tmp_path / "run", inputs=accuracy, split="test", chance=1 / 7, questions_sha256="ab" * 32, rotations=1
    )


def request(folder, **given):
    about = {"benchmark": BENCHMARK, "model": MODEL, "organization": "Ada’s lab", "relationship": "first_party"}
    return Request(STORE, folder, **{**about, **given})


def record(shipment):
    (file,) = shipment.files
    return json.loads(file.content)


def test_a_record_is_valid_by_the_published_schema_and_has_every_input(run):
    found = record(record_shipment(request(run)))
    assert list(Draft7Validator(SCHEMA).iter_errors(found)) == []
    full, blind = found["evaluation_results"]
    assert (full["evaluation_name"], blind["evaluation_name"]) == ("cocoqa_iou", "cocoqa_iou, no-image")
    assert full["score_details"]["score"] == 0.7
    interval = full["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["upper"], interval["confidence_level"]) == (0.73, 0.95)
    assert full["source_data"]["hf_repo"] == BENCHMARK
    assert found["source_metadata"]["source_organization_name"] == "Ada’s lab"


def test_a_real_evaluation_becomes_a_valid_record(tmp_path):
    class Model:
        name = "first"

        def generate(self, prompts):
            return [Reply(text="A") for _ in prompts]

    rows = [{"question": f"q{n}?", "choices": ["a", "b"], "label": n % 2} for n in range(8)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    vm.evaluate(file, model=Model(), method="generate", inputs=["no-image"], output=tmp_path / "run")
    shipment = record_shipment(request(tmp_path / "run", task="mine"))
    assert list(Draft7Validator(SCHEMA).iter_errors(record(shipment))) == []
    assert str(tmp_path) not in shipment.files[0].content.decode()


def test_the_path_is_that_of_the_store_and_depends_on_the_record_only(run):
    first, again = (record_shipment(request(run)).files[0].path for _ in range(2))
    assert first == again and first.startswith(f"data/bench/{MODEL}/") and first.endswith(".json")
    assert record_shipment(request(run, organization="others")).files[0].path != first


@pytest.mark.parametrize("option", ["folder", "model", "organization", "relationship"])
def test_what_is_not_given_is_not_guessed(run, option):
    with pytest.raises(InputError, match=f"--{option} is missing"):
        record_shipment(request(**{"folder": run, option: None}))


def test_other_values_and_options_of_other_kinds_are_refused(run):
    with pytest.raises(InputError, match="relationship"):
        vm.push("every-eval-ever", STORE, relationship="friend", dry_run=True)
    with pytest.raises(InputError, match="--model ada/x is only for push every-eval-ever; remove it"):
        vm.push("results", MODEL, folder=run, model="ada/x", dry_run=True)
    with pytest.raises(InputError, match="expected NAMESPACE/NAME"):
        record_shipment(request(run, model="runs"))


def test_a_record_is_proposed_once(hub_here, run, monkeypatch):
    store = hub_here.repositories["dataset", STORE] = Repository("dataset", STORE, False)
    store.write("main", {"README.md": b"# Store\n"}, title="a store")
    monkeypatch.setenv("HF_TOKEN", STRANGER)  # anyone may propose
    shipment = record_shipment(request(run))
    hub_here.faults = [Fault("POST", "/commit/", cut=10, times=9)]
    with pytest.raises(ConnectionError, match="push again to resume"):
        push(shipment)
    hub_here.faults = []
    done, again = push(shipment), push(shipment)
    assert done.changed and not again.changed and len(store.pull_requests) == 1
    proposed = store.at("refs/pr/1").files
    assert proposed.keys() - store.files.keys() == {shipment.files[0].path}
    assert not any(secret.encode() in blob.content for blob in proposed.values() for secret in (TOKEN, STRANGER))


def test_an_evaluation_of_a_dataset_on_the_hub_keeps_its_commit(tmp_path):
    run = write(tmp_path / "run", dataset=f"{BENCHMARK}@v1.0", dataset_revision=REVISION)
    (full, _) = record(record_shipment(request(run, benchmark=None)))["evaluation_results"]
    assert (full["source_data"]["hf_repo"], full["source_data"]["additional_details"]["revision"]) == (
        BENCHMARK,
        REVISION,
    )
