"""Every model loads with the code of its repository where hf_vqa_mc is missing, and gives the same logits."""

import ast
import json
import sys
from shutil import copytree
from types import ModuleType

import pytest
import torch
from transformers import AutoModel, AutoModelForMultipleChoice, AutoProcessor, pipeline

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.hub.portable_code import portable_files
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from tests.hub.portable import run_without_package
from tests.models import checkpoints, test_open_ended
from tests.models.checkpoints import picture
from tests.models.test_new_model import BILINEAR, Bilinear, BilinearConfig
from tests.models.test_open_ended import CAPTIONS, GROUPS, QUESTIONS
from tests.training import toy_dataset

CHOICES = [["red", "a blue dog"], ["green", "the cat"], ["red", "green"], ["blue", "dog"]]
OTHER_NAMES = {"attention": "spatial", "hiecoatt": "hie-co"}
NEEDED = {"torch", "transformers", "numpy", "huggingface_hub", "safetensors", "regex", "PIL", "transformers_modules"}
ANSWER = """
folder, names, texts, images = sys.argv[1], *map(json.loads, sys.argv[2:])
found = {}
for name, auto_class in names.items():
    where = f"{folder}/{name}"
    processor = AutoProcessor.from_pretrained(where, trust_remote_code=True)
    inputs = processor(**texts[name], images=images)
    models = [
        of.from_pretrained(where, trust_remote_code=True) for of in (globals()[auto_class], AutoModel)
    ]
    config = AutoConfig.from_pretrained(where, trust_remote_code=True)
    with torch.no_grad():
        first, second = (model(**inputs).logits.tolist() for model in models)
    assert first == second and type(models[0]) is type(models[1]) and type(config) is type(models[0].config)
    found[name] = [first, {key: one.tolist() for key, one in inputs.items()}]
"""
HARMFUL = "from pathlib import Path\nPath({path!r}).write_text('run')\nraise SystemExit('run')\n"


def texts_of(name):
    if not MODELS[name].open_ended:
        return {"questions": ["what colour is the cat"] * len(CHOICES), "choices": CHOICES}
    return {"questions": QUESTIONS, "captions": CAPTIONS, "groups": GROUPS}


