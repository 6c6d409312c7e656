"""Open-ended models with attention go to the Hub and come back with the same answers, with cards of true facts."""

import json
import re

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import AutoModelForVisualQuestionAnswering, AutoProcessor, pipeline

import hf_vqa_mc as vm
from hf_vqa_mc.model_listing import MODELS
from tests.hub.test_model_card import page
from tests.models.checkpoints import picture
from tests.models.test_open_ended import SMALL
from tests.training import paired_worlds, toy_dataset

ATTENDING = ("mcb-a", "hiecoatt-answers", "bottom-up", "mac", "nmn", "rau")
EXPLAINING = "counter-example"
NAMES = ["mac", EXPLAINING, *(pytest.param(name, marks=pytest.mark.slow) for name in ATTENDING if name != "mac")]
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # of huggingface_hub
QUESTION = {"question": "What colour is it?"}


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Arguments of train on questions about images with a grid."""
    folder = tmp_path_factory.mktemp("toy")
    dataset = toy_dataset.make(folder / "toy", train=10, test=5)
    return dataset, toy_dataset.CONFIG, {"features": toy_dataset.features(dataset, folder / "f", grid=2, count=15)}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Arguments of train on balanced pairs with candidates."""
    folder = tmp_path_factory.mktemp("pairs")
    features, candidates = paired_worlds.make(folder, {"train": 40, "test": 30}), folder / "candidates.jsonl"
    dataset = folder / "data"
    vm.generate_complementary(str(dataset), paired_worlds.CONFIG, features=features, output=candidates)
    return dataset, paired_worlds.CONFIG, {"features": features, "candidates": candidates}


@pytest.fixture(scope="module")
def run(tmp_path_factory, request):
    """The run of a model, after one step."""
    runs = {}

    def run(name):
        if name not in runs:
            dataset, config, inputs = request.getfixturevalue("pairs" if name == EXPLAINING else "toy")
            small = {key: value for key, value in SMALL.items() if key in MODELS[name].defaults()}
            given = {"model": name, "model_settings": small, "epochs": 0.1, "held_out": 0.3, **inputs}
            runs[name] = vm.train(str(dataset), config, output=tmp_path_factory.mktemp(name) / "run", **given)
        return runs[name]

    return run


def answers(name, task):
    """The logits of a model, and what its pipeline makes of questions."""
    inputs = AutoProcessor.from_pretrained(name)([picture(0)], [QUESTION["question"]])
    with torch.no_grad():
        logits = AutoModelForVisualQuestionAnswering.from_pretrained(name).eval()(**inputs).logits
    found = [logits.tolist()]
    for each in {task, "open-ended-vqa"}:
        more = {"candidates": [picture(seed) for seed in range(24)]} if each == "vqa-counterexample" else {}
        found.append(pipeline(each, model=name, device="cpu")({"image": picture(1), **QUESTION, **more}))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_pushed_model_answers_as_the_folder_does(hub_here, run, name):
    folder, repository = run(name).model_folder, f"ada/{name}"
    pushed = vm.push("model", repository, folder=folder)
    task = "vqa-counterexample" if name == EXPLAINING else "open-ended-vqa"
    assert f'transformers.pipeline("{task}", model="{repository}")' in list(pushed.report())[-1]
    sent = hub_here.repositories["model", repository].files
    own = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path: sent[path] for path in own} == own
    assert answers(repository, task) == answers(str(folder), task)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_has_the_figures_and_settings_of_the_run(run, name):
    done = run(name)
    (readme, *_) = vm.push("model", f"ada/{name}", folder=done.model_folder, dry_run=True).shipment.files
    card, record, model = ModelCard(readme.content.decode()), done.record, MODELS[name]
    text = card.text
    assert f"{model.title}: {model.description}." in text
    assert f"with one of the {record['answers']['size']} most frequent training answers" in text
    tested = record["results"]["test"]
    assert [one.metric_value for one in card.data.eval_results] == [tested["accuracy"]]
    assert f"| test | {tested['accuracy']:.1%} | " in text
    assert f"Trained on cpu in 1 process for {record['seconds']:,.1f} seconds. Step 1 of 1 is kept" in text
    listed = dict(re.findall(r"^\| `(\w+)` \| `(.*)` \|$", text, re.M))
    recipe = {key: value for key, value in model.recipe._asdict().items() if value is not None}
    assert {key: listed.pop(key) for key in recipe} == {key: shown(value) for key, value in recipe.items()} | {
        "epochs": "0.1"
    }
    assert json.loads(listed.pop("model_settings")) == record["settings"]["model_settings"]
    assert listed.pop("answers") == "1000"
    assert not {"decoys_per_question", "centre", "momentum", "output"} & listed.keys()
    assert "None" not in "".join(page(text))
    for order, found in ranked_by(tested.get("counterexamples")).items():
        assert f"| {order} | {found['recall@1']:.1%} | {found['recall@5']:.1%} |" in text


def ranked_by(found):
    if found is None:
        return {}
    others = {"random": "random", "most similar image first": "distance", "least probable answer first": "vqa_model"}
    return {"the model's": found} | {order: found[key] for order, key in others.items()}


def shown(value):
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_card_run(run, name, monkeypatch, tmp_path):
    folder = run(name).model_folder
    (readme, *_) = vm.push("model", f"ada/{name}", folder=folder, dry_run=True).shipment.files
    code = "".join(re.findall(r"```python\n(.*?)```", readme.content.decode(), re.S))
    monkeypatch.chdir(tmp_path)
    for file in ("photo.jpg", "similar1.jpg", "similar2.jpg"):
        picture(0).save(file)
    code = code.replace(f"ada/{name}", str(folder)).replace('"similar2.jpg"]', '*["similar2.jpg"] * 23]')
    values = {}
    exec(compile(code, "card", "exec"), values)  # noqa: S102
    assert values["model"].config.model_type == MODELS[name].config_class.model_type
