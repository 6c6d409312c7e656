"""Raw files that several tests build from."""

import os
import warnings

import fsspec
import pytest

from hf_vqa_mc.errors import CountMismatch
from tests.dataset.fixtures import glove
from tests.sources import fixtures


@pytest.fixture(scope="session")
def cocoqa_files(tmp_path_factory):
    """A folder with COCO-QA's files, tiny."""
    return fixtures.write_cocoqa(tmp_path_factory.mktemp("raw") / "cocoqa")


@pytest.fixture(scope="session")
def glove_file(tmp_path_factory, cocoqa_files):
    """Word vectors for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountMismatch)
        return glove(tmp_path_factory.mktemp("vectors") / "glove.txt", cocoqa_files)


@pytest.fixture
def offline(tmp_path):
    """The environment of a process without a network and with caches of its own."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf_home")}


@pytest.fixture
def files():
    """An object store in memory, empty before and after."""
    store = fsspec.filesystem("memory")
    yield store
    store.rm("/", recursive=True) if store.find("/") else None
