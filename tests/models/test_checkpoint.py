"""A checkpoint is loaded whole or not at all: weights that do not fit, are damaged or pickled are named."""

import json
import shutil

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMultipleChoice

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.checkpoint import load_checkpoint, load_model
from hf_vqa_mc.models.model import model_of as declared_model
from tests.models.checkpoints import KINDS, checkpoint, model_of, picture


def inputs_of(processor):
    return processor([picture(0)], ["what colour"], choices=[["red", "blue dog"]])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint of MLP-IQA, not to be changed."""
    return checkpoint(tmp_path_factory.mktemp("saved") / "run", "mlp-iqa")


@pytest.fixture
def copied(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "run")


def config_with(folder, **changed):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_is_loaded_and_gives_the_same_logits(tmp_path, kind):
    model, processor = load_checkpoint(checkpoint(tmp_path / "run", kind, seed=3))
    expected = model_of(kind, seed=3)
    assert not model.training and type(model) is type(expected)
    assert processor.inputs == declared_model(model.config).inputs_with(None)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, expected.state_dict()[name], atol=0, rtol=0)
    with torch.no_grad():
        given = inputs_of(processor)  # where weights lie in memory may change a product's last bit
        torch.testing.assert_close(model(**given).logits, expected(**given).logits, atol=1e-6, rtol=1e-6)


def test_a_checkpoint_in_parts_is_loaded(copied):
    expected = load_model(copied).state_dict()
    (copied / "model.safetensors").unlink()
    model_of("mlp-iqa").save_pretrained(copied, max_shard_size="20KB")
    assert len(list(copied.glob("model-*.safetensors"))) > 1
    for name, weight in load_model(copied).state_dict().items():
        torch.testing.assert_close(weight, expected[name], atol=0, rtol=0)
    next(copied.glob("model-*.safetensors")).unlink()
    with pytest.raises(FileNotFoundError):
        load_model(copied)


@settings(max_examples=25)
@given(data=st.data())
def test_whatever_weights_are_missing_unexpected_or_of_another_shape_are_named(saved, tmp_path_factory, data):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("changed") / "run")
    weights = load_file(folder / "model.safetensors")
    name = data.draw(st.sampled_from(sorted(weights)))
    change = data.draw(st.sampled_from(["missing", "not expected", "of another shape"]))
    if change == "missing":
        del weights[name]
    elif change == "not expected":
        name = f"{name}.more"
        weights[name] = torch.zeros(2)
    else:
        weights[name] = torch.zeros(*weights[name].shape, 2)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError) as error:
        load_checkpoint(folder)
    assert f"{change}: {name}" in str(error.value) and "one checkpoint" in str(error.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden_size": 9}, "of another shape: "),
        ({"inputs": ["question", "answer"]}, r"not expected: first\.image\.weight"),
        ({"image_size": 4}, r"first\.image\.weight"),
        ({"hidden_size": -1}, "hidden_size is -1, expected 1 or more"),
        ({"hidden_size": "many"}, "hidden_size"),
        ({"model_type": "bert"}, "not a model of this package"),
        ({"model_type": "mlp-iqa"}, "model_type|mlp-iqa"),
        ({"model_type": "vqa_mc_spatial_attention"}, r"does not match model\.safetensors"),
    ],
)
def test_a_config_of_another_model_is_rejected(copied, changed, message):
    config_with(copied, **changed)
    with pytest.raises(InputError, match=message) as error:
        load_checkpoint(copied)
    assert "\n" not in str(error.value) and "config.json" in str(error.value)


def test_no_code_of_a_checkpoint_is_run(copied):
    (copied / "modeling.py").write_text("raise SystemExit('code was run')\n")
    auto = {"AutoConfig": "modeling.Config", "AutoModelForMultipleChoice": "modeling.Model"}
    config_with(copied, auto_map=auto)
    load_checkpoint(copied)
    AutoModelForMultipleChoice.from_pretrained(copied, trust_remote_code=True)
    config_with(copied, model_type="theirs")
    with pytest.raises(InputError):
        load_checkpoint(copied)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_truncated_weights_are_rejected(saved, copied, share):
    content = (saved / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"model\.safetensors is damaged .*again"):
        load_checkpoint(copied)


def test_pickles_are_never_read(copied):
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"no model\.safetensors.*pickles are not loaded"):
        load_checkpoint(copied)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "processor_config.json", "words.safetensors"])
def test_a_missing_file_is_named(copied, name):
    (copied / name).unlink()
    with pytest.raises(InputError, match=name):
        load_checkpoint(copied)


@pytest.mark.parametrize("name", ["no such/name at all", "..", "a/b/c"])
def test_an_invalid_checkpoint_name_is_rejected(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        load_checkpoint(tmp_path / "nothing" if name == ".." else name)
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(InputError, match="is a file"):
        load_checkpoint(path)
