"""The annotations determine the scheme; every further input must be used."""

import json
from itertools import groupby

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.gqa import gqa_score
from hf_vqa_mc.scoring.scheme import LetterCase
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.verbs.score import score
from tests.scoring import files
from tests.scoring.test_join import RIGHT


@pytest.fixture
def right(tmp_path):
    return {kind: files.write(tmp_path / f"{kind}_predictions.json", answers) for kind, answers in RIGHT.items()}


def shown(scored):
    return {line.name: line for table in scored.tables() for line in table.lines}


def test_vqa_gets_consensus_accuracy(tmp_path):
    path = files.write(tmp_path / "p.json", {"1": "RED", "2": "Two.", "3": "yes"})
    with pytest.warns(LetterCase):
        scored = score(path, files.vqa_file(tmp_path), per_question=True)
    annotations = files.vqa_annotations()
    expected = vqa_accuracy(
        ["RED", "Two.", "yes"],
        [one["answers"] for one in annotations],
        question_types=[one["question_type"] for one in annotations],
        answer_types=[one["answer_type"] for one in annotations],
        image_ids=[one["image_id"] for one in annotations],
        per_question=True,
    )
    result = scored.results["vqa_accuracy"]
    assert {key: result[key] for key in expected} == expected
    assert expected["per_question"] == pytest.approx([0.0, 1.0, 0.6])
    assert scored.to_dict()["results"]["vqa_accuracy"]["per_question"]["2"] == 1.0
    assert shown(scored)["accuracy"].questions == "3"
    assert (shown(scored)["how many"].score, shown(scored)["how many"].questions) == ("100.0", "1")


def test_the_protocol_of_2017_can_be_chosen(tmp_path):
    path = files.write(tmp_path / "p.json", {"1": "red.", "2": "2", "3": "no"})
    scored = {protocol: score(path, files.vqa_file(tmp_path), protocol=protocol) for protocol in ("2021", "2017")}
    assert [one.results["vqa_accuracy"]["per_question"][0] for one in scored.values()] == [0.0, 1.0]
    titles = [one.tables()[0].title for one in scored.values()]
    assert titles == [f"vqa_accuracy: agreement with the annotators{said}" for said in ("", ", protocol 2017")]
    with pytest.raises(InputError, match="unknown value of protocol='2018'"):
        score(path, files.vqa_file(tmp_path), protocol="2018")


def test_predictions_that_only_their_letter_case_makes_wrong_are_warned_of_once(tmp_path):
    pairs = files.write(tmp_path / "pairs.json", [[1, 2]])
    annotations_path = files.vqa_file(tmp_path, q1=["Paris"] * 10, q3=["no"] * 10)
    path = files.write(tmp_path / "p.json", {"1": "paris", "2": "Two", "3": "NO"})
    said = r"^1 predictions differ from the annotators' answer in letter case only .* see the card of vqa_accuracy$"
    with pytest.warns(LetterCase, match=said) as warned:  # on question 2 the annotators do not agree
        score(path, annotations_path, inputs=dict(pairs=pairs))
    assert len(warned) == 1
    score(path, annotations_path, protocol="2017")
    score(files.write(tmp_path / "p.json", {"1": "paris", "2": "Two", "3": "yes"}), annotations_path)


def test_pairs_are_scored_too(right, tmp_path):
    pairs = files.write(tmp_path / "pairs.json", [[1, 2], [2, 3]])
    inputs = dict(pairs=pairs, questions=files.vqa_questions(tmp_path))
    scored = score(right["vqa"], files.vqa_file(tmp_path), inputs=inputs)
    assert list(scored.results) == ["vqa_accuracy", "vqa_pair_accuracy"]
    result = scored.results["vqa_pair_accuracy"]
    assert (result["all"], result["identical"], result["count"], result["pairs"]) == (1.0, 0.0, None, 2)
    assert shown(scored)["both right"].score == "100.0"
    without = score(right["vqa"], files.vqa_file(tmp_path), inputs=dict(pairs=pairs))
    missing = [table.missing for one in (scored, without) for table in one.tables()]
    assert missing == [{}, {}, {}, {'pairs of "how many" questions': "--inputs questions"}]


