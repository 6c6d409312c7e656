"""What the answers of each kind of study amount to, and that other commands read the files."""

import json
from contextlib import closing

import pandas as pd
import pytest
from pyarrow import parquet

import hf_vqa_mc as vm
from hf_vqa_mc.data.verdicts import read_verdicts, rejected
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.studies import STUDIES
from hf_vqa_mc.studies.kind import BAD, Answered, Item
from hf_vqa_mc.studies.store import Study
from tests.studies import worlds


def answered(path, value_of, annotators=9):
    """Let annotators answer: ``value_of`` gets the annotator, the item and the condition."""
    with closing(Study(path)) as study:
        for _ in range(annotators):
            annotator = study.annotator(study.join())
            while page := study.next_page(annotator):
                for task in page.tasks:
                    value = worlds.right(study, task.item)
                    if not task.item.control:
                        value = value_of(annotator, task.item, page.condition)
                    assert study.save(annotator, task.id, value, 2.0)
    return path


def test_accuracies_of_the_conditions_and_predictions_that_score_reads(tmp_path):
    rows = worlds.benchmark()

    def value(annotator, item, condition):  # without the image the first choice, else the label
        return 0 if condition == "no-image" else item.known["label"]

    path = answered(worlds.new_study(tmp_path, dataset=rows), value)
    result = vm.study_results(path, output=tmp_path / "results")
    table = {row["condition"]: row for row in result.to_dict()["conditions"]}
    assert {name: row["accuracy"] for name, row in table.items()} == {"full": 1, "no-question": 1, "no-image": 0.25}
    assert table["no-image"]["low"] < 0.25 < table["no-image"]["high"] and table["full"]["chance"] == 0.25
    assert (table["full"]["alpha"], table["full"]["kappa"], table["no-image"]["alpha"]) == (1, 1, None)
    assert {row["seconds"] for row in table.values()} == {2.0} and table["full"]["answers"] == 36
    frame = result.to_pandas()
    assert (frame["votes_for_label"][:9] == 0).all() and set(frame["condition"][:9]) == {"no-image"}
    for name, accuracy in (("full", 1), ("no-image", 0.25)):
        scored = vm.score(tmp_path / "results" / f"predictions-{name}.json", rows, partial=True).to_dict()
        assert scored["results"]["mc_accuracy"]["accuracy"] == accuracy
    answers = parquet.read_table(tmp_path / "results" / "answers.parquet").to_pandas()
    assert len(answers) == len(answers.drop_duplicates(["question_id", "annotator"]))
    assert {file.name for file in result.save(tmp_path / "copy")} == {file.name for file in result.written}
    assert answers["counts"].sum() == 108 and not answers.astype(str).isin([""]).any().any()


def test_votes_are_in_the_benchmarks_order_of_choices(tmp_path):
    rows = worlds.benchmark()
    rows["answer"] = "red"
    rows["decoys"] = [["green", "blue", "black"]] * 12
    rows = rows.drop(columns=["choices", "label"])  # the target first: shown in another order
    path = answered(
        worlds.new_study(tmp_path, dataset=rows, conditions="full"), lambda _, item, __: item.known["label"]
    )
    with closing(Study(path)) as study:
        assert {item.known["label"] for item in study.items.values() if not item.control} > {0}
    vm.study_results(path, output=tmp_path / "results")
    assert (
        vm.score(tmp_path / "results" / "predictions-full.json", rows).to_dict()["results"]["mc_accuracy"]["accuracy"]
        == 1
    )


def test_marks_become_verdicts(tmp_path):
    def value(annotator, item, _):
        label = item.known["label"]
        if item.question_id == "q0":
            return BAD
        if item.question_id == "q1":
            return {"correct": [label, (label + 1) % 4], "unsure": []}
        if item.question_id == "q2":
            return {"correct": [label], "unsure": [(label + 1) % 4]}
        return {"correct": [], "unsure": []} if item.question_id == "q3" else {"correct": [label], "unsure": []}

    result = vm.study_results(answered(worlds.new_study(tmp_path, "ambiguity"), value), output=tmp_path / "results")
    figures = result.to_dict()
    assert [round(figures[name] * 12) for name in ("ambiguous", "label_rejected", "bad_question")] == [1, 1, 1]
    assert set(result.to_pandas()["question_id"][:3]) == {"q0", "q1", "q3"}
    verdicts = read_verdicts(tmp_path / "results" / "verdicts.parquet")
    found = rejected(verdicts)
    assert found.questions == {"q0"} and found.choices["q1"] == {"green", "blue"}
    assert found.choices["q2"] == {"blue"} and "q3" not in found.choices
    assert {one.verdict for one in verdicts if one.question_id == "q2"} == {"correct", "unsure", "wrong"}
    assert len({one.judge for one in verdicts}) == 2
    page = (tmp_path / "results" / "report.html").read_text()
    assert page.count("unsure: ") == 1 and page.index("unsure: black") > page.index("thing 2?")


