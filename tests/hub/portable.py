"""A process in which hf_vqa_mc and what only it needs cannot be imported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BLOCKED = ("hf_vqa_mc", "tests", "gensim", "numba", "nltk", "datasets", "pyarrow", "scipy", "sklearn", "pandas")
WITHOUT = f"""
import sys
sys.path = [path for path in sys.path if path]
sys.modules.update(dict.fromkeys({BLOCKED}))  # which cannot be imported then
import json, torch
from transformers import (
    AutoConfig, AutoModel, AutoModelForMultipleChoice, AutoModelForVisualQuestionAnswering, AutoProcessor
)
before = set(sys.modules)
"""
AFTER = """
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([sorted(loaded - set(sys.stdlib_module_names)), found]))
"""


def run_without_package(
    program: str, *arguments: object, folder: Path = Path(sys.executable).parent, **environment: str
) -> tuple[set[str], Any]:
    """The packages that a program imports in addition to transformers' and torch's, and the value of its ``found``."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{WITHOUT}{program}{AFTER}", *map(str, arguments)],
        env={**kept, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    loaded, found = json.loads(done.stdout.splitlines()[-1])
    return set(loaded), found
