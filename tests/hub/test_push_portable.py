"""A pushed model is pulled where hf_vqa_mc is missing, at the revision that was read, as its card shows."""

import re

import pytest
import torch

import hf_vqa_mc as vm
from hf_vqa_mc.models.checkpoint import load_checkpoint
from tests.hub.checkpoints import write_checkpoint, write_record
from tests.hub.portable import run_without_package
from tests.hub.pushing import environment
from tests.models.checkpoints import checkpoint, picture

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # of huggingface_hub
NAME, SEEING = "ada/portable", "ada/seeing"
QUESTION, CHOICES = "What is on the table?", ["a cat", "a cup", "a book"]
PINNED = """
name, old, new = sys.argv[1:]
auto, given = AutoModelForMultipleChoice, torch.linspace(-1, 1, 24).reshape(2, 3, 4)
found = []
for revision in (old, new):
    model = auto.from_pretrained(name, trust_remote_code=True, revision=revision)
    with torch.no_grad():
        found.append(model(choice_vectors=given, question_vectors=given[:, 0]).logits.tolist())
try:
    auto.from_pretrained(name, revision=new, trust_remote_code=False)
except ValueError as error:
    found.append("trust_remote_code=True" in str(error))
"""


@pytest.fixture
def run(hub_here, tmp_path):
    """Runs a program in a process without the package that talks to the Hub."""
    settings = environment(hub_here, tmp_path / "home", None) | {"HF_HUB_OFFLINE": "0"}
    needed = {name: value for name, value in settings.items() if name.startswith(("HF_", "NO_PROXY"))}

    def run(program, *arguments):
        return run_without_package(program, *arguments, folder=tmp_path, **needed)[1]

    return run


@pytest.mark.slow
def test_a_pulled_model_has_the_code_of_its_revision_and_runs_as_its_card_shows(hub_here, run, tmp_path):
    first, second = (write_checkpoint(tmp_path / str(seed), seed=seed) for seed in (0, 1))
    commits = [vm.push("model", NAME, folder=folder).pushed.commit for folder in (first, second)]
    code = "modeling_vqa_mc_mlp.py"
    changed = hub_here.repositories["model", NAME].files[code].replace(b"return scores", b"return 0 * scores")
    hub_here.repositories["model", NAME].write("main", {code: changed}, title="other code")
    folder = write_record(checkpoint(tmp_path / "run" / "best", "mlp-iqa"), model="mlp-iqa", image_features={"dim": 5})
    vm.push("model", SEEING, folder=folder)
    picture(0).save(tmp_path / "photo.jpg")
    card = hub_here.repositories["model", SEEING].files["README.md"].decode()
    *_, example = re.findall(r"```python\n(.*?)```", card, re.S)
    shown = f"{example}\nfound.append(model(**inputs).logits.tolist())"
    old, new, refused, seeing = run(f"{PINNED}\n{shown}", NAME, commits[0], "main")
    given = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
    model, _ = load_checkpoint(first)
    torch.testing.assert_close(torch.tensor(old), model(choice_vectors=given, question_vectors=given[:, 0]).logits)
    assert not torch.tensor(new).any()
    assert refused
    model, processor = load_checkpoint(folder, new_words="skip")
    expected = model(**processor([QUESTION], [CHOICES], [tmp_path / "photo.jpg"])).logits
    torch.testing.assert_close(torch.tensor(seeing), expected, atol=1e-6, rtol=1e-6)
