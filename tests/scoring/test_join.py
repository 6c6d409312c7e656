"""Every question needs a prediction; what counts of the others is as in the official programs, and said."""

import json

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.matching import PredictionsIgnored
from hf_vqa_mc.scoring.scheme import LetterCase
from hf_vqa_mc.verbs.score import score
from tests.scoring import files

RIGHT = {
    "vqa": {"1": "red", "2": "2", "3": "no"},
    "tdiuc": {"1": "black", "2": "white", "3": "two", "4": "doesnotapply"},
    "gqa": {"201": "red", "202": "yes", "204": "dog"},
}


def annotations_file(kind, folder):
    return {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](folder)


@pytest.fixture(params=RIGHT)
def kind(request):
    return request.param


def accuracy(scored):
    (result,) = scored.results.values()
    return result["accuracy"]


def test_a_missing_prediction_is_an_error_that_names_the_question_and_counts(kind, tmp_path):
    annotations_path = annotations_file(kind, tmp_path)
    one = next(iter(RIGHT[kind]))
    path = files.write(tmp_path / "p.json", {**{k: v for k, v in RIGHT[kind].items() if k == one}, "99": "x"})
    second = list(RIGHT[kind])[1]
    with pytest.raises(InputError, match=rf"have no prediction: '{second}'.*; found one for '99', which is not"):
        score(path, annotations_path)
    with pytest.raises(InputError, match=rf": {len(RIGHT[kind]) - 1} of {len(RIGHT[kind])} questions"):
        score(path, annotations_path)


@pytest.mark.parametrize(
    ("published", "predicted"), [("00123", "123"), ("540769000", "540769000.0"), ("00123", "123.0"), ("0", "0.0")]
)
def test_ids_that_were_taken_for_numbers_are_recognised(tmp_path, published, predicted):
    record = {**files.vqa_annotations()[0], "question_id": published}
    path = files.write(tmp_path / "p.json", {"7": "red", predicted: "red"})
    with pytest.raises(
        InputError, match=rf"found one for '{predicted}': ids were converted to numbers, keep them as text$"
    ):
        score(path, files.write(tmp_path / "a.json", [record]))


def test_predictions_for_other_questions_are_rejected_by_vqa_and_left_out_by_the_others(kind, tmp_path):
    annotations_path = annotations_file(kind, tmp_path)
    path = files.write(tmp_path / "p.json", {**RIGHT[kind], "98": "x", "99": "y"})
    if kind == "vqa":
        with pytest.raises(
            InputError, match=r": 2 of 5 predictions are for questions that are not in .*: '98', '99'; predict"
        ):
            score(path, annotations_path)
        return
    with pytest.warns(PredictionsIgnored, match=r"for 2 other questions: '98', '99'; they are ignored"):
        assert accuracy(score(path, annotations_path)) == 1.0


def test_of_several_predictions_the_last_counts_and_it_is_reported(kind, tmp_path):
    annotations_path = annotations_file(kind, tmp_path)
    name = {"gqa": "questionId"}.get(kind, "question_id")
    answer = {"gqa": "prediction"}.get(kind, "answer")
    rows = [{name: one, answer: text} for one, text in RIGHT[kind].items()]
    path = files.write(tmp_path / "p.json", [{**rows[0], answer: "wrong"}, *rows])
    first = next(iter(RIGHT[kind]))
    with pytest.warns(
        PredictionsIgnored, match=rf"more than one prediction for 1 question: '{first}'; the last counts"
    ):
        assert accuracy(score(path, annotations_path)) == 1.0


def test_unbalanced_questions_of_gqa_need_no_prediction_but_count_for_consistency(tmp_path):
    annotations_path = annotations_file("gqa", tmp_path)
    path = files.write(tmp_path / "p.json", RIGHT["gqa"])
    assert score(path, annotations_path).results["gqa_score"]["consistency"] is None
    path = files.write(tmp_path / "p.json", {**RIGHT["gqa"], "203": "no"})
    assert score(path, annotations_path).results["gqa_score"]["consistency"] == 0.5
    with pytest.raises(InputError, match="have no prediction: '204'"):
        score(files.write(tmp_path / "p.json", {"201": "red", "202": "yes", "203": "yes"}), annotations_path)


def test_an_index_needs_choices(kind, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**RIGHT[kind], next(iter(RIGHT[kind])): 2}))
    with pytest.raises(InputError, match=r"question '\d+': .* is 2, expected text"):
        score(path, annotations_file(kind, tmp_path))


def test_a_prediction_that_only_consistency_needs_is_counted_where_it_is_missing_or_not_text(tmp_path):
    annotations_path = annotations_file("gqa", tmp_path)
    records = {**files.gqa_records(), "205": {**files.gqa_records()["203"], "entailed": []}}
    files.write(annotations_path, records)
    for others in ({"205": "no"}, {"203": 3}):
        (result,) = score({**RIGHT["gqa"], **others}, annotations_path).results.values()
        assert (result["accuracy"], result["consistency"], result["entailed_missing"]) == (1.0, None, 1)


@pytest.mark.parametrize("kind", ["tdiuc", "gqa"])
def test_letter_case_counts_and_is_warned_of(kind, tmp_path):
    loud = {name: text.upper() for name, text in RIGHT[kind].items()}
    with pytest.warns(LetterCase, match="letter case"):
        assert accuracy(score(loud, annotations_file(kind, tmp_path))) == 0.0
