"""What tests of exports share: the harnesses, where there are any."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def harness():
    """Runs a program, a path or a name in this folder, with the harnesses; gives what it prints last as JSON."""
    folder = os.environ.get("VQA_MC_HARNESSES")
    if not folder:
        pytest.skip("VQA_MC_HARNESSES names no folder with lm-eval and lmms-eval (.ci/run says how one is made)")

    def run(program, *arguments):
        command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / program), *map(str, arguments)]
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **offline, "PYTHONPATH": os.pathsep.join(paths)}
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert ran.returncode == 0, ran.stderr[-3000:]
        return json.loads(ran.stdout.strip().splitlines()[-1])

    return run
