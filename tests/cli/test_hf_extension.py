"""``hf vqa-mc ...``: the console script that ``hf extensions install`` looks for, run by the real ``hf``."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from huggingface_hub.cli.extensions import ExtensionManifest

SCRIPTS = Path(sys.executable).parent


@pytest.mark.slow
def test_hf_runs_the_commands_and_passes_their_exit_codes_on(tmp_path):
    folder = tmp_path / ".local/share/hf/extensions/hf-vqa-mc"
    script = str(SCRIPTS / "hf-vqa-mc")
    ExtensionManifest("me", "hf-vqa-mc", "me/hf-vqa-mc", "vqa-mc", script, "python", datetime.now(UTC)).save(folder)
    environment = {**os.environ, "HOME": str(tmp_path), "HF_HUB_DISABLE_UPDATE_CHECK": "1"}

    def hf(*arguments):
        command = [str(SCRIPTS / "hf"), "vqa-mc", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tmp_path)

    found = hf("audit", "-h")
    assert found.returncode == 0 and "vqa-mc audit" in found.stdout
    missing = hf("audit", "missing.csv")
    assert missing.returncode == 2 and "missing.csv: no such file" in missing.stderr
