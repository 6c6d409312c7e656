"""The page of audits goes to the Hub as a Gradio Space."""

from pathlib import Path

import yaml

import hf_vqa_mc as vm
from hf_vqa_mc.cli import audit_app
from hf_vqa_mc.version import __version__
from tests.hub.pushing import TOKEN

NAME = "ada/audit"


def test_a_space_is_created_once_and_holds_no_secret(hub_here):
    assert vm.push("space", NAME, private=True).pushed.created
    space = hub_here.repositories["space", NAME]
    assert (space.sdk, space.private) == ("gradio", True)
    card = yaml.safe_load(space.files["README.md"].decode().split("---\n")[1])
    assert (card["sdk"], card["app_file"]) == ("gradio", "app.py")
    assert space.files["app.py"].decode() == Path(audit_app.__file__).read_text("utf-8")
    assert space.files["requirements.txt"] == f"hf_vqa_mc=={__version__}\n".encode()
    assert not any(TOKEN.encode() in content for content in space.files.values())
    assert not vm.push("space", NAME).pushed.changed
