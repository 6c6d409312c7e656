"""A Hub on loopback, a small dataset folder, and processes that push and pull."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from tests.hub.pushing import READER, STRANGER, TOKEN, build, environment
from tests.hub.repositories import Account, Hub
from tests.hub.server import serving


@pytest.fixture
def hub():
    accounts = {
        TOKEN: Account("ada", orgs=("benchmakers",)),
        READER: Account("ada", orgs=("benchmakers",), role="read"),
        STRANGER: Account("bob"),
    }
    with serving(Hub(accounts)) as served:
        yield served


@pytest.fixture
def hub_here(hub, tmp_path, monkeypatch):
    """The Hub for this process, with a cache of its own."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)
    changed = {"ENDPOINT": hub.address, "HUGGINGFACE_CO_URL_TEMPLATE": hub.address + template}
    changed |= {"HF_HUB_CACHE": str(tmp_path / "home"), "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True}
    for name, value in changed.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)  # a client of the former address
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder vqa_mc with two variants and their images; not to be changed."""
    return build(tmp_path_factory.mktemp("built") / "vqa_mc", "iou", "iou_qou")


@pytest.fixture
def process(hub: Hub, preloaded: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python in a process of its own that talks to the Hub; home is its cache."""

    def process(
        *arguments: str, token: str | None = TOKEN, home: str = "home", **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [preloaded / "python", *map(str, arguments)],
            env={**environment(hub, tmp_path / home, token), **more},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return process


@pytest.fixture
def vqa_mc(process) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``vqa-mc`` in a process of its own; whatever it says, no secret is in it."""

    def vqa_mc(*arguments: Any, **options: str) -> subprocess.CompletedProcess[str]:
        done = process("-m", "hf_vqa_mc", *arguments, **options)
        for secret in (TOKEN, READER, STRANGER, "X-Signature"):
            assert secret not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return vqa_mc
