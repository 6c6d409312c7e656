"""The linter lists all faulty rows with their locations."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from tests.audits.frames import benchmark, located


def with_cells(cells, rows=40):
    """A benchmark with other cells: column to row to value."""
    data = benchmark(rows).astype(object)
    for column, values in cells.items():
        for row, value in values.items():
            data.at[row, column] = value
    return data


def test_a_benchmark_without_faults_has_no_issues():
    result = vm.lint(benchmark())
    assert located(benchmark()) == []
    assert result.exit_code == 0
    assert result.linting.rows == 40


PLANTED = {
    "missing_target": {"label": {3: None, 8: None}},
    "invalid_label": {"label": {3: 4, 8: -5}},
    "missing_question": {"question": {3: None, 8: None}},
    "one_choice": {"choices": {3: ["a"], 8: ["b"]}, "label": {3: 0, 8: 0}},
    "no_choices": {"choices": {3: [], 8: []}},
    "equal_choices": {"choices": {3: ["2", "two", "c", "d"], 8: ["A cat.", "b", "the  cat", "d"]}},
    "equal_choices but for case": {"choices": {3: ["K", "k", "K", "d"], 8: ["k", "K", "k.", "d"]}},
    "blank_texts": {"question": {3: " ", 8: ""}},
    "blank_texts of other scripts": {"question": {3: "\u3000", 8: "\u00a0"}},
    "empty_choices": {"choices": {3: ["a", "", "b", "c", "d"], 8: ["a", "x", None, "b", "c"]}, "label": {8: 0}},
    "read_as_missing": {"choices": {3: ["None", "b", "c", "d"]}, "question": {8: "NA"}},
    "lettered_choices": {"choices": {3: ["A. x", "B. y", "C. z", "D. u"], 8: ["(a) x", "(b) y", "(c) z", "(d) u"]}},
    "markup": {"question": {3: "What is <b>it</b>?"}, "choices": {8: ["a&amp;b", "b", "c", "d"]}},
    "mojibake": {"question": {3: "Is it a cafÃ©?"}, "choices": {8: ["x\ufffd", "b", "c", "d"]}},
    "control_characters": {"question": {3: "What\x07?", 8: "\u202etahW?"}},
    "spaces": {"choices": {3: ["a ", "b", "c", "d"], 8: ["a", "b  b", "c", "d"]}},
}


@pytest.mark.parametrize("check", PLANTED)
def test_a_planted_fault_is_found_in_each_of_its_rows(check):
    name = check.partition(" ")[0]
    found = [
        one for one in located(with_cells(PLANTED[check])) if one[0] not in ("spaces", "blank_texts") or one[0] == name
    ]
    assert found == [(name, 3), (name, 8)]


def test_equal_choices_are_shown_and_empty_ones_are_not_compared():
    cells = {3: ["k", "K", "k.", "d"], 8: ["e", "", "u", "v"], 39: ["w", "x", "y", "e."]}
    found = vm.lint(with_cells({"choices": cells, "label": {8: 0}})).to_pandas().query("check == 'equal_choices'")
    assert list(zip(found["row"], found["detail"], strict=True)) == [(4, "'k' and 'k.'")]


@pytest.mark.parametrize(
    "pair", [["1", "-1"], ["x+1", "x-1"], ["K<0", "K>0"], ["True, False", "False, True"], ["k", "K"]]
)
def test_choices_that_differ_in_signs_operators_order_or_case_are_not_equal(pair):
    assert located(with_cells({"choices": {3: [*pair, "b", "c"]}})) == []


def test_rows_that_cannot_be_read_do_not_hide_others():
    cells = {
        "label": {3: 9, 5: None, 8: 0},
        "question": {6: None},
        "choices": {8: ["x"], 10: ["red", "Red.", "b", "c"], 12: []},
    }
    splits = {
        name: with_cells(cells).assign(image_id=[f"{name}{row}" for row in range(40)]) for name in ("train", "test")
    }
    frame = vm.lint(splits).to_pandas()
    for split in splits:
        found = frame[frame["split"] == split]
        checks = dict(zip(found["row"] - 1, found["check"], strict=True))
        assert {row: checks[row] for row in (3, 5, 6, 8, 10, 12)} == {
            3: "invalid_label", 5: "missing_target", 6: "missing_question", 8: "one_choice", 10: "equal_choices",
            12: "no_choices",
        }  # fmt: skip
        assert all(found["question_id"] == "q" + (found["row"] - 1).astype(str))


def test_a_label_below_the_first_number_is_invalid():
    frame = vm.lint(with_cells({"label": {3: -1, 5: 0}}).assign(label=lambda rows: rows["label"] + 1), label_from=1)
    found = frame.to_pandas()
    assert found.loc[found["check"].isin(["invalid_label", "missing_target"]), "row"].tolist() == [4]


def test_contradictory_and_repeated_rows():
    data = with_cells(
        {"image_id": {1: "image-0", 3: "image-2"}, "question": {1: "Why?", 0: "why", 3: "Why?", 2: "why?"}}
    )
    data["choices"] = [["x", "y", "z", "u"]] * len(data)
    data["label"] = [0, 1, 2, 2] + [row % 4 for row in range(36)]
    found = located(data)
    assert [row for check, row in found if check == "contradictory_targets"] == [0, 1]
    assert [row for check, row in found if check == "repeated_rows"] == [3]
    splits = vm.lint({"train": benchmark(5), "test": data}).to_pandas().query("check == 'repeated_rows'")
    assert splits["detail"].tolist() == ["as in row 3"]


def test_rows_without_images_repeat_their_question_choices_and_target():
    copies = benchmark(20).drop(columns="image_id").assign(question="Which?")
    test = pd.concat([copies.iloc[:3], copies.iloc[2:3]], ignore_index=True).assign(question_id=[*"abcd"])
    test.at[0, "label"] = (test.at[0, "label"] + 1) % 4  # another target is another row
    found = vm.lint({"train": copies, "test": test}).to_pandas()
    found = found[found["check"].isin(["question_in_train", "repeated_rows"])]
    assert list(zip(found["check"], found["row"], strict=True)) == [
        ("question_in_train", 2), ("question_in_train", 3), ("question_in_train", 4), ("repeated_rows", 4),
    ]  # fmt: skip


@pytest.mark.parametrize("with_images", [True, False])
def test_rotated_choices_are_not_called_repeated(with_images):
    texts, data = ["a", "b", "c", "d"], benchmark(40)
    data = data if with_images else data.drop(columns="image_id")
    orders = [texts, ["c", "d", "a", "b"], ["b", "a", "c", "d"]]  # the last one is no rotation
    for row, order in enumerate(orders):
        data.at[row, "choices"], data.at[row, "label"] = order, order.index("a")
        data.loc[row, ["question", *(["image_id"] if with_images else [])]] = "same"
    found = [one for one in located(data) if one[0] in ("repeated_rows", "rotated_rows")]
    assert sorted(found) == [("repeated_rows", 2), ("rotated_rows", 1)]


def test_repeated_ids_and_missing_types():
    data = with_cells({"question_id": {7: "q2"}, "label": {5: 9}})  # the sixth row cannot be read
    data["question_type"] = ["kind"] * 39 + [None]
    assert {("repeated_ids", 7), ("untyped", 39)} <= set(located(data))
    result = vm.lint(data)
    assert "has repeated ids (first: 'q2' in rows 3 and 8); they are shown with their row number" in " ".join(
        result.linting.notes
    )
    frame = result.to_pandas().set_index("check")
    assert frame.loc["repeated_ids", ["question_id", "detail"]].tolist() == [
        "q2 (row 8)", "question_id 'q2', as in row 3",
    ]  # fmt: skip
    assert frame.loc["untyped", "question_id"] == "q39"
    data["video_id"] = [f"v{n // 20}" for n in range(40)]  # rows 3 and 8 are of one video
    assert ("repeated_ids", 7) in located(data)
    data["video_id"] = [f"v{n}" for n in range(40)]
    assert "repeated_ids" not in dict(located(data))
    assert vm.describe(data.drop(5), figures="size").description.notes != []


def test_rows_of_the_training_split_in_another():
    splits = {"train": benchmark(20), "test": benchmark(40).iloc[15:].reset_index(drop=True)}
    found = vm.lint(splits).to_pandas()
    leaked = found[found["check"] == "question_in_train"]
    assert leaked["row"].tolist() == [1, 2, 3, 4, 5]
    assert set(leaked["split"]) == {"test"}


def test_names_and_columns_that_give_the_answer_away():
    data = benchmark(200, choices=[["cat", "dog", "bus", "car"]] * 200)
    targets = [choices[label] for choices, label in zip(data["choices"], data["label"], strict=True)]
    data["image_id"] = [f"photos/{target}_{row}.jpg" for row, target in enumerate(targets)]
    data["solution"] = targets
    data["hint"] = [f"look {label}" for label in data["label"]]
    found = vm.lint(data).to_pandas()
    assert (found["check"] == "target_in_name").sum() == 200
    details = " ".join(found[found["check"].isin(["predictive_columns", "repeated_target"])]["detail"])
    assert "'hint'" in details
    assert "'solution' is the target in 100.0%" in details


LABELS = {
    "the row number (period 4)": [row % 4 for row in range(200)],
    "the row number (blocks)": [row // 50 for row in range(200)],
    "position 1 has 75.0%": [0] * 150 + [1, 2] * 25,
}


@pytest.mark.parametrize("detail", LABELS)
def test_labels_in_an_order_and_unbalanced_ones_are_found(detail):
    found = vm.lint(benchmark(200, label=LABELS[detail])).to_pandas()
    found = found[found["check"].isin(["predictive_columns", "unbalanced_positions"])]
    assert detail in " ".join(found["detail"])


@pytest.mark.parametrize("column", ["choice_kinds", "choice_origins", "choice_fallback", "set_id"])
def test_columns_of_a_remedy_are_no_leak(column):
    data = benchmark(200)
    labels = [json.dumps(["target" if at == label else "set" for at in range(4)]) for label in data["label"]]
    assert "'hint'" in " ".join(vm.lint(data.assign(hint=labels)).to_pandas()["detail"])
    assert repr(column) not in " ".join(vm.lint(data.assign(**{column: labels})).to_pandas()["detail"])


def picture(colour):
    content = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(content, "PNG")
    return content.getvalue()


def test_images_missing_damaged_repeated_or_in_training(tmp_path):
    for row in range(16):
        (tmp_path / f"image-{row}.png").write_bytes(picture((row, 0, 0)))
    (tmp_path / "image-3.png").write_bytes(picture((5, 5, 5))[:40])
    (tmp_path / "image-4.png").write_bytes(picture((0, 0, 0)))  # that of the first row
    (tmp_path / "image-6.png").unlink()
    names = [f"image-{row}.png" for row in range(16)]
    train, test = benchmark(8, image_id=names[:8]), benchmark(8, image_id=[names[1], *names[9:]])
    test["question"] += " Really?"
    frame = vm.lint({"train": train, "test": test}, images=tmp_path).to_pandas()
    found = {(one.check, one.split, one.row) for one in frame.itertuples()}
    assert {("damaged_images", "train", 4), ("missing_images", "train", 7), ("repeated_images", "train", 5),
            ("image_in_train", "test", 1)} <= found  # fmt: skip
    skipped = vm.lint({"train": train, "test": test}, images=tmp_path, skip_images=True).to_pandas()
    assert not skipped["check"].isin(["damaged_images", "missing_images", "repeated_images"]).any()
    caveat = vm.audit(train, images=tmp_path, probes=False).figures["caveat"]
    assert "Not found: 1 image, such as image-6.png; vqa-mc lint lists the rows." in caveat


def photograph(row):
    """Colours in a random 8 x 8 grid, smoothed to 96 x 96 pixels."""
    colours = np.random.default_rng(row).integers(256, size=(8, 8, 3), dtype=np.uint8)
    return Image.fromarray(colours).resize((96, 96))


@pytest.mark.parametrize("with_images", [True, False])
def test_images_and_questions_that_nearly_repeat_those_of_the_training_split(tmp_path, with_images):
    for row in range(20):
        photograph(row).save(tmp_path / f"{row}.png")
    photograph(1).resize((50, 60)).save(tmp_path / "10.jpg", quality=60)  # as in row 2 of train
    photograph(2).convert("L").save(tmp_path / "11.png")  # of other colours
    Image.new("RGB", (9, 9), "red").save(tmp_path / "3.png")
    Image.new("RGB", (9, 9), "red").resize((20, 20)).save(tmp_path / "13.png")  # says nothing
    train, test = (
        benchmark(10, label=[0] * 10, choices=[[f"target {n}", "b", "c", "d"] for n in range(10)]) for _ in range(2)
    )
    train["image_id"] = [f"{n}.png" for n in range(10)]
    test["image_id"] = ["10.jpg", *(f"{n}.png" for n in range(11, 20))]
    train["question"] = ["Why?"] + ["What video game system is the man playing?"] * 2 + ["Who is it?"] * 7
    test["question"] = ["What video game system is this man playing?", "What game system is the man playing?"] + [
        "Where?"
    ] * 8  # cosines of 0.99 and 0.88
    if with_images:
        test["question"] = test["question"].iloc[[1, 0, *range(2, 10)]].to_list()  # the second is of another image
    test.at[0, "choices"] = test.at[1, "choices"] = ["Target 1.", "b", "c", "d"]
    splits = {"train": train, "test": test}
    if not with_images:
        splits = {name: split.drop(columns="image_id") for name, split in splits.items()}
    found = vm.lint(splits, **({"images": tmp_path} if with_images else {})).to_pandas()
    similar = found[found["check"].str.startswith("similar")]
    question = ("similar_question_in_train", "test", 1)
    assert [tuple(one) for one in similar[["check", "split", "row"]].to_numpy()] == (
        [("similar_image_in_train", "test", 1), question] if with_images else [question]
    )
    details = " ".join(similar["detail"])
    assert f"similar to 'What video g... man playing?', {0.88 if with_images else 0.99}" in details
    assert ("image '10.jpg' resembles '1.png', 0.99" in details) == with_images


def test_equal_questions_about_copies_of_an_image_of_the_training_split(tmp_path):
    photograph(1).save(tmp_path / "a.png")
    photograph(1).save(tmp_path / "b.png")
    photograph(1).save(tmp_path / "c.jpg", quality=80)
    rows = {"question": ["What is it?"], "choices": [["dog", "cat"]], "label": [0]}
    splits = {
        "test": pd.DataFrame({name: 2 * cells for name, cells in rows.items()} | {"image_id": ["b.png", "c.jpg"]}),
        "train": pd.DataFrame({**rows, "image_id": ["a.png"]}),
    }
    found = vm.lint(splits, images=tmp_path).to_pandas().set_index(["check", "row"])["detail"]
    assert ("question_in_train", 1) in found and ("question_in_train", 2) not in found
    assert "'c.jpg' resembles 'a.png'" in found["similar_image_in_train", 2]
    assert "similar to 'What is it?', 1.00" in found["similar_question_in_train", 2]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet"])
def test_the_written_issues_are_a_list_of_known_ones(tmp_path, suffix):
    data = with_cells({"label": {3: 9}, "choices": {8: ["x", "X.", "b", "c"]}, "question_id": {3: "=q3", 8: "@q8"}})
    file = tmp_path / f"known{suffix}"
    first = vm.lint(data, output=file)
    assert (first.exit_code, first.written) == (3, (file,))
    again = vm.lint(data, ignore=file)
    assert (again.exit_code, again.linting.ignored, again.linting.stale) == (0, len(first.to_pandas()), [])
    repaired = vm.lint(benchmark(), ignore=file)
    assert any("@q8" in one for one in repaired.linting.stale)
    assert "were not found again" in repr(repaired)


def test_a_printed_list_without_splits_is_accepted(tmp_path):
    data = with_cells({"label": {3: 9}})
    printed, short = tmp_path / "printed.json", tmp_path / "short.csv"
    printed.write_text(json.dumps(vm.lint(data).to_dict()))
    short.write_text("check,question_id\ninvalid_label,q3\n")
    assert vm.lint(data, ignore=printed).exit_code == vm.lint(data, ignore=short).exit_code == 0
    printed.write_text(json.dumps(vm.lint(benchmark()).to_dict() | {"issues": []}))
    assert vm.lint(data, ignore=printed).exit_code == 3


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 3), ("note", 3), ("never", 0)])
def test_the_exit_code_depends_on_the_severity(fail_on, code):
    assert vm.lint(with_cells(PLANTED["markup"]), fail_on=fail_on).exit_code == code


@pytest.mark.parametrize(
    ("options", "known", "message"),
    [
        ({"fail_on": "everything"}, None, "fail_on"),
        ({"ignore": "nowhere.csv"}, None, "ignore=nowhere.csv"),
        ({"output": "issues.txt"}, None, "output=issues.txt"),
        ({"ignore": "known.csv"}, "check,id\na,b\n", "known.csv: no column 'question_id'"),
        ({"ignore": "known.csv"}, "check,question_id\nspace,q\n", "spaces"),
    ],
)
def test_invalid_options(options, known, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if known:
        (tmp_path / "known.csv").write_text(known)
    with pytest.raises(InputError, match=message):
        vm.lint(benchmark(), **options)


CELLS = st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["None", "A. x", "<b>", "2", "two", " "]))


@settings(deadline=None)  # reads a whole benchmark
@given(st.lists(st.tuples(CELLS, st.lists(CELLS, max_size=4), st.one_of(st.none(), st.integers(-1, 4))), max_size=12))
def test_any_rows_are_checked_or_rejected_with_a_reason(rows):
    frame = pd.DataFrame(
        {
            "question": [*(question for question, _, _ in rows), *["Why?"] * 20],
            "choices": [*(choices for _, choices, _ in rows), *[["x", "y"], ["u", "v"]] * 10],
            "label": pd.array([*(label for *_, label in rows), *[0, 1, 1, 0] * 5], "Int64"),
        }
    )
    try:
        frame.to_json()
        found = vm.lint(frame).to_pandas()
    except (InputError, UnicodeEncodeError):
        return
    missing = set(found[found["check"].isin(["missing_question"])]["row"])
    assert missing <= {row for row, (question, *_) in enumerate(rows, 1) if question is None}
