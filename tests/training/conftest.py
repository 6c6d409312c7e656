"""The toy dataset, its word vectors and its images' features, made once."""

import pytest

from hf_vqa_mc.training.settings import TrainingSettings
from tests.training import toy_dataset


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    return toy_dataset.make(tmp_path_factory.mktemp("toy") / "toy")


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    return toy_dataset.vectors_file(tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="session")
def toy_features(toy, tmp_path_factory):
    return toy_dataset.features(toy, tmp_path_factory.mktemp("features") / "vqa_mc_features")


@pytest.fixture
def settings(toy, vectors, tmp_path):
    def made(**changes):
        defaults = {
            "dataset": str(toy),
            "config": toy_dataset.CONFIG,
            "output": tmp_path / "run",
            "model": "mlp-qa",
            "word_vectors": str(vectors),
            "model_settings": {"hidden_size": 32},
            "epochs": 4,
            "batch_size": 20,
            "learning_rate": 0.05,
            "held_out": 0.2,
        }
        return TrainingSettings(**{**defaults, **changes})

    return made
