"""A checkpoint on the Hub answers as the folder does: pulled, from the cache alone, and refused to strangers."""

import json
import subprocess

import pytest

from tests.hub.pushing import STRANGER, TOKEN, environment, json_of
from tests.hub.repositories import Account, Hub
from tests.hub.server import serving
from tests.models.checkpoints import checkpoint, picture

NAME = "ada/mlp-iqa"
PUSH = """
import sys
from hf_vqa_mc.models.checkpoint import load_checkpoint
for part in load_checkpoint(sys.argv[1]):
    part.push_to_hub(sys.argv[2], private=True)
print("null")
"""
ANSWER = """
import json, sys
import hf_vqa_mc.models
from transformers import pipeline
made = pipeline("multiple-choice-vqa", model=sys.argv[1], device="cpu")
print(json.dumps(made({"image": sys.argv[2], "question": "what colour", "choices": ["red", "blue dog"]})))
"""
LOAD = """
import json, sys
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.checkpoint import load_checkpoint
try:
    model, processor = load_checkpoint(sys.argv[1])
    print(json.dumps(processor.text.name))
except (InputError, ConnectionError) as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
"""


@pytest.fixture
def hub():
    with serving(Hub({TOKEN: Account("ada"), STRANGER: Account("bob")})) as served:
        yield served


@pytest.fixture
def run(hub, preloaded, tmp_path):
    """What a program in a process of its own says; home is its cache."""

    def run(program, *arguments, token=TOKEN, home="home", **more):
        return json_of(
            subprocess.run(
                [preloaded / "python", "-c", program, *map(str, arguments)],
                env={**environment(hub, tmp_path / home, token), **more},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
            )
        )

    return run


@pytest.mark.slow
def test_pushed_and_pulled_it_answers_as_the_folder_does(hub, run, tmp_path):
    folder, image = checkpoint(tmp_path / "run", "mlp-iqa"), tmp_path / "picture.png"
    picture(0).save(image)
    here = run(ANSWER, folder, image)
    run(PUSH, folder, NAME)
    pushed = hub.repositories["model", NAME].files
    assert {"config.json", "model.safetensors", "processor_config.json", "words.safetensors"} <= pushed.keys()
    pulled = run(ANSWER, NAME, image, home="puller")
    assert pulled["logits"] == pytest.approx(here["logits"], abs=1e-6)
    n_requests = len(hub.requests)
    assert run(ANSWER, NAME, image, home="puller", HF_HUB_OFFLINE="1") == pulled
    assert json.dumps(run(LOAD, NAME, home="puller", HF_HUB_OFFLINE="1")) == '"vectors0.txt"'
    assert len(hub.requests) == n_requests


@pytest.mark.slow
def test_what_cannot_be_pulled_is_reported(run, tmp_path):
    run(PUSH, checkpoint(tmp_path / "run", "mlp-iqa"), NAME)
    for token in (STRANGER, None):
        said = run(LOAD, NAME, token=token, home="stranger")
        assert said.startswith("InputError: checkpoint ada/mlp-iqa: ")
    said = run(LOAD, NAME, home="empty", HF_HUB_OFFLINE="1")
    assert said.startswith("ConnectionError: checkpoint ada/mlp-iqa is not a local folder, not in the cache")
