"""The benchmark of mechanisms, in small: images of five shapes, questions about the color of one of them."""

import importlib.util
import sys
from pathlib import Path

import pytest

import hf_vqa_mc as vm

BENCHMARK = Path(__file__).resolve().parents[2] / ".ci" / "benchmarks" / "mechanisms.py"
IMAGES = {"train": 1_500, "validation": 40, "test": 200}


@pytest.fixture
def mechanisms(monkeypatch):
    spec = importlib.util.spec_from_file_location("mechanisms", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mechanisms", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SIZES", {"large": 28})
    return module


@pytest.mark.slow
def test_attention_finds_the_shape_that_a_question_is_about_where_one_vector_per_image_does_not(mechanisms, tmp_path):
    dataset = str(mechanisms.write_worlds(tmp_path, IMAGES, ["find"]))
    scores = {}
    for model, grid, settings, rate in (
        ("bottom-up", mechanisms.SIDE, {"size": 128, "word_size": 32}, 0.003),
        ("cnn-lstm", None, {"lstm_size": 128}, 0.001),
    ):
        of_all = {"backbone": "pixels", "images": tmp_path / "images", "output": tmp_path / "features"}
        given = {"features": vm.features(dataset, "images", grid=grid, **of_all).folder}
        recipe = {"epochs": 5, "batch_size": 64, "optimizer": "adam", "learning_rate": rate}
        run = vm.train(
            dataset, "find", model=model, output=tmp_path / model, model_settings=settings, **given, **recipe
        )
        scores[model] = run.record["results"]["test"]["accuracy"]
        if grid:
            vm.predict(
                str(run.model_folder), dataset, "find", attentions=tmp_path / model / "attentions.json", **given
            )
    # of 1,000 questions; the standard error is 1.6 points at most
    assert scores["bottom-up"] > 0.8
    assert scores["cnn-lstm"] < 0.5
    assert mechanisms.colors_alone(tmp_path, "find") == pytest.approx(0.38, abs=0.03)
    assert mechanisms.attention_share(tmp_path, "find", tmp_path / "bottom-up") > 0.5  # 0.06 of uniform attention
