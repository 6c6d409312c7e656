"""What these tests share: tiny models, made once, and a loopback server."""

import pytest

from tests.evaluation import tiny_models
from tests.evaluation.served import Served


@pytest.fixture(scope="session")
def vision_language(tmp_path_factory):
    return tiny_models.vision_language(tmp_path_factory.mktemp("models") / "tiny-vlm")


@pytest.fixture(scope="session")
def language(tmp_path_factory):
    return tiny_models.language(tmp_path_factory.mktemp("models") / "tiny-lm")


@pytest.fixture
def served():
    with Served() as server:
        yield server
