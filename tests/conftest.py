"""Shared by tests of several packages: threads, hypothesis' profiles, where the real data is, some of it unpacked."""

import gc
import lzma
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.no_network import without_network
from tests.preloaded import start_server

_REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or Path(__file__).parents[2] / "shared" / "data")


os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Before torch is imported: on small tensors, waiting threads take four times the CPU time."""

_EXAMPLES = {"not slow": 12, "not exhaustive": 30, "": 100}
"""What a run leaves out to the number of examples of hypothesis."""


def pytest_configure(config: pytest.Config) -> None:
    """Fewer examples of hypothesis where slow or exhaustive tests are left out."""
    examples = next(number for part, number in _EXAMPLES.items() if part in config.option.markexpr)
    settings.register_profile(
        "ours", max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("ours")
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported stays: a collection in a test need not look at it."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Neighbouring tests on one worker, so that few fixtures of a module or folder are made twice."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest tests, quickstart and docs/: else one worker runs them while others idle."""
    docs = Path(__file__).parent / "docs"
    items.sort(key=lambda item: item.path.parent != docs and "quickstart_run" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files in their publishers' formats."""
    if not _REAL_DATA.is_dir():
        pytest.skip(f"no real data: neither VQA_MC_REAL_DATA nor {_REAL_DATA} is a folder")
    return _REAL_DATA


@pytest.fixture(scope="session")
def real_cocoqa(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """COCO-QA unpacked: a folder that holds train/ and test/."""
    folder = tmp_path_factory.mktemp("cocoqa")
    with zipfile.ZipFile(real_data / "cocoqa" / "cocoqa-2015-05-17.zip") as archive:
        archive.extractall(folder)
    return next(folder.rglob("train")).parent


@pytest.fixture(scope="session")
def real_glove(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GloVe 6B, 100 numbers a word, the 33,054 words of these datasets, unpacked."""
    path = tmp_path_factory.mktemp("glove") / "glove.6B.100d.subset.txt"
    with lzma.open(real_data / "word_vectors" / f"{path.name}.xz") as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


@pytest.fixture(scope="session")
def nltk_wordnet(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for NLTK_DATA with WordNet 3.0; nltk.corpus.wordnet finds it from here on."""
    import nltk

    folder = tmp_path_factory.mktemp("nltk_data")
    with zipfile.ZipFile(real_data / "wordnet" / "wordnet.zip") as archive:
        archive.extractall(folder / "corpora")
    nltk.data.path.insert(0, str(folder))
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray cluster of seven CPUs; this process is connected to it."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
    patient = {"health_check_timeout_ms": 60_000}  # on a busy machine
    ray.init("local", num_cpus=7, include_dashboard=False, log_to_driver=False, _system_config=patient)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def datasets3() -> Path:
    """A folder that, first on PYTHONPATH, makes ``import datasets`` give datasets 3 (``.ci/run`` makes one)."""
    folder = os.environ.get("VQA_MC_DATASETS3")
    if not folder:
        pytest.skip("VQA_MC_DATASETS3 names no folder with datasets 3 (.ci/run says how one is made)")
    return Path(folder)


@pytest.fixture
def untrained_report_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remedies are judged by the report probes that learn nothing, which takes less time."""
    from hf_vqa_mc.remedies import judgement

    untrained = [probe for probe in judgement.REPORT_PROBES if not probe.trained]
    monkeypatch.setattr(judgement, "REPORT_PROBES", untrained)


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with ``python`` and ``vqa-mc``, whose processes start with slow imports done (`tests.preloaded`)."""
    folder = tmp_path_factory.mktemp("preloaded")
    with start_server(folder):
        yield folder / "bin"


@pytest.fixture(scope="session")
def quickstart_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dict[str, str], subprocess.CompletedProcess[str]]:
    """``vqa-mc quickstart`` without a network: its working directory, its environment and what it printed."""
    folder = tmp_path_factory.mktemp("quickstart")
    environment = without_network(folder)
    here = folder / "a folder"
    here.mkdir()
    command = [sys.executable, "-m", "hf_vqa_mc", "quickstart"]
    return here, environment, subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