def test_the_multiple_choice_task_takes_its_choices_from_the_questions_file(tmp_path):
    inputs, annotations_path = dict(questions=files.vqa_questions(tmp_path, choices=True)), files.vqa_file(tmp_path)
    by_index = files.write(tmp_path / "p.json", {"1": 0, "2": 1, "3": 3})
    scored = score(by_index, annotations_path, inputs=inputs)
    assert scored.results["vqa_accuracy"]["accuracy"] == 1.0
    assert scored.results["vqa_accuracy"]["chance"] == pytest.approx((0.2 + 0.2 + (0.6 + 1) / 5) / 3)
    assert shown(scored)["accuracy"].other == "24.0"
    stray = files.write(tmp_path / "p.json", {"1": "crimson", "2": "2", "3": "no"})
    with pytest.raises(InputError, match=r"p.json: question '1': 'crimson' is not one of its choices .*\(1 of 3 pred"):
        score(stray, annotations_path, inputs=inputs)
    with pytest.raises(InputError, match=r"question '1': 'RED' is not one of its choices .*\(2 of 3 predictions"):
        score(files.write(tmp_path / "p.json", {"1": "RED", "2": "2", "3": "No"}), annotations_path, inputs=inputs)
    with pytest.raises(
        InputError, match=r"question '2': 5 is not one of the indices of its 5 choices .*indices start at 0"
    ):
        score(files.write(tmp_path / "p.json", {"1": 0, "2": 5, "3": 3}), annotations_path, inputs=inputs)


def test_tdiuc_gets_means_per_type(tmp_path):
    path = files.write(tmp_path / "p.json", {**RIGHT["tdiuc"], "1": "white"})
    scored = score(path, files.tdiuc_file(tmp_path), inputs=dict(questions=files.tdiuc_questions(tmp_path)))
    result = scored.results["tdiuc_mpt"]
    assert result["per_type"] == {"absurd": 1.0, "color": 0.5, "counting": 1.0}
    assert result["accuracy_also_absurd"] == 1.0  # "What color is the dog?", of question 2
    assert shown(scored)["color"][1:] == ("50.0", "", "50.0", "2", "by question type")
    assert shown(scored)["questions absurd for other images"].score == "100.0"
    without = score(path, files.tdiuc_file(tmp_path))
    assert [one.tables()[0].missing for one in (scored, without)] == [
        {},
        {"accuracy of questions absurd for other images": "--inputs questions"},
    ]


@pytest.mark.parametrize("as_csv", [True, False])
def test_tdiuc_takes_an_answer_vocabulary(tmp_path, as_csv):
    known = ["black", "two", "doesnotapply", "a, b"]
    path = tmp_path / "key.csv"
    path.write_text(
        'black,0\ntwo,1\ndoesnotapply,2\n"a, b",3\n' if as_csv else json.dumps(known), "utf-8-sig" if as_csv else None
    )
    answers = {"1": "black", "2": "black", "3": "two", "4": "doesnotapply"}
    predictions = files.write(tmp_path / "p.json", answers)
    scored = score(predictions, files.tdiuc_file(tmp_path), inputs=dict(answer_vocabulary=path))
    expected = tdiuc_mpt(
        list(answers.values()),
        [answer for *_, answer in files.TDIUC],
        [kind for _, kind, *_ in files.TDIUC],
        answer_vocabulary=known,
        image_ids=["11", "12", "13", "14"],
        per_question=True,
    )
    assert scored.results["tdiuc_mpt"] == expected
    stray = files.write(tmp_path / "p.json", {**answers, "1": "azure"})
    with pytest.raises(InputError, match="question '1': 'azure' is not one of the 4 answers of the voc"):
        score(stray, files.tdiuc_file(tmp_path), inputs=dict(answer_vocabulary=path))


def test_the_real_answer_key_is_read(real_data, right, tmp_path):
    from hf_vqa_mc.scoring.inputs import read_vocabulary

    key = real_data / "tdiuc" / "sample_answerkey.csv"
    assert len(read_vocabulary(key)) == 1_484
    assert "five thousand, six hundred and nineteen" in read_vocabulary(key)
    scored = score(right["tdiuc"], files.tdiuc_file(tmp_path), inputs=dict(answer_vocabulary=key))
    assert scored.results["tdiuc_mpt"]["accuracy"] == 1.0


