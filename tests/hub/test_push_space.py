"""The page of audits goes to the Hub as a Docker Space whose command starts it."""

import json
import subprocess
import sys

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.version import __version__
from tests.hub.pushing import TOKEN
from tests.hub.repositories import Fault

NAME = "ada/audit"


def test_a_space_is_created_once_and_holds_no_secret(hub_here):
    assert vm.push("space", NAME, private=True).pushed.created
    space = hub_here.repositories["space", NAME]
    assert (space.sdk, space.private) == ("docker", True)
    assert b"sdk: docker" in space.files["README.md"] and b"app_port: 7860" in space.files["README.md"]
    assert space.files["requirements.txt"] == f"hf_vqa_mc[study]=={__version__}\n".encode()
    assert not any(TOKEN.encode() in content for content in space.files.values())
    assert not vm.push("space", NAME).pushed.changed


def test_a_conflict_and_an_interruption_leave_the_space_as_it_was(hub_here):
    vm.push("space", NAME)
    space = hub_here.repositories["space", NAME]
    space.write("main", {"Dockerfile": b"FROM mine\n"}, title="by hand")
    hub_here.faults = [Fault("POST", "/commit/", first=lambda: space.write("main", {"b": b"b"}, title="other"))]
    with pytest.raises(InputError, match="was changed by another push"):
        vm.push("space", NAME)
    hub_here.faults = [Fault("POST", "/commit/", cut=10, times=9)]
    with pytest.raises(ConnectionError, match="push again to resume"):
        vm.push("space", NAME)
    assert space.files["Dockerfile"] == b"FROM mine\n"
    hub_here.faults = []
    assert vm.push("space", NAME).pushed.changed


@pytest.mark.slow
def test_the_command_of_the_space_is_one_that_runs():
    (file,) = (one for one in vm.push("space", NAME, dry_run=True).shipment.files if one.path == "Dockerfile")
    command = json.loads(file.content.decode().splitlines()[-1].removeprefix("CMD "))
    done = subprocess.run([sys.executable, *command[1:3], "--help"], capture_output=True, text=True, check=True)
    assert "--host" in done.stdout
