"""Rows of open-ended configs are scored as the annotation files that they were built from."""

import json
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from datasets import load_dataset

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.verbs.build import build
from hf_vqa_mc.verbs.score import ScoreResult, score
from tests.sources.fixtures import vqa_annotations_json, write_vqa_abstract
from tests.sources.open_ended_files import (
    gqa_json,
    pairs_json,
    tdiuc_json,
    write_gqa,
    write_json,
    write_tdiuc,
    write_vqa2_pairs,
    write_vqa_open,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")]
Built = Callable[[str], str]
EXHAUSTIVE = pytest.mark.exhaustive  # of VQA 2.0 and abstract scenes, of which VQA 1.0 is a sample
WORDS = {
    "gqa": ["all", "balanced", "random_uniform"],
    "tdiuc": ["open", "tail"],
    "vqa": ["open"],
    "vqa_abstract": ["open", "random_uniform"],
    "vqa2": ["open", "pairs"],
}
WRITERS = {
    "gqa": write_gqa,
    "tdiuc": write_tdiuc,
    "vqa": write_vqa_open,
    "vqa_abstract": write_vqa_abstract,
    "vqa2": write_vqa2_pairs,
}
VQA_FILES = {
    "vqa_open": ("vqa", "mscoco_val2014", "mscoco_val2014"),
    "vqa2_open": ("vqa2", "v2_mscoco_val2014", "mscoco_val2014"),
    "vqa_abstract_open": ("vqa_abstract", "abstract_v002_val2015", "abstract_v002_val2015"),
}
"""Folder, name of the annotation file and name of the subset in official files of each open-ended config of VQA."""


SOME = [pytest.param(name, marks=[] if name == "vqa_open" else EXHAUSTIVE) for name in VQA_FILES]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("raw")
    for name, write in WRITERS.items():
        write(base / name)
    return base


@pytest.fixture(scope="module")
def built(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The folder with the open-ended configs of a source, built when first asked for."""
    folder = tmp_path_factory.mktemp("built")

    @cache
    def built(source: str) -> str:
        build(source, data_dir=raw / source, output=folder / source, variants=WORDS[source])
        return str(folder / source)

    return built


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


def test_tdiuc_rows_score_as_the_files(built: Built, raw: Path, tmp_path: Path) -> None:
    _, annotations = tdiuc_json("val2014")
    answers = {str(one["question_id"]): one["answers"][0]["answer"] for one in annotations["annotations"]}
    predictions = half_right(tmp_path / "p.json", answers)
    file = raw / "tdiuc" / "Annotations" / "mscoco_val2014_annotations.json"
    inputs = dict(questions=raw / "tdiuc" / "Questions" / "OpenEnded_mscoco_val2014_questions.json")
    of_file = score(predictions, file, inputs=inputs)
    of_rows = score(predictions, built("tdiuc"), "tdiuc")
    assert scores(of_rows, "tdiuc_mpt") == scores(of_file, "tdiuc_mpt")
    assert of_rows.official_files() == of_file.official_files()
    assert of_rows.annotations.about == {"dataset": built("tdiuc"), "config": "tdiuc", "split": "validation"}


def test_the_tail_is_scored_alone(built: Built, tmp_path: Path) -> None:
    _, annotations = tdiuc_json("val2014")
    rows = annotations["annotations"]
    write_json(tmp_path / "p.json", {str(one["question_id"]): one["answers"][0]["answer"] for one in rows})
    with pytest.warns(UserWarning, match="predictions for .* other questions"):
        scored = score(tmp_path / "p.json", built("tdiuc"), "tdiuc_tail")
    kinds = {"absurd", "object_presence"}
    assert len(scored.annotations) == sum(one["question_type"] not in kinds for one in rows)
    assert scored.results["tdiuc_mpt"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("config", "kind"), [("gqa_balanced", "balanced"), pytest.param("gqa_all", "all", marks=EXHAUSTIVE)]
)
def test_gqa_rows_score_as_the_files(config: str, kind: str, built: Built, raw: Path, tmp_path: Path) -> None:
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
    of_rows = score(predictions, built("gqa"), f"gqa_{kind}", inputs=inputs)
    assert scores(of_rows, "gqa_score") == scores(of_file, "gqa_score")
    assert 0 < scores(of_rows, "gqa_score")["accuracy"] < 1
    assert scores(of_rows, "gqa_score")["grounding"] > 0
    assert of_rows.official_files() == of_file.official_files()


@pytest.mark.parametrize("config", SOME)
def test_vqa_rows_score_as_the_files(config: str, built: Built, raw: Path, tmp_path: Path) -> None:
    folder, name, subset = VQA_FILES[config]
    file = raw / folder / f"{name}_annotations.json"
    annotations = json.loads(file.read_text())["annotations"]
    answers = {str(one["question_id"]): one["answers"][0]["answer"] for one in annotations}
    predictions = half_right(tmp_path / "p.json", answers)
    of_file, of_rows = score(predictions, file), score(predictions, built(folder), config, split="validation")
    assert of_rows.results.keys() == {"vqa_accuracy"}
    assert scores(of_rows, "vqa_accuracy") == scores(of_file, "vqa_accuracy")
    assert 0 < scores(of_rows, "vqa_accuracy")["accuracy"] < 1
    assert of_rows.official_files() == of_file.official_files()
    assert f"vqa_OpenEnded_{subset}_p_results.json" in of_rows.official_files()
    in_memory = load_dataset(built(folder), config)
    assert score(predictions, in_memory, split="validation").results == of_rows.results
    assert (
        f"vqa_OpenEnded_{subset}_p_results.json" in score(predictions, in_memory, split="validation").official_files()
    )


@pytest.mark.parametrize("config", SOME)
def test_rows_without_answers_are_reported_with_the_split_to_use(config: str, built: Built, tmp_path: Path) -> None:
    write_json(tmp_path / "p.json", {"1": "yes"})
    message = rf"{config}, test: question '\d+' has no answers.* not published; .*: split validation$"
    with pytest.raises(InputError, match=message):
        score(tmp_path / "p.json", built(VQA_FILES[config][0]), config)


@pytest.mark.parametrize("protocol", ["2021", pytest.param("2017", marks=EXHAUSTIVE)])
def test_pairs_score_as_the_files(protocol: str, built: Built, raw: Path, tmp_path: Path) -> None:
    paired = {name for pair in pairs_json("val2014") for name in pair}
    annotations = vqa_annotations_json("val2014", "2.0")["annotations"]
    answers = {str(one["question_id"]): one["multiple_choice_answer"] for one in annotations}
    predictions = half_right(tmp_path / "all.json", answers)
    of_pairs = {name: text for name, text in json.loads(predictions.read_text()).items() if int(name) in paired}
    write_json(tmp_path / "p.json", of_pairs)
    inputs = dict(
        pairs=raw / "vqa2" / "v2_mscoco_val2014_complementary_pairs.json",
        questions=raw / "vqa2" / "v2_OpenEnded_mscoco_val2014_questions.json",
    )
    of_file = score(predictions, raw / "vqa2" / "v2_mscoco_val2014_annotations.json", inputs=inputs, protocol=protocol)
    of_rows = score(tmp_path / "p.json", built("vqa2"), "vqa2_pairs", protocol=protocol)
    assert of_rows.results.keys() == {"vqa_accuracy", "vqa_pair_accuracy"}
    assert scores(of_rows, "vqa_pair_accuracy") == scores(of_file, "vqa_pair_accuracy")
    assert scores(of_rows, "vqa_pair_accuracy")["pairs"] == len(pairs_json("val2014")) == 4
    some = {"annotations": [one for one in annotations if one["question_id"] in paired]}
    write_json(tmp_path / "paired.json", some)
    of_some = score(tmp_path / "p.json", tmp_path / "paired.json", protocol=protocol)
    for measure in ("accuracy", "stderr", "per_question_type", "per_answer_type"):  # the questions' order differs
        assert of_rows.results["vqa_accuracy"][measure] == pytest.approx(of_some.results["vqa_accuracy"][measure])


def test_real_questions_of_vqa_score_as_the_file(real_data: Path, tmp_path: Path) -> None:
    records = json.loads(lzma.decompress((real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz").read_bytes()))
    questions, annotations = [], []
    for one in [one for one in records if one["coco_split"] == "val2014"][:3_000]:
        ids = {"question_id": one["question_id"], "image_id": one["image_id"]}
        answers = [{"answer": text, "answer_id": number} for number, text in enumerate(one["answer"], 1)]
        types = {"question_type": "", "answer_type": "", "multiple_choice_answer": one["multiple_choice_answer"]}
        questions.append({**ids, "question": one["question"]})
        annotations.append({**ids, **types, "answers": answers})
    write_json(tmp_path / "OpenEnded_mscoco_val2014_questions.json", {"questions": questions})
    file = tmp_path / "mscoco_val2014_annotations.json"
    write_json(file, {"annotations": annotations})
    build("vqa", data_dir=tmp_path, output=tmp_path / "vqa_mc", variants=["open"])
    rng = Random(0)
    answers = {str(one["question_id"]): rng.choice(one["answers"])["answer"] for one in annotations}
    write_json(tmp_path / "p.json", answers)
    of_file, of_rows = score(tmp_path / "p.json", file), score(tmp_path / "p.json", tmp_path / "vqa_mc", "vqa_open")
    assert of_rows.results == of_file.results
    assert 0.5 < of_rows.results["vqa_accuracy"]["accuracy"] < 0.95