@pytest.mark.parametrize("attentions_listed", [True, False])
def test_gqa_gets_its_suite(tmp_path, attentions_listed):
    answers = {"201": "red", "202": "no", "203": "yes", "204": "cat"}
    choices = {name: {"valid": ["red", "yes", "no"], "plausible": ["red"]} for name in answers}
    maps = {name: [[0.25, 0.25], [0.25, 0.25]] for name in ("201", "202", "204")}
    listed = [{"questionId": name, "attention": of_one} for name, of_one in maps.items()]
    inputs = dict(
        choices=files.write(tmp_path / "choices.json", choices),
        attentions=files.write(tmp_path / "attentions.json", listed if attentions_listed else maps),
        scene_graphs=files.write(tmp_path / "graphs.json", files.scene_graphs()),
    )
    path = files.write(tmp_path / "p.json", [{"questionId": k, "prediction": v} for k, v in answers.items()])
    scored = score(path, files.gqa_file(tmp_path), inputs=inputs, per_question=True)
    expected = gqa_score(
        answers,
        files.gqa_records(),
        choices=choices,
        attentions=maps,
        scene_graphs=files.scene_graphs(),
        per_question=True,
    )
    assert scored.results["gqa_score"] == expected
    assert (expected["grounding"], expected["validity"]) == (50.0, 2 / 3)
    lines = shown(scored)
    assert (lines["consistency"].score, lines["validity"].score, lines["grounding"].score) == ("0.0", "66.7", "50.00")
    assert (lines["query"].score, lines["query"].questions) == ("50.0", "2")
    (table,) = scored.tables()
    groups = [group for group, _ in groupby(table.lines, key=lambda line: line.group)]
    assert groups == ["", "by structural type", "by semantic type", ""]
    assert table.lines[-1].name == "detailed types, steps, lengths in --json/--output"
    assert table.missing == {}
    assert (lines["binary"].questions, lines["open"].questions) == ("1", "2")
    written = scored.to_dict()
    assert written["questions"] == 3
    assert written["results"]["gqa_score"]["per_question"] == {"201": 1.0, "202": 0.0, "204": 0.0}


def test_what_lacks_its_files_is_not_shown_but_named_with_what_it_needs(right, tmp_path):
    scored = score(right["gqa"], files.gqa_file(tmp_path))
    assert not {"consistency", "validity", "plausibility", "grounding"} & shown(scored).keys()
    assert scored.tables()[0].missing == {
        "consistency": "records and predictions of all entailed questions, 1 of which are missing; the file of all "
        "questions has them",
        "validity, plausibility": "--inputs choices",
        "grounding": "--inputs attentions and --inputs scene_graphs",
    }


@pytest.mark.parametrize("more", [0, 1, 5])
def test_of_many_types_the_most_frequent_are_shown_and_the_rest_counted(tmp_path, more):
    annotations = files.vqa_annotations()
    kinds = [kind for kind in range(15 + more) for _ in range(20 - kind)]
    of_kinds = [{**annotations[0], "question_id": n, "question_type": f"kind {kind}"} for n, kind in enumerate(kinds)]
    path = files.write(tmp_path / "p.json", {str(n): "red" for n in range(len(kinds))})
    scored = score(path, files.write(tmp_path / "a.json", of_kinds))
    lines = [line for line in scored.tables()[0].lines if line.group == "by question type"]
    assert [(line.name, line.questions) for line in lines[:15]] == [(f"kind {n}", str(20 - n)) for n in range(15)]
    assert [line.name for line in lines[15:]] == ([f"{more} more in --json/--output"] if more else [])
    assert len(scored.to_dict()["results"]["vqa_accuracy"]["per_question_type"]) == 15 + more


@pytest.mark.parametrize("kind", RIGHT)
def test_wups_fits_them_all(right, tmp_path, kind):
    annotations_path = {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](tmp_path)
    scored = score(right[kind], annotations_path, metric=["wups"], per_question=True)
    assert list(scored.results) == ["wups"]
    assert scored.results["wups"]["wups@0.9"] == 1.0
    against = {
        "vqa": "the annotators' most frequent answer (multiple_choice_answer)",
        "tdiuc": "TDIUC's answer",
        "gqa": "GQA's answer",
    }
    assert scored.tables()[0].title == f"wups: WordNet similarity to {against[kind]}"
    written = scored.to_dict()
    assert set(written["results"]["wups"]["per_question"]["accuracy"]) == set(RIGHT[kind])
    assert written["protocol"] is None


