"""A ``vqa-mc generate`` that is killed leaves the old folder or the new one, and the next clears its leftovers."""

import shutil
import signal

import pytest

from hf_vqa_mc.cli import INTERRUPTED
from hf_vqa_mc.sources.source import generated_by
from hf_vqa_mc.version import __version__
from tests.engines.one_generation import POINTS, WRITERS, content, generated, seed_in, start, write_inputs
from tests.killed import finish

ENGINES = ("gqa", "tdiuc")
KILLS = [
    *(("tdiuc", point) for point in POINTS),
    *(
        pytest.param("gqa", point, marks=pytest.mark.slow)  # its process starts slowly
        for point in ("files", "before exchange", "between renames")
    ),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Engine to the options that name what it reads."""
    return {engine: write_inputs(engine, tmp_path_factory.mktemp(f"inputs of {engine}")) for engine in ENGINES}


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory):
    """Engine and seed to a folder that was generated with it, undisturbed."""
    folders = {(engine, seed): tmp_path_factory.mktemp(engine) / f"{seed}" for engine in ENGINES for seed in (0, 1)}
    for (engine, seed), folder in folders.items():
        assert generated(engine, inputs[engine], folder, seed) == 0
        assert seed_in(folder) == seed
    return folders


@pytest.mark.parametrize(("engine", "point"), KILLS)
def test_a_generation_killed_at_any_step_leaves_the_old_or_the_new_folder(engine, point, inputs, whole, tmp_path):
    output = tmp_path / "made"
    shutil.copytree(whole[engine, 0], output)
    assert finish(start(engine, inputs[engine], output, 1, point)) == -signal.SIGKILL
    if point == "between renames":
        assert not output.exists()
    else:
        assert content(output) == content(whole[engine, 1 if point.startswith("after") else 0])
    assert any(path != output for path in tmp_path.iterdir())  # what the killed one left
    assert generated(engine, inputs[engine], output, 1) == 0
    assert content(output) == content(whole[engine, 1])
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_first_generation_killed_before_it_is_whole_leaves_no_output(inputs, tmp_path):
    assert finish(start("tdiuc", inputs["tdiuc"], tmp_path / "made", 0, "statistics")) == -signal.SIGKILL
    assert not (tmp_path / "made").exists()


def test_what_a_generation_killed_between_renames_put_aside_comes_back(inputs, whole, tmp_path, monkeypatch):
    output = tmp_path / "made"
    shutil.copytree(whole["tdiuc", 0], output)
    assert finish(start("tdiuc", inputs["tdiuc"], output, 1, "between renames")) == -signal.SIGKILL

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*WRITERS["tdiuc"], interrupted)
    assert generated("tdiuc", inputs["tdiuc"], output, 1) == INTERRUPTED
    assert content(output) == content(whole["tdiuc", 0])
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_tells_its_engine_and_version(engine, whole):
    made_by = generated_by(whole[engine, 0])
    assert (made_by["engine"], made_by["version"]) == (engine, __version__)
