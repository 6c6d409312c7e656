"""Options within a text are read, replaced and written back; a text that can be read in two ways is an error."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.data.text_choices import OptionText
from hf_vqa_mc.errors import InputError

plain = st.text("abxyz019 ?!'-", min_size=1, max_size=12).map(str.strip).filter(bool)
options = st.lists(plain, min_size=2, max_size=26)
styles = st.sampled_from(["{}. {}", "({}) {}", "{}) {}", "{}: {}"])


def spelled(style, first, choices):
    names = [str(number + 1) if first == "1" else chr(ord(first) + number) for number in range(len(choices))]
    return list(map(style.format, names, choices))


@given(plain, options, options, styles, st.sampled_from("Aa1"), st.sampled_from(["", "\nOptions:"]), st.booleans())
def test_options_on_lines_can_be_replaced_and_restored(question, old, new, style, first, heading, instructed):
    end = "\nAnswer with one letter." if instructed else ""
    text = "\n".join([question + heading, *spelled(style, first, old)]) + end
    found = OptionText.parse(text)
    assert (found.question, list(found.choices), found.after) == (question, old, end)
    replaced = found.written(new)
    assert replaced == "\n".join([question + heading, *spelled(style, first, new)]) + end
    assert OptionText.parse(replaced).written(old) == text


@given(plain, options, options, styles, st.sampled_from("Aa"))
def test_options_after_a_heading_can_be_replaced_and_restored(question, old, new, style, first):
    text = f"{question}\nOptions: {', '.join(spelled(style, first, old))}"
    found = OptionText.parse(text)
    assert (found.question, list(found.choices)) == (question, old)
    assert OptionText.parse(found.written(new)).written(old) == text


@pytest.mark.parametrize(
    "text", ["", "Which?", "A. red", "Vitamin A. or B. vitamin", "Which?\nA. red", "Is A: x, B: y?"]
)
def test_texts_without_options(text):
    assert OptionText.parse(text) is None


def test_a_numbered_list_before_lettered_options_belongs_to_the_question():
    found = OptionText.parse("1. Open it.\n2. Close it.\nWhich is first?\nChoices:\n(A) one\n(B) two\n")
    assert (found.question, found.choices) == ("1. Open it.\n2. Close it.\nWhich is first?", ("one", "two"))
    assert found.after == "\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A. red\nB. blue\nWhich?\nA. one\nB. two", "one list of options, found 2"),
        ("Options: A: red, B: x, B: y, C: z", "in one way only"),
        ("A. red\nand so on\nB. blue", "in one way only"),
        ("A. \nB. blue", "in one way only"),
    ],
)
def test_texts_that_can_be_read_in_two_ways_are_errors(text, reason):
    with pytest.raises(InputError, match=reason):
        OptionText.parse(text)


COLOURS = ["red", "blue", "green", "white", "black"]


def chat(number):
    question, choices = f"What is {number % 4} here?", [f"{colour} {number % 5}" for colour in COLOURS[:3]]
    label = number % 3
    choices[label] += " and more"
    return question, choices, "ABC"[label]


def written(path, kind):
    rows = []
    for number in range(60):
        question, choices, answer = chat(number)
        row = {"id": number, "image_id": f"{number // 3}"}
        text = "\n".join([question, *spelled("{}. {}", "A", choices)])
        if kind == "lines":
            row |= {"question": question, "options": "\n".join(spelled("({}) {}", "A", choices)), "answer": answer}
        elif kind == "question":
            row |= {
                "question": f"{question}\nOptions: {', '.join(spelled('{}: {}', 'A', choices))}",
                "answer": answer,
            }
        else:
            row["conversations"] = [{"from": "human", "value": text}, {"from": "gpt", "value": answer}]
        rows.append(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lines", "question", "conversations"])
def test_benchmarks_are_audited_remedied_and_exported(kind, tmp_path, untrained_report_probes):
    path = written(tmp_path / "rows.jsonl", kind)
    gains = vm.audit(path, probes=False).to_pandas().set_index("name")
    assert gains.loc["longest choice", "accuracy"] == 1
    vm.remedy(path, output=tmp_path / "new.jsonl", variant="iou", force=True)
    before, after = (vm.read_benchmark(one).test.rows.to_pylist() for one in (path, tmp_path / "new.jsonl"))
    assert [row["question"] for row in after] == [row["question"] for row in before] == [chat(n)[0] for n in range(60)]
    assert [row["choices"] for row in after] != [row["choices"] for row in before]
    assert [row["choices"][row["label"]] for row in after] == [row["choices"][row["label"]] for row in before]
    record = json.loads((tmp_path / "new.jsonl").read_text().splitlines()[0])
    text = {"lines": "options", "question": "question"}.get(kind)
    text = record[text] if text else record["conversations"][0]["value"]
    assert "and so on" not in text
    for name, choice in zip("ABCD", after[0]["choices"], strict=False):
        assert {"lines": f"({name}) ", "question": f"{name}: "}.get(kind, f"{name}. ") + choice in text
    vm.export("vlmevalkit", path, output=tmp_path, name="exported")
    rows = pd.read_csv(tmp_path / "exported" / "exported_TEXT.tsv", sep="\t")
    assert rows.loc[1, ["question", "A", "B", "C", "answer"]].tolist() == [chat(1)[0], *chat(1)[1], chat(1)[2]]
    assert "conversations" not in rows.columns


def test_open_questions_among_others_are_left_out_and_counted(tmp_path):
    path = written(tmp_path / "rows.jsonl", "conversations")
    with path.open("a") as file:
        turns = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "Because."}]
        file.write(json.dumps({"id": 60, "image_id": "7", "conversations": turns}) + "\n")
    benchmark = vm.read_benchmark(path)
    assert benchmark.test.rows.num_rows == 60
    assert benchmark.left_out == {"test (rows without choices)": "1 of 61 rows"}


def test_options_in_two_columns_are_an_error_that_names_both():
    frame = pd.DataFrame({"question": ["Which?\nA. x\nB. y"] * 3, "options": [["x", "y"]] * 3, "answer": ["A"] * 3})
    with pytest.raises(InputError, match=r"choices are in options and answer, and options in question, too.*choices"):
        vm.read_benchmark(frame)
    assert vm.read_benchmark(frame, choices="question").test.rows["question"].to_pylist() == ["Which?"] * 3


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([("human", "Which?\nA. x\nB. y"), ("human", "And?")], "is empty"),
        ([("human", "Which?\nA. x\nB. y"), ("gpt", "C")], "expected a letter from A to B"),
    ],
)
def test_conversations_that_cannot_be_read_are_errors_with_their_row(turns, reason):
    good = [("human", "Which?\nA. x\nB. y"), ("gpt", "B")]
    frame = pd.DataFrame(
        {"conversations": [[{"from": who, "value": text} for who, text in one] for one in (good, good, turns)]}
    )
    with pytest.raises(InputError, match=rf"row 3: conversations.*{reason}"):
        vm.read_benchmark(frame)


def test_other_conversations_next_to_choices_are_ignored():
    turns = [{"from": "human", "value": "Hello"}, {"from": "human", "value": "Which?\nA. x\nB. y"}]
    frame = pd.DataFrame({"question": ["Which?"] * 2, "options": [["x", "y"]] * 2, "answer": ["A"] * 2})
    frame["conversations"] = [turns] * 2
    assert vm.read_benchmark(frame).read_as == "question=question, choices=options, label=answer (letters)"


def test_chat_next_to_the_same_choices_is_read_but_cannot_be_written():
    turns = [{"from": "human", "value": "Which?\nA. x\nB. y"}, {"from": "gpt", "value": "A"}]
    frame = pd.DataFrame({"question": ["Which?"] * 2, "options": [["x", "y"]] * 2, "answer": ["A"] * 2})
    frame["conversations"] = [turns] * 2
    benchmark = vm.read_benchmark(frame)
    with pytest.raises(InputError, match=r"conversations.human repeats the choices.*--choices options"):
        benchmark.with_choices(benchmark.test, [["y", "x"]] * 2, [1] * 2)
    assert vm.read_benchmark(frame, choices="conversations").test.rows["choices"].to_pylist() == [["x", "y"]] * 2