BAD = {
    "another scheme": ("vqa", {"metric": ["gqa_score"]}, "gqa_score does not fit VQA annotations; expected vqa_acc"),
    "a typo": ("vqa", {"metric": ["vqa_acuracy"]}, "unknown metric 'vqa_acuracy': did you mean 'vqa_accuracy'"),
    "scores of candidates": ("vqa", {"metric": ["counterexample_recall"]}, "is for Python only"),
    "no pairs": ("vqa", {"metric": ["vqa_pair_accuracy"]}, 'vqa_pair_accuracy needs inputs=."pairs": FILE'),
    "protocol": ("tdiuc", {"protocol": "2017"}, "protocol applies to vqa_accuracy only, not to tdiuc_mpt"),
    "choices": ("vqa", {"inputs": {"choices"}}, "inputs choices is not used by vqa_accuracy"),
}


@pytest.mark.parametrize(("kind", "options", "message"), BAD.values(), ids=BAD)
def test_unsuitable_options_are_rejected(right, tmp_path, kind, options, message):
    annotations_path = {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](tmp_path)
    given = {name: files.write(tmp_path / f"{name}.json", {}) for name in options.get("inputs", ())}
    with pytest.raises(InputError, match=message):
        score(right[kind], annotations_path, **{**options, "inputs": given})


CHOICES = {"201": {"valid": [], "plausible": []}}
WRONG_FILES = {
    "questions as choices": ({"choices": files.gqa_records()}, "inputs choices=.*, '201': expected"),
    "choices of others": ({"choices": {"9": CHOICES["201"]}}, "inputs choices=.*: found none of 3 quest.*'9'"),
    "graphs as maps": ({"attentions": files.scene_graphs()}, "inputs attentions=.*, 'n1': expected"),
    "choices as graphs": ({"scene_graphs": CHOICES}, "inputs scene_graphs=.*, '201': expected"),
}


@pytest.mark.parametrize(("wrong", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_wrong_file_is_named_with_its_option(right, tmp_path, wrong, message):
    if "choices" not in wrong:
        maps = {name: [[1.0]] for name in ("201", "202", "204")}
        wrong = {"attentions": maps, "scene_graphs": files.scene_graphs(), **wrong}
    inputs = dict(**{name: files.write(tmp_path / f"{name}.json", content) for name, content in wrong.items()})
    with pytest.raises(InputError, match=message):
        score(right["gqa"], files.gqa_file(tmp_path), inputs=inputs)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[1]], r"record\[0\]: expected two question ids, found \[1\]"),
        ([[1, 9]], "pairs has question 9, which is not among the question_ids"),
        ([], "expected records in the list, found none"),
    ],
)
def test_pairs_of_another_kind_are_rejected(right, tmp_path, pairs, message):
    inputs = dict(pairs=files.write(tmp_path / "pairs.json", pairs))
    with pytest.raises(InputError, match=message):
        score(right["vqa"], files.vqa_file(tmp_path), inputs=inputs)


def test_a_file_that_is_not_there_is_named_before_anything_is_read(tmp_path):
    with pytest.raises(InputError, match=r"inputs scene_graphs=.*no.json: no such file"):
        score("nothing", "nowhere", inputs=dict(scene_graphs=tmp_path / "no.json"))


@pytest.mark.parametrize(
    ("answer", "remedy"), [("Red", "VQA's program is case-sensitive"), ("3", "indices must be numbers")]
)
def test_what_is_no_choice_comes_with_the_remedy(tmp_path, answer, remedy):
    questions = files.vqa_questions(tmp_path, choices=True)
    predictions = files.write(tmp_path / "p.json", {**RIGHT["vqa"], "1": answer})
    with pytest.raises(InputError, match=rf"'{answer}' is not one of its choices .*{remedy}"):
        score(predictions, files.vqa_file(tmp_path), inputs=dict(questions=questions))
