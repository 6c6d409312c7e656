"""Figures have the numbers that are counted by hand."""

import json
import lzma

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hf_vqa_mc as vm
from tests.audits.frames import answered, benchmark, numbers, rows_of

WORDS = st.lists(st.sampled_from(["what", "is", "a", "the", "cat", "é", "?", "2"]), max_size=6).map(" ".join)


def test_answers_are_counted_by_words():
    found = numbers(answered().drop(columns="answers"), "answer_lengths")
    assert (found["one word"], found["two words"], found["three words"]) == (0.6, 0.2, 0)
    assert (found["mean"], found["different one-word answers"]) == (pytest.approx(9 / 5), 3)


def test_all_human_answers_are_described_if_there_are_several():
    assert sum(row["answers"] for row in rows_of(answered(), "answer_lengths")) == 15
    assert numbers(answered(), "unique_answers") == {"mean": 2.0, "annotators per question": 3.0}
    assert numbers(answered(), "agreement")["mean"] == 2.0


def test_human_accuracy_leaves_each_annotator_out():
    given = [
        ["a"] * 10,
        ["a"] * 6 + ["b"] * 4,
        ["a", "b", *"cdefghij"],
        ["a", "a", "b", "b", "b", "c", "d", "e", "f", "g"],
    ]
    frame = answered().head(4).assign(answers=given, answer_type=["yes/no", "other", "other", "number"])
    found = numbers(frame, "agreement")
    expected = [1, 1, 0, (2 / 3 + 3 * 2 / 3) / 10]
    assert found["human accuracy"] == pytest.approx(sum(expected) / 4)
    assert found["human accuracy, other"] == pytest.approx(0.5)
    assert found["human accuracy, number"] == pytest.approx(expected[3])


def test_agreement_by_the_confidence_of_annotators():
    sure = {0: ["yes"] * 9 + ["maybe"], 1: ["no"] * 10, 2: ["yes", "yes", "no"] + [None] * 7, 3: [None] * 10}
    texts = {0: ["a"] * 7 + ["b"] * 3, 1: ["a", "b", "c", "d", "e"] * 2, 2: ["a"] * 6 + ["b"] * 4, 3: ["a"] * 10}
    answers = [
        [{"answer": text, "answer_confidence": one} for text, one in zip(texts[row], sure[row], strict=True)]
        for row in range(4)
    ]
    frame = answered().head(4).assign(answers=answers)
    assert [tuple(row.values())[:3] for row in rows_of(frame, "confidence") if row["questions"]] == [
        ("0.0 to 0.1", "fewer than 3 agree", 1),
        ("0.6 to 0.7", "3 to 6 agree", 1),
        ("0.9 to 1.0", "7 or more agree", 1),
    ]
    assert numbers(frame, "confidence")["mean confidence"] == pytest.approx((0.95 + 0 + 2 / 3) / 3)
    with pytest.raises(vm.InputError, match="answers have no confidences"):
        numbers(answered(), "confidence")


def test_yes_no_and_numbers():
    data = answered(answer=["Yes.", "no", "yes", "two", "2"]).drop(columns="answers")
    found = numbers(data, "answer_kinds")
    assert found["yes or no"] == 0.6
    assert found["yes, of yes or no"] == pytest.approx(2 / 3)
    assert (found["number"], found["its share of the numbers"]) == (0.4, 1.0)


def test_coverage_grows_to_one():
    rows = rows_of(answered(answer=["a", "a", "a", "b", "c"]).drop(columns="answers"), "coverage")
    assert [row["answers"] for row in rows] == [1, 2, 3]
    assert [row["questions"] for row in rows] == [0.6, 0.8, 1.0]


def test_counted_beginnings_are_frequent_and_cover_all_questions():
    rows = rows_of(answered(20), "beginnings")
    assert sum(row["questions"] for row in rows) == 100
    assert {"what color is the cat", "is this a cat", "how many cats"} <= {row["beginning"] for row in rows}


@settings(deadline=None)  # reads a whole dataset
@given(st.lists(WORDS, min_size=1, max_size=30))
def test_an_arc_is_as_long_as_the_share_of_questions_with_its_words(questions):
    frame = pd.DataFrame({"question_id": range(len(questions)), "image_id": 0, "question": questions, "answer": "x"})
    if not any(questions):
        return
    rows = rows_of(frame, "first_words")
    from hf_vqa_mc.text.normalisation import words

    for row in rows:
        path = [row[name] for name in ("first word", "second word", "third word", "fourth word") if row[name]]
        assert row["questions"] == sum(words(one)[: len(path)] == path for one in questions)


def test_entropy_is_that_of_the_answers_of_each_type():
    data = answered(2, question_type=["a"] * 5 + ["b"] * 5, answer=["x"] * 5 + ["y", "y", "z", "z", ""])
    rows = {row["type"]: row for row in rows_of(data, "question_types")}
    assert (rows["a"]["entropy"], rows["b"]["entropy"]) == (0.0, 1.0)
    assert (rows["b"]["different answers"], rows["b"]["its share"]) == (2, 0.5)
    assert numbers(data, "question_types")["entropy, mean of types"] == 0.5


