"""Official files are what the official programs read and write; read again they give the same scores."""

import gzip
import json
import random

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.verbs.score import score
from tests.scoring import files
from tests.scoring.test_join import RIGHT


def read(folder):
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.iterdir())}


def test_vqa_gets_the_results_file_and_four_of_scores(tmp_path):
    predictions = files.write(tmp_path / "my model.v1.json", {"3": "yes", "1": "red", "2": "2"})
    written = score(predictions, files.vqa_file(tmp_path), official=tmp_path / "out").written
    stem = "vqa_OpenEnded_mscoco_val2014_my-model.v1"
    kinds = ["accuracy", "evalAnsType", "evalQA", "evalQuesType", "results"]
    assert sorted(path.name for path in written) == [f"{stem}_{kind}.json" for kind in kinds]
    found = {
        name.removeprefix(f"{stem}_").removesuffix(".json"): value for name, value in read(tmp_path / "out").items()
    }
    assert found == {
        "results": [
            {"question_id": 1, "answer": "red"},
            {"question_id": 2, "answer": "2"},
            {"question_id": 3, "answer": "yes"},
        ],
        "accuracy": {
            "overall": 86.67,
            "perQuestionType": {"what color is the": 100.0, "how many": 100.0, "is the": 60.0},
            "perAnswerType": {"other": 100.0, "number": 100.0, "yes/no": 60.0},
        },
        "evalQA": {"1": 100.0, "2": 100.0, "3": 60.0},
        "evalQuesType": {"what color is the": {"1": 100.0}, "how many": {"2": 100.0}, "is the": {"3": 60.0}},
        "evalAnsType": {"other": {"1": 100.0}, "number": {"2": 100.0}, "yes/no": {"3": 60.0}},
    }


def test_the_multiple_choice_task_is_named_and_its_indices_become_text(tmp_path):

    inputs = dict(questions=files.vqa_questions(tmp_path, choices=True))
    predictions = files.write(tmp_path / "p.json", {"1": 0, "2": 1, "3": 3})
    scored = score(predictions, files.vqa_file(tmp_path), inputs=inputs, official=tmp_path / "out")
    found = scored.official_files()
    results = found["vqa_MultipleChoice_mscoco_val2014_p_results.json"]
    assert [row["answer"] for row in results] == ["red", "2", "no"]


@pytest.mark.parametrize(
    ("name", "subset"),
    [
        ("mscoco_train2014_annotations.json", "mscoco_train2014"),
        ("abstract_v002_val2015_annotations.json", "abstract_v002_val2015"),
        ("my own.json", "mscoco_myown"),
    ],
)
def test_without_a_header_the_name_of_the_file_says_which_part_it_is(tmp_path, name, subset):
    annotations_path = files.write(tmp_path / name, files.vqa_annotations())
    scored = score(files.write(tmp_path / "p.json", RIGHT["vqa"]), annotations_path)
    assert f"vqa_OpenEnded_{subset}_p_results.json" in scored.official_files()


def test_tdiuc_and_gqa_get_the_predictions_as_their_programs_read_them(tmp_path):
    predictions = files.write(tmp_path / "p.json", RIGHT["tdiuc"])
    found = score(predictions, files.tdiuc_file(tmp_path)).official_files()
    assert found == {"p_predictions.json": [{"question_id": n, "answer": answer} for n, *_, answer in files.TDIUC]}
    predictions = files.write(tmp_path / "p.json", RIGHT["gqa"])
    found = score(predictions, files.gqa_file(tmp_path)).official_files()
    assert found["p_predictions.json"] == [
        {"questionId": name, "prediction": answer} for name, answer in RIGHT["gqa"].items()
    ]


@pytest.mark.parametrize("kind", RIGHT)
def test_read_again_they_give_the_same_scores(kind, tmp_path):
    annotations_path = {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](tmp_path)
    answers = dict(
        zip(RIGHT[kind], random.Random(0).sample(list(RIGHT[kind].values()), len(RIGHT[kind])), strict=True)
    )
    first = score(files.write(tmp_path / "p.json", answers), annotations_path, official=tmp_path / "out")
    path = next(path for path in first.written if "results" in path.name or kind != "vqa")
    again = score(path.rename(tmp_path / "out" / "p.json"), annotations_path, official=tmp_path / "again")
    assert again.results == first.results
    assert again.official_files() == first.official_files()


def test_on_real_vqa_files_too(real_data, tmp_path):
    annotations_path = real_data / "vqa_v2" / "vqa_annotatons_test.gzip"
    annotations = json.loads(gzip.decompress(annotations_path.read_bytes()))["annotations"]
    rng = random.Random(0)
    answers = {str(one["question_id"]): rng.choice(one["answers"])["answer"] for one in annotations}
    first = score(files.write(tmp_path / "p.json", answers), annotations_path, official=tmp_path / "out")
    results = next(path for path in first.written if path.name.endswith("_results.json"))
    again = score(results, annotations_path)
    assert again.results == first.results
    assert 0.5 < first.results["vqa_accuracy"]["accuracy"] < 0.95


@pytest.mark.parametrize("read", ["annotations", "another output"])
def test_nothing_that_was_read_or_is_to_be_written_is_replaced(tmp_path, read):
    predictions, annotations = files.write(tmp_path / "p.json", RIGHT["tdiuc"]), files.tdiuc_file(tmp_path)
    target = tmp_path / "p_predictions.json"
    if read == "annotations":
        annotations = annotations.rename(target)
    output = {"output": target} if read == "another output" else {}
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    what = "and output .*are the same file" if output else "would replace or change an input, "
    with pytest.raises(InputError, match=rf"p_predictions.json {what}"):
        score(predictions, annotations, official=tmp_path, **output)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("subset", ["../../../x", "a/b", "x\0y", "\ud800"])
def test_a_header_cannot_lead_out_of_the_folder(tmp_path, subset):
    annotations = {"data_subtype": subset, "annotations": files.vqa_annotations()}
    given = files.write(tmp_path / "p.json", RIGHT["vqa"]), files.write(tmp_path / "a.json", annotations)
    assert {path.parent for path in score(*given, official=tmp_path / "out").written} == {tmp_path / "out"}
    assert set(tmp_path.iterdir()) == {tmp_path / name for name in ("p.json", "a.json", "out")}


def test_a_name_that_no_file_can_have_is_rejected(tmp_path, monkeypatch):
    path, annotations_path = files.write(tmp_path / f"{'x' * 240}.json", RIGHT["tdiuc"]), files.tdiuc_file(tmp_path)
    with pytest.raises(InputError, match=r"'xxx.*is too long for a file name; rename the predictions file"):
        score(path, annotations_path, official=tmp_path / "out")
    monkeypatch.setattr("hf_vqa_mc.io.atomic.os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        score(path.rename(tmp_path / "p.json"), annotations_path, official=tmp_path / "out")
    assert not (tmp_path / "out").exists()
