"""The GitHub Action: its scripts run, and what they call is understood by the command."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from tests.cli.test_audit import lines

FOLDER = Path(__file__).parents[2] / ".github" / "actions" / "audit"


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))
    return found


def step(action: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in action["runs"]["steps"] if one.get("name") == name)
    return found


def called(action: dict[str, Any], folder: Path, code: int = 0, **inputs: str) -> list[str]:
    """The arguments with which the action calls vqa-mc, which ends with a code."""
    command = folder / "vqa-mc" / "bin" / "vqa-mc"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" > "{folder}/called"\necho "a | table"\nexit {code}\n')
    command.chmod(0o755)
    given = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | inputs
    values = {
        variable: given[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for variable, text in step(action, "Audit")["env"].items()
    }
    summary = folder / "summary"
    environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(summary)}
    codes = [
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(action, name)["run"]],
            env=environment | values,
            cwd=folder,
            check=False,
            capture_output=True,
        ).returncode
        for name in ("Audit", "Summary")
    ]
    assert codes == [code, 0]
    assert summary.read_text() == "    a | table\n"
    return (folder / "called").read_text().split("\0")[:-1]


@pytest.mark.slow
def test_all_inputs_reach_the_command_which_understands_them(action, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, new = (lines(tmp_path / f"{name}.jsonl", "length", share) for name, share in (("old", 0.0), ("-new", 0.6)))
    assert CliRunner().invoke(app, ["audit", str(old), "--no-probes", "--output", "old"]).exit_code == 0
    inputs = {"dataset": new.name, "against": "old/audit.json", "fail-on-regression": "0", "fail-above": "0.5"}
    inputs |= {"probes": "false", "arguments": "--seed 1  --question question", "output": "a folder"}
    arguments = called(action, tmp_path / "run", code=3, **inputs)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 3, result.output
    made = json.loads((tmp_path / "a folder" / "audit.json").read_text("utf-8"))
    assert made["certificate"]["settings"]["seed"] == 1
    assert made["rows"] == 400


def test_text_of_inputs_is_never_run(action, tmp_path):
    text = '$(touch hacked) `touch hacked`"; touch hacked; #'
    arguments = called(action, tmp_path / "run", dataset=text, config=text, against=text)
    assert arguments[-1] == text
    assert not (tmp_path / "run" / "hacked").exists()
    for one in action["runs"]["steps"]:
        assert "${{" not in one.get("run", "")


def test_the_install_step_is_valid_and_names_files_that_exist(action):
    script = step(action, "Install")["run"]
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0
    assert (FOLDER / "../../.." / ".ci" / "constraints.txt").is_file()
    assert (FOLDER / "../../.." / "pyproject.toml").is_file()


def test_the_example_gives_inputs_that_exist_and_is_no_workflow_of_this_repository(action):
    example = yaml.safe_load((FOLDER / "example.yml").read_text("utf-8"))
    (used,) = [one for one in example["jobs"]["audit"]["steps"] if "with" in one]
    assert used["uses"].partition("@")[0].endswith(".github/actions/audit")
    assert used["with"].keys() <= action["inputs"].keys()
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= used["with"].keys()
    assert not list((FOLDER.parents[1] / "workflows").glob("*audit*"))
