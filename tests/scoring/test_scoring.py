import subprocess
import sys
from pathlib import Path

import pytest

import hf_vqa_mc.scoring

MODULES = sorted(path.stem for path in Path(hf_vqa_mc.scoring.__file__).parent.glob("*.py"))

BARRED = ("torch", "datasets", "evaluate", "transformers", "huggingface_hub", "requests", "httpx")


@pytest.mark.parametrize("module", MODULES)
def test_scoring_loads_neither_torch_nor_datasets(module):
    code = f"import sys, hf_vqa_mc.scoring.{module}; print([name for name in {BARRED!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
