"""Rows in closed answer sets get `set_accuracy` in addition to their usual metric."""

import datasets
import pandas as pd
import pytest
from rich.console import Console

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring import set_accuracy
from hf_vqa_mc.scoring.metric_folders import load_metric
from hf_vqa_mc.verbs.score import score
from tests.scoring import files
from tests.scoring.test_answer_sets import closed_set, latin_square

NAMES = {"references": "label", "set_ids": "set_id", "set_kinds": "set_kind", "questions": "question"}
ROWS = latin_square("square", 2) + closed_set("other", 3) + closed_set("", 2, "")


def dataset(rows=ROWS):
    columns = {"image_ids": "image_id", "choices": "choices", **NAMES}
    table = {new: [row[old] for row in rows] for old, new in columns.items()}
    return datasets.Dataset.from_dict({"question_id": [f"q{row}" for row in range(len(rows))], **table})


def predictions(**columns):
    return pd.DataFrame({"question_id": [f"q{row}" for row in range(len(ROWS))], "label": 0, **columns})


def test_the_metric_of_sets_comes_with_the_usual_one(tmp_path):
    scores = [[1.0, 0.0] + [0.5] * (len(row["choices"]) - 2) for row in ROWS]
    path = files.write(tmp_path / "p.json", predictions(scores=scores).to_dict("records"))
    scored = score(path, dataset(), per_question=True)
    assert list(scored.results) == ["mc_accuracy", "set_accuracy"]
    columns = {
        name: [row[name] for row in ROWS] for name in ("choices", "set_ids", "set_kinds", "questions", "image_ids")
    }
    references = [row["references"] for row in ROWS]
    expected = set_accuracy([0] * len(ROWS), references, **columns, scores=scores, per_question=True)
    assert scored.results["set_accuracy"] == expected
    assert (expected["row_accuracy"], expected["rows"], expected["rows_without_set"]) == (3 / 7, 7, 2)
    by_question = scored.to_dict()["results"]["set_accuracy"]["per_question"]
    assert (by_question["row_accuracy"]["q4"], by_question["row_accuracy"]["q8"]) == (1.0, None)
    table = scored.to_pandas().query("metric == 'set_accuracy'").set_index(["measure", "group"])["value"]
    assert table["row_accuracy", "latin, k = 2"] == 0.5
    assert table["chance", "latin, k = 2 set_accuracy"] == pytest.approx(1 / 16)
    assert (
        load_metric("set_accuracy").compute(
            predictions=[0] * len(ROWS), references=references, **columns, scores=scores, per_question=True
        )
        == expected
    )


def test_the_table_has_chance_and_each_kind():
    console = Console(width=100, record=True)
    console.print(*score(predictions(), dataset()).report(), sep="\n")
    text = console.export_text()
    assert "set_accuracy: 7 rows in 2 closed answer sets; intervals clustered by set" in text
    lines = {line.strip(): line for line in text.replace("│", " ").splitlines()}
    assert any(line.startswith("latin, k = 2: 1 set") for line in lines)
    assert any(line.split()[:2] == ["rows", "42.9"] and line.split()[-2:] == ["42.9", "7"] for line in lines)
    assert any(line.startswith("rows in no set, not scored") and line.endswith("2") for line in lines)
    assert "not computed: best assignment (needs a column of scores in the predictions)" in text


@pytest.mark.parametrize("change", ["no column", "empty column"])
def test_rows_without_sets_have_the_usual_metric_alone(change):
    rows = dataset([{**row, "set_ids": "", "set_kinds": ""} for row in ROWS])
    rows = rows.remove_columns(["set_id", "set_kind"]) if change == "no column" else rows
    assert list(score(predictions(), rows).results) == ["mc_accuracy"]
    with pytest.raises(
        InputError, match="set_accuracy needs set_ids; the multiple-choice rows of dataset, test have none"
    ):
        score(predictions(), rows, metric=["set_accuracy"])


def test_part_of_a_set_is_an_error_with_its_name_and_the_usual_metric_can_be_chosen():
    some = dataset().select(range(1, len(ROWS)))
    with pytest.raises(InputError, match=r"'square' has 3 rows with the choices .*metric mc_accuracy"):
        score(predictions()[1:], some)
    assert list(score(predictions()[1:], some, metric=["mc_accuracy"]).results) == ["mc_accuracy"]


def test_scores_of_some_predictions_only_are_an_error(tmp_path):
    rows = predictions().to_dict("records")
    rows[0]["scores"] = [0.5, 0.5]
    with pytest.raises(
        InputError, match=r"question 'q.': scores is None, expected . finite numbers, one for each choice"
    ):
        score(files.write(tmp_path / "p.json", rows), dataset())


def test_scores_of_a_data_frame_or_parquet_file_are_read(tmp_path):
    frame = predictions(scores=[[0.0] * len(row["choices"]) for row in ROWS])
    frame.to_parquet(tmp_path / "p.parquet")
    path = tmp_path / "p.parquet"
    results = [score(one, dataset()).results["set_accuracy"] for one in (frame, path, pd.read_parquet(path))]
    assert results[0] == results[1] == results[2]
    assert results[0]["assignment_row_accuracy"] is not None
