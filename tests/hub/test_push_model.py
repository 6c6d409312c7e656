"""A trained model goes to the Hub and comes back with the same answers, also when things go wrong between."""

import json
from shutil import copytree

import pytest
from huggingface_hub import ModelCard

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.model_folder import CARD as README
from hf_vqa_mc.hub.model_folder import MODEL, model_shipment
from hf_vqa_mc.hub.shipment import Request
from tests.hub.checkpoints import FILES, RECORD, answers, write_checkpoint
from tests.hub.pushing import json_of
from tests.training import toy_dataset

NAME = "ada/mlp-qa"
ANSWERS = "import json, sys; from tests.hub.checkpoints import answers; print(json.dumps(answers(sys.argv[1])))"


@pytest.fixture(scope="session")
def best(tmp_path_factory):
    """RUN/best; not to be changed."""
    return write_checkpoint(tmp_path_factory.mktemp("run") / "best")


def sent(hub, name=NAME):
    """The files of a model on the Hub, but for the Hub's own."""
    return {path: content for path, content in hub.repositories["model", name].files.items() if path[0] != "."}


def page(folder, name=NAME):
    """What a push of this folder makes of the repository."""
    (card, *_) = model_shipment(Request(name, folder)).files
    own = {path: (folder / path).read_bytes() for path in FILES}
    return {README: card.content, **own}


@pytest.mark.slow
def test_a_pushed_model_comes_back_with_the_same_answers_and_then_offline(hub, best, vqa_mc, process):
    done = vqa_mc("push", "model", NAME, "--folder", best)
    assert done.returncode == 0, done.stderr
    head = hub.repositories["model", NAME].at("main")
    assert f"created {hub.address}/{NAME} (public), commit {head.oid[:8]}" in done.stdout
    assert (
        f'to load it: import hf_vqa_mc.models; transformers.pipeline("multiple-choice-vqa", model="{NAME}")'
        in done.stdout
    )
    assert head.title == "mlp-qa on cocoqa_iou_qou, trained by hf_vqa_mc 0.1.0"
    assert sent(hub) == page(best)
    data = ModelCard(sent(hub)[README].decode()).data
    assert [(one.dataset_split, one.metric_value) for one in data.eval_results] == [
        ("test", RECORD["results"]["test"]["accuracy"])
    ]
    here = answers(str(best))
    assert json_of(process("-c", ANSWERS, NAME, token=None, home="puller")) == here
    n_requests = len(hub.requests)
    assert json_of(process("-c", ANSWERS, NAME, token=None, home="puller", HF_HUB_OFFLINE="1")) == here
    assert len(hub.requests) == n_requests
    assert hub.leaked == []


@pytest.mark.slow
def test_only_what_is_a_checkpoint_is_sent(hub, best, vqa_mc, tmp_path):
    folder = copytree(best, tmp_path / "best")
    strange = ("README.md", "notes.txt", "optimizer.pt", "pytorch_model.bin", "trackers/events")
    (folder / "trackers").mkdir()
    for name in (*strange, ".env"):
        (folder / name).write_bytes(b"my own")
    done = vqa_mc("push", "model", NAME, "--folder", folder, "--json")
    assert json.loads(done.stdout)["left_out"] == list(strange)
    assert sent(hub) == page(best)


def test_the_dry_run_says_what_stays_here(best, tmp_path):
    folder = copytree(best, tmp_path / "best")
    (folder / "training_args.bin").write_bytes(b"pickled")
    result = vm.push("model", NAME, folder=folder, dry_run=True)
    assert repr(result).splitlines()[-1] == "not sent: training_args.bin (not part of a checkpoint)"


def move(folder, name, to):
    (folder / name).rename(folder / to)


SPOILT = {
    "no config": (lambda best: (best / "config.json").unlink(), "config.json"),
    "a pickle": (
        lambda best: move(best, "model.safetensors", "pytorch_model.bin"),
        "expected safetensors weights (pickles are not loaded)",
    ),
    "half the weights": (
        lambda best: (best / "model.safetensors").write_bytes(b"\x10\0"),
        "model.safetensors is damaged",
    ),
    "no words": (lambda best: (best / "words.safetensors").unlink(), "words.safetensors"),
    "no processor": (lambda best: (best / "processor_config.json").unlink(), "processor_config.json"),
    "no record": (
        lambda best: (best / "training.json").unlink(),
        "training.json missing; give a checkpoint of vqa-mc train",
    ),
    "another config": (
        lambda best: (best / "config.json").write_text((best / "config.json").read_text().replace(": 8,", ": 9,")),
        "config.json does not match model.safetensors",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
def test_a_checkpoint_that_is_not_whole_is_rejected(best, tmp_path, spoil, message):
    folder = copytree(best, tmp_path / "best")
    spoil(folder)
    with pytest.raises(InputError) as refused:
        model_shipment(Request(NAME, folder))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_is_no_checkpoint(best, tmp_path):
    with pytest.raises(InputError, match="no checkpoint given; add --folder RUN/best"):
        model_shipment(Request(NAME))
    with pytest.raises(InputError, match=f"is a run folder, not a checkpoint: did you mean {best}\\?"):
        model_shipment(Request(NAME, best.parent))
    with pytest.raises(InputError, match="nothing: no such folder"):
        model_shipment(Request(NAME, tmp_path / "nothing"))
    with pytest.raises(InputError, match="expected NAMESPACE/NAME"):
        model_shipment(Request("mlp-qa", best))


def test_an_open_ended_checkpoint_is_pushed_without_word_vectors(tmp_path):
    toy = toy_dataset.make(tmp_path / "toy", train=20, test=5)
    given = {"model": "lstm-q", "model_settings": {"lstm_size": 4}, "epochs": 1, "held_out": 0.3}
    run = vm.train(str(toy), toy_dataset.CONFIG, output=tmp_path / "run", **given)
    sent = model_shipment(Request(NAME, run.model_folder))
    own = [name for name in FILES if name != "words.safetensors"]
    assert [one.path for one in sent.files] == [README, *own]
    card = sent.files[0].content.decode()
    assert "AutoModelForVisualQuestionAnswering" in card
    assert "most frequent training answers" in card
    assert 'pipeline("open-ended-vqa"' in card
    assert "| test |" in card


def test_an_open_ended_checkpoint_is_pushed_with_the_word_vectors_that_it_reads(tmp_path):
    toy, vectors = toy_dataset.make(tmp_path / "toy", train=20, test=5), toy_dataset.vectors_file(tmp_path)
    given = {"model": "linear-q", "word_vectors": str(vectors), "epochs": 1, "held_out": 0.3}
    run = vm.train(str(toy), toy_dataset.CONFIG, output=tmp_path / "run", **given)
    sent = model_shipment(Request(NAME, run.model_folder))
    assert [one.path for one in sent.files] == [README, *FILES]
    assert 'pipeline("open-ended-vqa"' in MODEL.usage(sent)
