import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.scoring.matching import PredictionsIgnored
from hf_vqa_mc.scoring.written_answers import written_choice

THINGS = ("door", "table", "window")


def accuracy(predictions: Any, dataset: Any, **options: Any) -> float:
    return vm.score(predictions, dataset, **options).to_dict()["results"]["mc_accuracy"]["accuracy"]


def test_predictions_for_open_questions_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(row),
            "question": f"Q{row}?",
            "options": list(THINGS) if row % 2 else [],
            "answer": "B" if row % 2 else "7",
        }
        for row in range(20)
    ]
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    predictions = {str(row): "B" if row % 2 else "7" for row in range(20)}
    with pytest.warns(PredictionsIgnored, match="10 open or faulty rows"):
        assert accuracy(predictions, file) == 1.0


def rows_of(count: int, label: int) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"question_id": str(row), "question": f"Q{row}?", "choices": list(THINGS), "label": label}
            for row in range(count)
        ]
    )


def test_letters_and_the_labels_own_numbers_are_indices() -> None:
    for prediction in ("table", "b", "2"):
        assert accuracy({str(row): prediction for row in range(25)}, rows_of(25, 2), label_from=1) == 1.0


def test_a_table_of_vlmevalkit_without_choices_is_matched_by_its_index(tmp_path: Path) -> None:
    table = [{"index": row, "question": f"Q{row}?", "answer": "A", "prediction": "A"} for row in range(25)]
    pd.DataFrame(table).to_csv(tmp_path / "p.tsv", sep="\t", index=False)
    assert accuracy(tmp_path / "p.tsv", rows_of(25, 0), label_from=0) == 1.0


def test_circular_accuracy_needs_all_rotations_right() -> None:
    rows, predictions = [], {}
    for question in range(6):
        for turn in range(3):
            choices = [*THINGS[turn:], *THINGS[:turn]]
            name = f"{question}-{turn}"
            rows.append({"question_id": name, "question": f"Q{question}?", "choices": choices, "answer": "ACB"[turn]})
            predictions[name] = "door" if turn < 2 or question < 2 else "table"
    result = vm.score(predictions, pd.DataFrame(rows)).to_dict()["results"]["mc_accuracy"]
    assert result["circular_accuracy"] == pytest.approx(2 / 6)
    assert result["accuracy"] == pytest.approx(14 / 18)


def test_a_few_rotated_rows_among_others_have_no_circular_accuracy() -> None:
    rows = [{"question": f"Q{row}?", "choices": THINGS, "answer": "A"} for row in range(30)]
    rows += [{**row, "choices": [*THINGS[1:], THINGS[0]], "answer": "C"} for row in rows[:5]]
    result = vm.score({str(row): THINGS[0] for row in range(35)}, pd.DataFrame(rows)).to_dict()
    assert result["results"]["mc_accuracy"]["accuracy"] == 1
    assert "circular_accuracy" not in result["results"]["mc_accuracy"]


@pytest.mark.parametrize(
    ("reply", "choices", "index"),
    [
        ("The town is Newport. This can be seen from the harbour.", ["Oldbridge", "Newport"], 1),
        ("None of red or blue can be determined.", ["red", "green"], None),
        ("C. a", ["none", "b", "a"], 2),
        ("B. Q, P", ["Q,Q", "Q,P", "P,Q"], 1),
        ("C. [H+]", ["[K+]", "[Na+]", "[H+]"], 2),
        ("-3", ["3", "-3"], 1),
        ("3", ["-3", "3"], 1),
        ("The answer is \N{MINUS SIGN}3.", ["3", "-3"], 1),
        ("so it must be -3 here", ["3", "-3", "4"], 1),
        ("-3", ["3", "4"], None),
        ("K>0", ["K<0", "K>0"], 1),
        ("A. K>0", ["K<0", "K>0"], None),
        ("False, True", ["True, False", "False, True"], 1),
        ("√2", ["2", "√2"], 1),
        ("3 × 4", ["3+4", "3x4"], 1),
        ("5 km", ["5 m", "5 km"], 1),
        ("mW", ["MW", "mW"], 1),
        ("C (bread)", ["salt", "", "bread", "fork"], 2),
        ("D", ["salt", "", "bread", "fork"], 3),
        ("fork", ["salt", "", "bread", "fork"], 3),
    ],
)  # fmt: skip
def test_replies_with_signs_letters_and_empty_choices(reply: str, choices: list[str], index: int | None) -> None:
    assert written_choice(reply, choices) == index


def test_choices_of_a_benchmark_with_answers_of_annotators_get_both_scores() -> None:
    rows = rows_of(20, 2).assign(direct_answers=[["table"] * 7 + ["window"] * 3] * 20)
    results = vm.score({str(row): "table" if row else "window" for row in range(20)}, rows, label_from=0).results
    assert {name: result["accuracy"] for name, result in results.items()} == pytest.approx(
        {"mc_accuracy": 1 / 20, "vqa_accuracy": 0.995}
    )
    with pytest.raises(vm.InputError, match="case-sensitive; metric mc_accuracy is not"):
        vm.score({str(row): "Table" for row in range(20)}, rows, label_from=0)


@pytest.mark.parametrize(
    ("reply", "index"), [("bread", 0), ("Bread.", 0), ("C", 2), ("C. bread", 2), ("A) bread", 0), ("B. bread", None)]
)
def test_of_equal_choices_any_is_named(reply: str, index: int | None) -> None:
    choices = ["bread", "salt", "bread", "fork"]
    assert written_choice(reply, choices) == index
    rows = pd.DataFrame({"question": ["Q?"] * 2, "choices": [choices] * 2, "answer": ["C", "D"]})
    picked = {"0": index or 0, "1": reply if index is None else index}
    assert accuracy(picked, rows, free_text=True) == (0.5 if index in (0, 2, None) else 0)


@pytest.mark.parametrize("free_text", [False, True])
def test_where_choices_have_no_order_only_texts_name_them(free_text: bool) -> None:
    rows = pd.DataFrame({f"distractor{at}": [f"{word} {row}" for row in range(9)] for at, word in enumerate(THINGS)})
    rows = rows.assign(question=[f"Q{row}?" for row in range(9)], correct_answer=[f"floor {row}" for row in range(9)])
    assert accuracy({str(row): f"floor {row}" for row in range(9)}, rows, free_text=free_text) == 1
    for answer in ("A", "b", 0, 2):
        with pytest.raises(
            vm.InputError, match=r"question '0': .* is an index or a letter, but .* have no order; give"
        ):
            accuracy({str(row): answer for row in range(9)}, rows, free_text=free_text)
    replies = {str(row): f"{'ABCD'[row % 4]}. {'floor' if row else 'door'} {row}" for row in range(9)}
    assert accuracy(replies, rows, free_text=True) == pytest.approx(8 / 9)
