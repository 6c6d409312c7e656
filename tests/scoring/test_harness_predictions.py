"""Files in the layouts that lm-eval, lmms-eval and VLMEvalKit write give the predictions that they hold.

The layouts are those of files that lm-eval 0.4.13 and lmms-eval 0.7.3 wrote (`tests/exports` has them written anew),
and of VLMEvalKit's source code.
"""

import json
import sys

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.scoring.predictions import read_predictions

CHOICES = ["a dog", "a cat", "None"]
BENCHMARK = pd.DataFrame(
    {
        "question_id": ["q0", "q1"],
        "question": ["What is it?", "And this?"],
        "choices": [CHOICES, ["1", "2", "3"]],
        "label": [1, 2],
    }
)


def likelihood_sample(**changes):
    """A sample of a multiple-choice task of lm-eval."""
    return {
        "doc_id": 0,
        "doc": {"question_id": "q0", "question": "What is it?", "choices": CHOICES, "label": 1},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "Question: What is it?\nAnswer:", "arg_1": " a dog"}},
        "resps": [[["-7.5", "False"]], [["-3.25", "True"]], [["-9.0", "False"]]],
        "filtered_resps": [["-7.5", "False"], ["-3.25", "True"], ["-9.0", "False"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": "84e4",
        "acc": 1.0,
        "acc_norm": 0.0,
        **changes,
    }


def text_sample(**changes):
    """A sample of lmms-eval, which writes no doc."""
    return {
        "doc_id": 0,
        "target": "B",
        "filtered_resps": "B.",
        "token_counts": [None],
        "doc_hash": "7423",
        "input_media": ["images/000000.png"],
        "accuracy": {"score": 1.0, "image": "images/000000.png"},
        "input": "What is it?\nA. a dog\nB. a cat\nC. None\n",
        **changes,
    }


def lines(path, *samples):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in samples))
    return path


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (likelihood_sample(), {"q0": "a cat"}),
        (likelihood_sample(filtered_resps=[["-inf", "False"], ["-2.0", "False"], ["-2.0", "False"]]), {"q0": "a cat"}),
        (
            likelihood_sample(doc={"id": "Mercury_7", "choices": {"text": CHOICES, "label": list("ABC")}}),
            {"0": "a cat"},
        ),
        (likelihood_sample(doc={"qa_id": 7, "options": CHOICES}), {"7": 1}),
        (likelihood_sample(filtered_resps=["The answer is (B)."]), {"q0": "The answer is (B)."}),
        (text_sample(), {"0": "B."}),
        (text_sample(accuracy={"score": 1.0, "question_id": "q0", "answer": "a cat"}), {"q0": "a cat"}),
        (text_sample(submission={"question_id": "q0", "answer": "a cat"}), {"q0": "a cat"}),
        (text_sample(perception={"question_id": "q0", "answer": "C"}), {"q0": "B."}),  # the correct one
        (text_sample(accuracy={"question_id": "q0", "answer": "C", "pred_answer": "B"}), {"q0": "B."}),
        (text_sample(filtered_resps=[[-7.5, False], [-3.25, True], [-9.0, False]]), {"0": 1}),
    ],
)
def test_a_sample_gives_id_and_answer(sample, expected, tmp_path):
    assert read_predictions(lines(tmp_path / "samples.jsonl", sample)).answers == expected
    assert read_predictions([sample]).answers == expected


def test_another_field_of_a_doc_can_be_the_id(tmp_path):
    path = lines(tmp_path / "samples.jsonl", likelihood_sample(doc={"id": "Mercury_7", "choices": CHOICES}))
    assert read_predictions(path, id_column="id").answers == {"Mercury_7": "a cat"}
    with pytest.raises(InputError, match=r"line 1: no field 'no' \(--id-column\) in the sample or its doc"):
        read_predictions(path, id_column="no")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filtered_resps": ["a", "b"]}, "line 2, field 'filtered_resps': expected one text, or the log-likelihood"),
        ({"filtered_resps": [["nan", "False"], ["1", "True"]]}, "expected one text, or the log-likelihood of each"),
        ({"filtered_resps": None}, "expected one text, or the log-likelihood"),
        ({"filter": "strict-match"}, "the samples have the filters none, strict-match; keep the lines of one"),
    ],
)
def test_samples_that_have_no_single_answer_are_named(changes, message, tmp_path):
    path = lines(tmp_path / "samples.jsonl", likelihood_sample(), likelihood_sample(doc_id=1, **changes))
    with pytest.raises(InputError, match=message):
        read_predictions(path)


TABLE = pd.DataFrame(
    {
        "index": [0, 1],
        "question": ["What is it?", "And this?"],
        "A": ["None\N{NO-BREAK SPACE}", "3"],
        "B": ["a cat", "2"],
        "C": ["a dog", "1"],
        "question_id": ["q0", "q1"],
        "answer": ["B", "A"],
        "prediction": ["A", "The answer is (B) 2."],
    }
)


@pytest.mark.parametrize("form", ["xlsx", "tsv", "csv", "frame"])
def test_a_table_of_vlmevalkit_is_read_by_its_own_choices(form, tmp_path):
    path = tmp_path / f"model_small.{form}"
    if form == "xlsx":
        TABLE.to_excel(path, index=False)
    elif form != "frame":
        TABLE.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    found = read_predictions(TABLE if form == "frame" else path)
    assert found.answers == {"q0": "None", "q1": "2"}  # and never the column answer, which holds the correct one
    scored = vm.score(TABLE if form == "frame" else path, BENCHMARK, per_question=True)
    assert scored.per_question.mc_accuracy.tolist() == [0.0, 0.0]


def test_without_question_id_the_index_of_vlmevalkit_counts_and_unreadable_predictions_name_no_choice(tmp_path):
    table = TABLE.drop(columns="question_id").assign(prediction=["no idea", None])
    table.to_excel(tmp_path / "p.xlsx", index=False)
    assert read_predictions(tmp_path / "p.xlsx").answers == {"0": "", "1": ""}
    scored = vm.score(tmp_path / "p.xlsx", BENCHMARK.drop(columns="question_id"), free_text=True)
    assert (scored.unparsed, scored.results["mc_accuracy"]["accuracy"]) == (2, 0.0)


def test_a_damaged_xlsx_or_one_without_openpyxl_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "p.xlsx").write_bytes(b"PK\x03\x04 no zip")
    with pytest.raises(InputError, match=r"p.xlsx: cannot be read as xlsx \("):
        read_predictions(tmp_path / "p.xlsx")
    TABLE.to_excel(tmp_path / "q.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"openpyxl is not installed: pip install \"hf_vqa_mc\[evaluate\]\""):
        read_predictions(tmp_path / "q.xlsx")


@pytest.mark.parametrize("index", [1, 1.0])
def test_an_index_next_to_the_index_of_a_row_stays_one(index):
    rows = [{"index": row, "prediction": index} for row in range(2)]
    assert read_predictions(rows).answers == {"0": 1, "1": 1}
    choices = {"A": "3", "B": "2", "C": "1"}  # a number in a table of choices is the text of one
    assert read_predictions([{**row, **choices} for row in rows]).answers == {"0": "1", "1": "1"}
