"""Prediction files as people publish them, each for the same benchmark and picks: the accuracy is known."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hf_vqa_mc as vm

RNG = Random(0)
SETS = (
    ["red", "blue", "green", "light blue"],
    ["a dog", "a cat", "hot dog", "none of the above"],
    ["yes", "no", "it is unclear", "both"],
)
CHOICES = [RNG.sample(SETS[row % 3], 4) for row in range(30)]
LABELS = [RNG.randrange(4) for _ in CHOICES]
PICKS = [label if RNG.random() < 0.6 else RNG.randrange(4) for label in LABELS]
ACCURACY = sum(map(int.__eq__, PICKS, LABELS)) / 30
IDS = [str(row) for row in range(30)]
LETTERS = ["ABCD"[index] for index in PICKS]
TEXTS = [texts[index] for texts, index in zip(CHOICES, PICKS, strict=True)]
ROWS = pd.DataFrame({"id": range(30), "question": [f"Q{row}?" for row in IDS], "choices": CHOICES, "answer": LABELS})


def records(answers: list[Any], name: str = "answer", **others: Any) -> list[dict[str, Any]]:
    return [{"id": one, name: answer, **others} for one, answer in zip(IDS, answers, strict=True)]


def csv_of(answers: list[Any], column: str = "prediction", ids: Any = IDS, **options: Any) -> str:
    return str(pd.DataFrame({"question_id": ids, column: answers}).to_csv(index=False, **options))


def lines(rows: list[Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def by_id(answers: list[Any]) -> str:
    return json.dumps(dict(zip(IDS, answers, strict=True)))


MESSAGES = [[{"role": "user", "content": "Q?"}, {"role": "assistant", "content": letter}] for letter in LETTERS]
BATCH = [
    {"id": "batch_7", "custom_id": one, "response": {"body": {"choices": [{"message": {"content": letter}}]}}}
    for one, letter in zip(IDS, LETTERS, strict=True)
]
INSPECT = [
    {"id": one, "target": "A", "output": {"completion": letter}, "scores": {"choice": {"answer": letter}}}
    for one, letter in zip(IDS, LETTERS, strict=True)
]
REPLIES = [f'"Well", I see;\nit is, (A)? No.\n\nAnswer: {letter}' for letter in LETTERS]
FILES: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
    "LLaVA's answers": ("p.jsonl", lines(records(LETTERS, "text", prompt="Q?", answer_id="x", model_id="m")), {}),
    "OpenAI's batch output": ("p.jsonl", lines(BATCH), {}),
    "samples of Inspect": ("p.json", json.dumps(INSPECT), {}),
    "scores of Inspect": ("p.jsonl", lines(INSPECT), {"answer_column": "scores.choice.answer"}),
    "messages": ("p.jsonl", lines(records(MESSAGES, "messages")), {"answer_column": "messages.1.content"}),
    "OpenCompass": ("p.json", by_id([{"prediction": letter, "gold": "A"} for letter in LETTERS]), {}),
    "objects with the question": ("p.json", by_id([{"question": "Q?", "pred": letter} for letter in LETTERS]), {}),
    "nested objects": (
        "p.json",
        by_id([{"question": "Q?", "result": {"letter": letter}} for letter in LETTERS]),
        {"answer_column": "result.letter"},
    ),
    "A-OKVQA's leaderboard": (
        "p.json",
        by_id([{"multiple_choice": text, "direct_answer": "x"} for text in TEXTS]),
        {"answer_column": "multiple_choice"},
    ),
    "EvalAI": ("p.json", json.dumps(records(TEXTS)), {}),
    "responses": ("p.json", json.dumps(records(LETTERS, "response")), {}),
    "predictions and labels": ("p.jsonl", lines(records(PICKS, "pred", label=0)), {"answer_column": "pred"}),
    "whole numbers as floats": ("p.json", json.dumps(records([float(index) for index in PICKS], "prediction")), {}),
    "ids as floats in csv": ("p.csv", csv_of(LETTERS, ids=np.arange(30.0)), {}),
    "labels as floats in csv": ("p.csv", csv_of(np.array(PICKS, float), "label", ids=np.arange(30.0)), {}),
    "numbers as floats in csv": ("p.csv", csv_of(np.array(PICKS, float)), {}),
    "csv with bars": ("p.csv", csv_of(TEXTS, sep="|"), {}),
    "csv with a mark and Windows lines": ("p.csv", csv_of(TEXTS, lineterminator="\r\n").encode("utf-8-sig"), {}),
    "csv, gz": ("p.csv.gz", gzip.compress(csv_of(TEXTS).encode()), {}),
    "csv of replies on several lines": ("p.csv", csv_of(REPLIES), {"free_text": True}),
    "an object of letters": ("p.json", by_id([letter.lower() for letter in LETTERS]), {}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options"), FILES.values(), ids=FILES)
def test_a_published_file_has_its_accuracy(
    name: str, content: str | bytes, options: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    scored = vm.score(tmp_path / name, ROWS, label_from=0, **options).results["mc_accuracy"]
    assert scored["accuracy"] == pytest.approx(ACCURACY)


IN_ORDER: dict[str, Callable[[], Any]] = {
    "a list of text": lambda: TEXTS,
    "a list of indices": lambda: PICKS,
    "an array": lambda: np.array(TEXTS),
    "an array of Arrow": lambda: pa.array(PICKS),
    "a Series": lambda: pd.Series(TEXTS),
    "a Series with ids": lambda: pd.Series(TEXTS, index=IDS).iloc[::-1],
    "a frame with ids as its index": lambda: pd.DataFrame({"prediction": TEXTS}, pd.Index(IDS, name="question_id")),
}


@pytest.mark.parametrize("given", IN_ORDER.values(), ids=IN_ORDER)
def test_answers_in_the_order_of_the_rows(given: Callable[[], Any]) -> None:
    scored = vm.score(given(), ROWS.assign(id=IDS), label_from=0)
    assert scored.results["mc_accuracy"]["accuracy"] == pytest.approx(ACCURACY)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (TEXTS[:9], "^9 predictions without ids for 30 rows of the data frame; give ids, too$"),
        (pd.DataFrame([TEXTS, TEXTS]).T, "no column of question ids: .* found 0, 1; give it with id_column"),
        ([{"index": 0, "prediction": "A"}, {"index": 1}], "record 2, field 'prediction': it is missing"),
        ([TEXTS[0], None], "'1', field 'prediction': expected text, or the index .* found None"),
        (pd.DataFrame({"prediction": TEXTS}), "or give the answers alone, in the order of the rows"),
        (set(TEXTS), "predictions is set; expected a path, a mapping id -> answer, rows .*, or a list$"),
    ],
)
def test_answers_without_ids_that_fit_no_rows_are_rejected(predictions: Any, message: str) -> None:
    with pytest.raises(vm.InputError, match=message):
        vm.score(predictions, ROWS, label_from=0)


def test_answers_without_ids_need_all_rows() -> None:
    rows = ROWS.assign(choices=[[], *CHOICES[1:]])
    with pytest.raises(vm.InputError, match=r"29 predictions .* 29 rows .*; 1 open or faulty rows are left out; give"):
        vm.score(TEXTS[1:], rows, label_from=0)


@pytest.mark.parametrize(("ids", "predicted"), [(np.arange(30.0), IDS), (IDS, [f"{one}.0" for one in IDS])])
def test_ids_of_float_columns_match_whole_numbers(ids: Any, predicted: list[str], tmp_path: Path) -> None:
    ROWS.assign(id=ids).to_csv(tmp_path / "rows.csv", index=False)
    given = dict(zip(predicted, TEXTS, strict=True))
    scored = vm.score(given, tmp_path / "rows.csv", label_from=0)
    assert scored.results["mc_accuracy"]["accuracy"] == pytest.approx(ACCURACY)
    del given[predicted[0]]
    scored = vm.score(given, tmp_path / "rows.csv", label_from=0, partial=True)
    assert (scored.left_out, len(scored.annotations)) == (1, 29)


def test_a_letter_that_is_an_index_in_one_row_and_a_choice_in_another_is_rejected() -> None:
    rows = ROWS.assign(choices=[["l", "z", "c"], *CHOICES[1:]], answer=[0, *LABELS[1:]])
    with pytest.raises(
        vm.InputError, match=r"'1': '.' can only be the index .* question '0' has 'C' as a choice; give"
    ):
        vm.score(dict(zip(IDS, ["C", LETTERS[1], *TEXTS[2:]], strict=True)), rows, label_from=0)


def test_case_tells_choices_apart_where_nothing_else_does():
    rows = ROWS.assign(choices=[["Us", "us", "x", "y"]] * 30, answer=[row % 2 for row in range(30)])
    assert vm.score(["us"] * 30, rows, label_from=0).results["mc_accuracy"]["accuracy"] == 0.5
    assert vm.score(["X"] * 30, rows, label_from=0).results["mc_accuracy"]["accuracy"] == 0