def test_parts_of_speech_of_a_question():
    frame = answered(question=["Is the small cat sitting on the red table?"] * 5)
    found = numbers(frame, "parts_of_speech")
    assert [found[name] for name in ("nouns", "verbs", "adjectives", "prepositions")] == [2, 2, 2, 1]


def test_positions_and_lengths_of_choices():
    data = benchmark(400, label=[0] * 300 + [1, 2, 3, 3] * 25, choices=[["longest", "b", "c", "d"]] * 400)
    found = numbers(data, "label_positions")
    assert found["degrees of freedom"] == 3
    assert found["chi-square"] == pytest.approx((200**2 + 75**2 * 2 + 50**2) / 100)
    assert found["p"] < 1e-10
    assert numbers(data, "choice_lengths")["target is the longest (ties share)"] == 0.75


def test_overlap_and_repeated_rows():
    train, test = benchmark(4), benchmark(8)
    found = numbers({"train": train, "test": test}, "overlap")
    assert found["image and question of test also in train"] == 0.5
    assert numbers({"train": train, "test": test}, "duplicates")["same image, question and answer"] == pytest.approx(
        4 / 12
    )
    assert numbers(test, "image_reuse") == {"mean": 1.0, "most": 1}


def test_a_split_or_two_datasets(tmp_path):
    splits = {"train": benchmark(4), "test": benchmark(8)}
    assert numbers(splits, "size", split="test")["questions"] == 8
    both = numbers(splits, "size", against=benchmark(3))
    assert [one["questions"] for one in both] == [12, 3]
    result = vm.describe(splits, against=answered(), figures=("choices", "agreement"))
    frame = result.to_pandas()
    assert list(frame.columns) == ["figure", "number", "dataset (1)", "dataset (2)"]
    assert frame.set_index("number").loc["random guessing"].tolist()[1:] == [0.25, None]
    assert result.table("choices", 1).empty


def test_equal_data_in_another_order_gives_equal_figures():
    data = answered(12, answer=[f"answer {row % 30}" for row in range(60)], question_type=["b", "a"] * 30)
    found = vm.describe(data, against=data[::-1]).to_dict()["figures"]
    assert len(found) > 10
    assert [name for name, one in found.items() if one["found"][0] != one["found"][1]] == []


def test_captions_of_other_words_differ(tmp_path):
    import json

    file = tmp_path / "captions.json"
    records = [{"image_id": f"i{row % 4}", "caption": "two brown horses standing near a fence"} for row in range(50)]
    records.append({"image_id": "elsewhere", "caption": "not counted"})
    file.write_text(json.dumps({"annotations": records}))
    found = numbers(answered(20), "captions", captions=file)
    assert found["captions"] == 50
    assert found["distance of nouns"] > 0.5
    assert found["p of nouns"] < 0.001


@pytest.mark.slow
def test_real_questions_begin_as_the_paper_counted(real_data, tmp_path):
    """Antol et al. 2015, Table 3 and section 4.2, on all of VQA v1's validation split."""
    columns = {}
    for name in ("questions_val2014", "answers_val2014_modal", "images_val2014_all"):
        content = lzma.decompress((real_data / "vqa_v1" / f"textdump__{name}.txt.xz").read_bytes())
        columns[name.split("_")[0]] = content.decode().splitlines()
    frame = pd.DataFrame(
        {"question_id": range(121_512), "image_id": columns["images"], "question": columns["questions"],
         "answer": columns["answers"]}
    )  # fmt: skip
    found = numbers(frame, "answer_kinds")
    assert (found["yes or no"], found["number"]) == (pytest.approx(0.3837, abs=0.02), pytest.approx(0.1231, abs=0.02))
    assert found["most frequent number"] == "two"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_reasoning_of_published_programs_is_near_the_papers(real_data, tmp_path):
    """Hudson and Manning 2019, Table 1: 51.6% relation, 22.4% spatial, 19% logical, 3% comparative questions.

    The file has the questions of the balanced test-dev split with rare and frequent answers, not all of them.
    """
    questions = {}
    for part in ("head", "tail"):
        content = (real_data / "gqa" / f"GQAOOD__ood_testdev_{part}.json.xz").read_bytes()
        questions.update(json.loads(lzma.decompress(content)))
    (tmp_path / "testdev_balanced_questions.json").write_text(json.dumps(questions))
    vm.build("gqa", data_dir=tmp_path, output=tmp_path / "vqa_mc", variants=["balanced"])
    figures = vm.describe(tmp_path / "vqa_mc", "gqa_balanced", figures=("reasoning",)).to_dict()["figures"]
    found = figures["reasoning"]["found"][0]["table"]
    shares = dict(zip(found["reasoning"], found["share"], strict=True))
    logical = sum(row["types"]["structural"] == "logical" for row in questions.values()) / len(questions)
    assert shares["logical"] == pytest.approx(logical)
    assert shares["relation"] == pytest.approx(0.516, abs=0.03)
    assert shares["spatial"] == pytest.approx(0.224, abs=0.03)
    assert 0 < shares["comparative"] < 0.03
