"""The counter-example model finds images that people would pick, and its candidates are checked."""

import json

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring import counterexample_recall
from hf_vqa_mc.training.inputs import Candidates
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.settings import TrainingSettings
from tests.training import paired_worlds

SMALL = {"joint_size": 256, "lstm_size": 16, "lstm_layers": 1, "word_size": 16, "common_size": 64, "dropout": 0.0}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Folder with data, features and candidates."""
    folder = tmp_path_factory.mktemp("worlds")
    features = paired_worlds.make(folder, {"train": 700, "test": 150})
    found = vm.generate_complementary(
        str(folder / "data"), paired_worlds.CONFIG, features=features, output=folder / "candidates.jsonl"
    )
    return folder, features, found


@pytest.fixture
def settings(worlds, tmp_path):
    folder, features, _ = worlds

    def made(**changes):
        given = {
            "dataset": str(folder / "data"),
            "config": paired_worlds.CONFIG,
            "output": tmp_path / "run",
            "model": "counter-example",
            "model_settings": {**SMALL, "ranking_weight": 1.0},
            "features": features,
            "candidates": folder / "candidates.jsonl",
            "optimizer": "adam",
            "learning_rate": 0.003,
            "batch_size": 50,
            "epochs": 1,
        }
        return TrainingSettings(**{**given, **changes})

    return made


@pytest.mark.slow
def test_candidates_are_found_for_both_questions_of_a_pair(worlds):
    folder, _, found = worlds
    lines = [json.loads(line) for line in (folder / "candidates.jsonl").read_text().splitlines()]
    ids = {line["question_id"] for line in lines}
    assert len(ids) == len(lines) == found.figures["questions"]
    assert {one.endswith("-other") for one in ids} == {True, False}
    assert all(len(line["candidates"]) == paired_worlds.CANDIDATES for line in lines)


@pytest.mark.slow
def test_picked_images_are_found_far_more_often_than_by_similarity(settings, worlds, tmp_path):
    run = train(settings(epochs=5))
    found = run.record["results"]["test"]
    ranked = found["counterexamples"]
    assert found["accuracy"] > 0.6  # four colors
    assert ranked["recall@5"] > max(ranked["random"]["recall@5"], ranked["distance"]["recall@5"]) + 0.1
    assert ranked["questions"] > 300
    folder, features, _ = worlds
    written = tmp_path / "ranked.json"
    given = {"features": features, "candidates": folder / "candidates.jsonl", "counterexamples": written}
    predicted = vm.predict(run.model_folder, str(folder / "data"), paired_worlds.CONFIG, **given)
    assert predicted.results["counterexamples"] == ranked
    rows = [row for row in json.loads(written.read_text()) if row["picked"] is not None]
    assert all(row["scores"] == sorted(row["scores"], reverse=True) for row in rows)
    scored = counterexample_recall(
        [row["scores"] for row in rows], [row["candidates"].index(row["picked"]) for row in rows]
    )
    assert scored["recall@5"] == pytest.approx(ranked["recall@5"])
    given["candidates"] = with_fewer(folder / "candidates.jsonl", tmp_path / "fewer.jsonl")
    with pytest.raises(InputError, match=r"23 candidates per question, expected 24.*--nearest 24"):
        vm.predict(run.model_folder, str(folder / "data"), paired_worlds.CONFIG, **given, overwrite=True)


def with_fewer(path, fewer):
    lines = map(json.loads, path.read_text().splitlines())
    short = ({**line, **{name: line[name][:-1] for name in ("candidates", "distances")}} for line in lines)
    fewer.write_text("".join(json.dumps(line) + "\n" for line in short))
    return fewer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": None}, "counter-example needs --candidates FILE"),
        ({"model": "lstm-q-i", "model_settings": {}}, "--candidates: lstm-q-i does not use it; remove it"),
    ],
)
def test_candidates_are_given_where_they_are_needed(settings, change, message):
    with pytest.raises(InputError, match=message):
        train(settings(**change))


def changed(lines, **values):
    return [{**lines[0], **values}, *lines[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[5:], "questions have no candidates in .*run vqa-mc generate complementary"),
        (
            lambda lines: changed(lines, candidates=["x"] * 24),
            "image 'x' has no features in .*use those that the candidates were found with",
        ),
    ],
)
def test_files_of_candidates_are_checked(settings, worlds, tmp_path, change, message):
    lines = [json.loads(line) for line in (worlds[0] / "candidates.jsonl").read_text().splitlines()]
    path = tmp_path / "candidates.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))
    with pytest.raises(InputError, match=message):
        train(settings(candidates=path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"question_id": 1, "answer": "x"}\n', "candidates"),
        ("[1]\n", "list"),
        ("", "different numbers of candidates, or there are none"),
        (
            '{"question_id": 1, "candidates": ["a"], "distances": [1.0]}\n'
            '{"question_id": 2, "candidates": ["a", "b"], "distances": [1.0, 2.0]}\n',
            "different numbers of candidates",
        ),
        ("PAR1\x00", "not JSON"),
    ],
)
def test_another_file_is_no_file_of_candidates(tmp_path, content, reason):
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=f"not a file of vqa-mc generate complementary .*{reason}"):
        Candidates(path)
