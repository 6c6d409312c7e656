"""Rows of open-ended configs are scored as the annotation files that they were built from."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hf_vqa_mc.benchmarks import read_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.training.questions import read_splits
from hf_vqa_mc.verbs.build import build
from hf_vqa_mc.verbs.score import ScoreResult, score
from tests.sources.open_ended_files import gqa_json, tdiuc_json, write_gqa, write_json, write_tdiuc, write_vqa2_pairs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")]
WORDS = {"gqa": ["all", "balanced", "random_uniform"], "tdiuc": ["open", "tail"], "vqa2": ["pairs"]}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("raw")
    for name, write in {"gqa": write_gqa, "tdiuc": write_tdiuc, "vqa2": write_vqa2_pairs}.items():
        write(base / name)
    return base


@pytest.fixture(scope="module")
def built(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    output = tmp_path_factory.mktemp("built") / "vqa_mc"
    for name, words in WORDS.items():
        build(name, data_dir=raw / name, output=output, variants=words)
    return str(output)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.getbasetemp() / "cache")


def half_right(path: Path, answers: dict[str, str]) -> Path:
    """Predictions for all of these questions, some of them right."""
    rng = Random(5)
    texts = sorted(set(answers.values()))
    found = {one: text if rng.random() < 0.5 else rng.choice(texts) for one, text in answers.items()}
    write_json(path, found)
    return path


def scores(scored: ScoreResult, scheme: str) -> dict[str, Any]:
    """What a scheme gave, as json has it."""
    return json.loads(json.dumps(scored.results[scheme]))


def test_tdiuc_rows_score_as_the_files(built: str, raw: Path, tmp_path: Path) -> None:
    _, annotations = tdiuc_json("val2014")
    answers = {str(one["question_id"]): one["answers"][0]["answer"] for one in annotations["annotations"]}
    predictions = half_right(tmp_path / "p.json", answers)
    file = raw / "tdiuc" / "Annotations" / "mscoco_val2014_annotations.json"
    inputs = dict(questions=raw / "tdiuc" / "Questions" / "OpenEnded_mscoco_val2014_questions.json")
    of_file = score(predictions, file, inputs=inputs)
    of_rows = score(predictions, built, "tdiuc")
    assert scores(of_rows, "tdiuc_mpt") == scores(of_file, "tdiuc_mpt")
    assert of_rows.official_files() == of_file.official_files()
    assert of_rows.annotations.about == {"dataset": built, "config": "tdiuc", "split": "validation"}


def test_the_tail_is_scored_alone(built: str, tmp_path: Path) -> None:
    _, annotations = tdiuc_json("val2014")
    rows = annotations["annotations"]
    write_json(tmp_path / "p.json", {str(one["question_id"]): one["answers"][0]["answer"] for one in rows})
    with pytest.warns(UserWarning, match="predictions for other questions"):
        scored = score(tmp_path / "p.json", built, "tdiuc_tail")
    kinds = {"absurd", "object_presence"}
    assert len(scored.annotations) == sum(one["question_type"] not in kinds for one in rows)
    assert scored.results["tdiuc_mpt"]["accuracy"] == 1.0


@pytest.mark.parametrize(("config", "kind"), [("gqa_balanced", "balanced"), ("gqa_all", "all")])
def test_gqa_rows_score_as_the_files(config: str, kind: str, built: str, raw: Path, tmp_path: Path) -> None:
    answers = {one: record["answer"] for one, record in gqa_json("testdev", kind).items()}
    predictions = half_right(tmp_path / "p.json", answers)
    graphs = {
        record["imageId"]: {"width": 10, "height": 10, "objects": {"7": {"x": 1, "y": 1, "w": 5, "h": 5}}}
        for record in gqa_json("testdev", kind).values()
    }
    write_json(tmp_path / "graphs.json", graphs)
    maps = [{"questionId": one, "attention": [[1 / 49] * 7] * 7} for one in gqa_json("testdev", kind)]
    write_json(tmp_path / "maps.json", maps)
    inputs = dict(scene_graphs=tmp_path / "graphs.json", attentions=tmp_path / "maps.json")
    file = raw / "gqa" / f"testdev_{kind}_questions.json"
    of_file = score(predictions, file, inputs=inputs)
    of_rows = score(predictions, built, config, inputs=inputs)
    assert scores(of_rows, "gqa_score") == scores(of_file, "gqa_score")
    assert 0 < scores(of_rows, "gqa_score")["accuracy"] < 1
    assert scores(of_rows, "gqa_score")["grounding"] > 0
    assert of_rows.official_files() == of_file.official_files()


def test_pairs_have_no_scheme_and_it_is_reported(built: str, tmp_path: Path) -> None:
    write_json(tmp_path / "p.json", {"1": "yes"})
    message = "vqa2_pairs, validation: an open-ended config .* annotation file .*--pairs.* or against vqa2_iou_qou"
    with pytest.raises(InputError, match=message):
        score(tmp_path / "p.json", built, "vqa2_pairs")


@pytest.mark.parametrize("config", ["tdiuc", "tdiuc_tail", "gqa_balanced", "gqa_all", "vqa2_pairs"])
def test_what_needs_choices_says_which_config_has_them(config: str, built: str) -> None:
    source = config.split("_")[0]
    message = rf"{re.escape(built)}: {config} is an open-ended config: .* no choices; use .* {source}_iou_qou \("
    with pytest.raises(InputError, match=message):
        read_benchmark(built, config)
    with pytest.raises(InputError, match=message):
        read_splits(built, config)


def test_a_multiple_choice_config_beside_them_is_read_as_ever(built: str) -> None:
    assert read_benchmark(built, "gqa_random_uniform").splits