def test_written_answers_are_scored_by_the_majority_or_each(tmp_path):
    def value(annotator, item, _):
        text = item.known["answers"][0] if annotator % 5 < 3 or item.question_id != "q1" else "No idea."
        return {"text": f"The {text}." if annotator == 1 else text, "confidence": ""}

    path = answered(worlds.new_study(tmp_path, "majority"), value)
    row = vm.study_results(path, output=tmp_path / "results").to_dict()["conditions"][0]
    assert row["accuracy"] == 1 and row["answers"] == 60
    predictions = json.loads((tmp_path / "results" / "predictions-full.json").read_text())
    assert {one["question_id"]: one["answer"].lower().strip("the .") for one in predictions}["q1"] in ("green", "gr")
    assert vm.study_results(path).to_pandas().iloc[0]["question_id"] == "q1"  # of the least agreement


def test_answers_with_confidence_and_without_the_image(tmp_path):
    def value(annotator, item, condition):
        sure = condition == "image"
        return {"text": item.known["answers"][0] if sure else "red", "confidence": "yes" if sure else "no"}

    path = answered(worlds.new_study(tmp_path, "answers", conditions="image,question"), value, 14)
    rows = {row["condition"]: row for row in vm.study_results(path).to_dict()["conditions"]}
    assert (rows["image"]["answers"], rows["question"]["answers"]) == (120, 36)
    assert (rows["image"]["accuracy"], rows["question"]["accuracy"]) == (1, 0.25)
    assert (rows["image"]["confidence_yes"], rows["question"]["confidence_no"]) == (1, 1)
    assert (rows["image"]["same_7_or_more"], rows["question"]["same_3_to_6"]) == (1, 1)


def test_requirements_by_votes(tmp_path):
    def value(annotator, item, condition):
        return annotator % 2 if condition == "commonsense" else 4

    path = answered(worlds.new_study(tmp_path, "requirements"), value, 20)
    rows = {row["condition"]: row for row in vm.study_results(path).to_dict()["conditions"]}
    assert rows["commonsense"]["share_yes"] == pytest.approx(0.5, abs=0.5)
    assert rows["age"]["share_adult (18+)"] == 1 and rows["age"]["alpha"] is None
    assert rows["commonsense"]["questions_with_3_yes"] >= rows["commonsense"]["questions_with_6_yes"]


def test_mean_ages_are_correlated_with_common_sense(tmp_path):
    def value(annotator, item, condition):
        number = int("".join(filter(str.isdigit, item.question_id)) or 0)
        return number % 5 if condition == "age" else int(number % 5 < 2)  # 0 is yes

    done = vm.study_results(answered(worlds.new_study(tmp_path, "requirements"), value, 20))
    found, items = done.to_dict(), done.to_pandas()
    ages = items[items.condition == "age"].set_index("question_id")["mean"]
    sense = items[items.condition == "commonsense"].set_index("question_id")["mean"]
    assert set(ages) <= {3.5, 6.5, 10.5, 15.0, 18.0} and set(sense) == {0.0, 1.0}
    row = next(row for row in found["conditions"] if row["condition"] == "age")
    assert row["mean_age"] == pytest.approx(ages.mean())
    expected = ages.rank().corr(sense.reindex(ages.index).rank())
    assert found["age_and_commonsense"] == {"questions": len(ages), "rank_correlation": pytest.approx(expected)}
    assert expected > 0.7


def test_annotators_who_fail_the_attention_checks_do_not_count(tmp_path):
    path = worlds.new_study(tmp_path, conditions="full", per_page=4)
    with closing(Study(path)) as study:
        careless = study.annotator(study.join())
        while page := study.next_page(careless):
            for task in page.tasks:
                expected = task.item.known.get("expected", 0)
                study.save(careless, task.id, (expected + 1) % 4 if task.item.control else 3, 1.0)
        with pytest.raises(InputError, match=r"all answers are of annotators who fail the attention checks \(1\)"):
            vm.study_results(path)
        worlds.answer_all(study, 2)
    result = vm.study_results(path)
    assert result.to_dict()["excluded_annotators"] == [1] and result.to_dict()["conditions"][0]["accuracy"] == 1
    assert "left out, as they passed too few attention checks: 1 annotator" in repr(result)
    assert vm.study_results(path, passed=0).to_dict()["conditions"][0]["annotators"] == 3


@pytest.mark.parametrize("kind", list(STUDIES))
def test_every_kind_has_distinct_conditions_and_results_of_one_answer(kind):
    declared = STUDIES[kind]
    names = [one.name for one in declared.conditions]
    assert len(set(names)) == len(names) and declared.name == kind
    original = {"question_id": "1", "image_id": "1", "answer": "red", "answers": ["red"] * 10, "question_type": ""}
    known = {"image_id": "1", "label": 0, "order": [0, 1], "answers": ["red"], "candidates": ["2", "3"]}
    item = Item("1", "What?", ["red", "blue"], [0, 1, 2], known={**known, "original": original, "split": "validation"})
    values = {"choose": 0, "image": 1, "mark": BAD, "write": {"text": "red", "confidence": "yes"}}
    for condition in names:
        outcome = declared.results([Answered(item, condition, 1, values[declared.form.name], 1.0, 0.0)])
        json.dumps(outcome.figures, allow_nan=False)
        assert pd.DataFrame(list(outcome.items))["question_id"].tolist() == ["1"] and outcome.table
