"""A small dataset folder, and what processes that push and pull are given and say."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.dataset.croissant import croissant
from tests.dataset.fixtures import tree_bytes, write_made
from tests.hub.repositories import Hub

TOKEN, READER, STRANGER = "hf_ownersOwnToken", "hf_ownersReadingToken", "hf_strangersToken"


def build(folder: Path, *variants: str, seed: int = 0) -> Path:
    """A built folder with images."""
    return write_made(folder, *variants, source="cocoqa", images=True, seed=seed)


def as_sent(hub: Hub, folder: Path, name: str = "ada/vqa_mc") -> dict[str, bytes]:
    """The files of a dataset folder as they are on the Hub, where croissant.json names the repository."""
    metadata = croissant(read_inventory(folder) or {}, f"{hub.address}/datasets/{name}")
    return {**tree_bytes(folder), "croissant.json": metadata.encode()}


def environment(hub: Hub, home: Path, token: str | None) -> dict[str, str]:
    """Of a process: one Hub, one cache, one token or none."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    ours = {"HF_ENDPOINT": hub.address, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(home), "NO_PROXY": "*"}
    alone = {"HF_UPDATE_DOWNLOAD_COUNTS": "0"}  # which are kept elsewhere than at HF_ENDPOINT
    return {
        **kept,
        **ours,
        **alone,
        "PYTHONPATH": ":".join(path for path in sys.path if path and not path.endswith("/modules")),  # of evaluate
        **({"HF_TOKEN": token} if token else {}),
    }


def json_of(done: subprocess.CompletedProcess[str]) -> Any:
    """The last line of a process that went well, as JSON."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Of what it said on stderr."""
    return done.stderr.strip().splitlines()[-1]
