"""The package as users have it: a built wheel in a fresh environment, run in other folders, offline.

These tests use only public names, commands and files, so that they hold whatever moves within the package.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sources import fixtures

ROOT = Path(__file__).parents[2]
Run = Callable[..., str]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the working tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run ``python`` or ``vqa-mc`` of an environment with the wheel, whose dependencies are the running one's."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Only as paths: without the .pth files in them, of which one would add the working tree.
    running = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "running.pth").write_text("\n".join(running))
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    given = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "PYTHON"))}
    given |= {"HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    given["NUMBA_DISABLE_JIT"] = "1"  # compiling all kernels again for a new folder takes two minutes

    def run(program: str, *arguments: object, cwd: Path, **environment: str) -> str:
        command = [str(folder / "bin" / program), *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, env=given | environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = Path(run("python", "-c", "import hf_vqa_mc; print(hf_vqa_mc.__file__)", cwd=folder).strip())
    assert found == packages / "hf_vqa_mc" / "__init__.py"
    return run


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up COCO-QA and Visual Genome with Visual7W in their publishers' layouts, and word vectors."""
    folder = tmp_path_factory.mktemp("raw")
    fixtures.write_cocoqa(folder / "cocoqa")
    fixtures.write_visual_genome(folder / "visual_genome")
    files = [path for path in folder.rglob("*") if path.is_file()]
    words = sorted({word for path in files for word in re.findall(r"[a-z0-9]+", path.read_text().lower())})
    rng = random.Random(0)
    lines = [" ".join([word, *(f"{rng.gauss(0, 1):.3f}" for _ in range(8))]) for word in words]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def built(run: Run, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which ``vqa-mc build cocoqa`` left ./vqa_mc."""
    folder = tmp_path_factory.mktemp("built")
    vectors = ("--word-vectors", raw / "vectors.txt")
    run("vqa-mc", "build", "cocoqa", "--data-dir", raw / "cocoqa", *vectors, "--variants", "iou_qou", cwd=folder)
    return folder