def write(folder, name):
    """A checkpoint of a model, with the files of a repository."""
    if MODELS[name].open_ended:
        test_open_ended.checkpoint(folder, name, find_backbone("pixels", device="cpu"))
    else:
        checkpoints.checkpoint(folder, OTHER_NAMES.get(name, name))
    for path, content in portable_files(folder, MODELS[name]).items():
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint of each model by name."""
    folder = tmp_path_factory.mktemp("repositories")
    for name in MODELS:
        write(folder / name, name)
    return folder


@pytest.fixture(scope="module")
def images(folder):
    """Files of images, one per question."""
    paths = [folder / f"{number}.png" for number in range(len(CHOICES))]
    for number, path in enumerate(paths):
        picture(number).save(path)
    return list(map(str, paths))


@pytest.fixture(scope="module")
def elsewhere(folder, images, tmp_path_factory):
    """Model to its logits and inputs in a process without the package, and the packages that this took."""
    names = {name: model.auto_class.__name__ for name, model in MODELS.items()}
    texts = {name: texts_of(name) for name in MODELS}
    home = str(tmp_path_factory.mktemp("home"))
    return run_without_package(ANSWER, folder, *map(json.dumps, (names, texts, images)), HF_HOME=home)


@pytest.mark.parametrize("name", list(MODELS))
def test_inputs_and_logits_are_the_same_without_the_package(name, folder, images, elsewhere):
    logits, inputs = elsewhere[1][name]
    model, processor = load_checkpoint(folder / name)
    given = processor(**texts_of(name), images=images)
    assert {key: one.tolist() for key, one in given.items()} == inputs
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), model(**given).logits, atol=1e-6, rtol=1e-6)


def test_only_transformers_and_what_it_brings_is_imported(elsewhere):
    assert elsewhere[0] <= NEEDED


@pytest.mark.parametrize("name", list(MODELS))
def test_the_code_imports_no_other_package(name, folder):
    for path in (folder / name).glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        tried = {id(one) for node in nodes if isinstance(node, ast.Try) for one in ast.walk(node)}
        modules = [one.module for one in nodes if isinstance(one, ast.ImportFrom) and id(one) not in tried]
        modules += [
            of.name for one in nodes if isinstance(one, ast.Import) and id(one) not in tried for of in one.names
        ]
        assert {module.partition(".")[0] for module in modules} - sys.stdlib_module_names <= NEEDED


def test_the_code_of_a_model_from_outside_the_package_is_complete(folder, monkeypatch):
    files = portable_files(folder / "mlp-qa", BILINEAR)
    assert json.loads(files["config.json"])["auto_map"]["AutoModel"] == "modeling_toy_bilinear.Bilinear"
    code = files["modeling_toy_bilinear.py"].decode()
    assert "import tests" not in code and "from tests" not in code
    module = ModuleType("portable")
    monkeypatch.setitem(sys.modules, "portable", module)
    exec(code, vars(module))  # noqa: S102
    ours, theirs = Bilinear(BilinearConfig(text_size=3)), module.Bilinear(module.BilinearConfig(text_size=3))
    theirs.load_state_dict(ours.state_dict())
    given = {"choice_vectors": torch.ones(2, 4, 3), "question_vectors": torch.ones(2, 3)}
    assert torch.equal(theirs(**given).logits, ours(**given).logits)


@pytest.mark.parametrize("name", ["mlp-iqa", "bow-q-i"])
def test_the_code_is_imported_without_pillow(name, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    module = ModuleType("portable")
    monkeypatch.setitem(sys.modules, "portable", module)
    exec((folder / name / "processing_hf_vqa_mc.py").read_text("utf-8"), vars(module))  # noqa: S102
    with pytest.raises(ValueError, match="images need pillow: pip install pillow"):
        module.open_image("photo.jpg")


def test_the_same_checkpoint_gives_the_same_bytes(folder):
    for name in ("mlp-iqa", "nmn"):
        first = portable_files(folder / name, MODELS[name])
        assert first == {path: (folder / name / path).read_bytes() for path in first}


SAVE = """
folder, again, images = sys.argv[1:]
auto = AutoModelForMultipleChoice
model = auto.from_pretrained(folder, trust_remote_code=True)
processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True, new_words="skip")
model.save_pretrained(again)
processor.save_pretrained(again)
inputs = processor(["a new word"], [["red", "some blue"]], json.loads(images)[:1])
same = AutoProcessor.from_pretrained(again, trust_remote_code=True, new_words="skip")
found = [
    part(**inputs).logits.tolist() for part in (model, auto.from_pretrained(again, trust_remote_code=True))
]
found.append([one.tolist() for one in same(["a new word"], [["red", "some blue"]], json.loads(images)[:1]).values()])
loss = model.train()(**inputs, labels=torch.tensor([0])).loss
loss.backward()
"""


def test_a_loaded_model_trains_and_is_saved_again(folder, images, tmp_path):
    _, (first, second, _) = run_without_package(
        SAVE, folder / "mlp-iqa", tmp_path / "again", json.dumps(images), HF_HOME=str(tmp_path / "home")
    )
    assert first == second
    model, processor = load_checkpoint(tmp_path / "again", new_words="skip")
    inputs = processor(["a new word"], [["red", "some blue"]], images[:1])
    assert model(**inputs).logits.tolist() == first


def made_harmful(folder, trace):
    """Replace the code of a repository by code that writes a file."""
    for path in folder.glob("*.py"):
        path.write_text(HARMFUL.format(path=str(trace)))
    return folder


@pytest.fixture
def harmful(folder, tmp_path):
    """A checkpoint whose code would write a file, and that file."""
    return made_harmful(copytree(folder / "mlp-iqa", tmp_path / "harmful"), tmp_path / "run"), tmp_path / "run"


@pytest.mark.parametrize("trust", [None, False, True])
def test_with_the_package_the_code_of_a_repository_is_never_run(harmful, images, trust):
    folder, trace = harmful
    load_checkpoint(folder)
    for auto_class in (AutoModel, AutoModelForMultipleChoice, AutoProcessor):
        auto_class.from_pretrained(folder, trust_remote_code=trust)
    answering = pipeline("multiple-choice-vqa", model=str(folder), trust_remote_code=trust)
    assert answering({"image": images[0], "question": "what colour", "choices": ["red", "green"]})["answer"]
    assert not trace.exists()


def test_nor_by_predict_and_evaluate(tmp_path):
    data, vectors = toy_dataset.make(tmp_path / "toy", train=20, test=5), toy_dataset.vectors_file(tmp_path)
    given = {"model": "mlp-a", "model_settings": {"hidden_size": 4}, "word_vectors": str(vectors)}
    best = vm.train(
        str(data), toy_dataset.CONFIG, output=tmp_path / "runs", epochs=1, held_out=0.3, **given
    ).model_folder
    for path, content in portable_files(best, MODELS["mlp-a"]).items():
        (best / path).write_bytes(content)
    made_harmful(best, tmp_path / "run")
    assert vm.predict(str(best), str(data), toy_dataset.CONFIG).to_pandas().size
    assert vm.evaluate(str(data), toy_dataset.CONFIG, model=str(best), inputs=["no-image"]).to_dict()
    assert not (tmp_path / "run").exists()


def test_a_config_of_unknown_type_is_refused_not_run(harmful):
    folder, trace = harmful
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "unknown"}))
    with pytest.raises(InputError, match=r"config\.json"):
        load_checkpoint(folder)
    assert not trace.exists()


def test_checkpoints_saved_after_loading_name_no_code(folder, tmp_path):
    model, _ = load_checkpoint(folder / "mlp-iqa")
    model.save_pretrained(tmp_path)
    assert "auto_map" not in json.loads((tmp_path / "config.json").read_text())
