"""Files as their publishers write them are read without an option, or refused with what to type."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.shards import file_content
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.xlsx import read_xlsx

CHOICES = [["red", "blue", "green"], ["one", "two", "six"], ["up", "down", "left"], ["cat", "dog", "cow"]] * 6
LABELS = [row % 3 for row in range(24)]
QUESTIONS = [f"What is thing {row}?" for row in range(24)]
LETTERS = ["ABC"[label] for label in LABELS]


def records(choices, **columns):
    rows = [{"question": question, **choices(texts)} for question, texts in zip(QUESTIONS, CHOICES, strict=True)]
    return [{**row, **{name: cells[at] for name, cells in columns.items()}} for at, row in enumerate(rows)]


def lettered(texts):
    return {"options": [f"{letter}. {text}" for letter, text in zip("ABC", texts, strict=True)]}


def lettered_lists(texts):
    return {"text": texts, "label": list("ABC")}


LISTS = records(lambda texts: {"options": texts}, answer=LETTERS)
INLINE = [
    {
        "conversations": [
            {"from": "human", "value": f"{question}\nOptions: (A) {a} (B) {b} (C) {c}\nAnswer with a letter."},
            {"from": "gpt", "value": letter},
        ]
    }
    for question, (a, b, c), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)
]
NAMED = [[{"label": "ABC"[at], "text": text} for at, text in enumerate(texts)] for texts in CHOICES]
JSON = {
    "letters at the start": records(lettered, answer=LETTERS),
    "records as choices": records(lambda texts: {"choices": NAMED[CHOICES.index(texts)]}, answerKey=LETTERS),
    "records within the question": [
        {"question": {"stem": question, "choices": named}, "answerKey": letter}
        for question, named, letter in zip(QUESTIONS, NAMED, LETTERS, strict=True)
    ],
    "numpy's lists": records(lambda texts: {"options": "[" + " ".join(map(repr, texts)) + "]"}, answer=LETTERS),
    "records as text": records(lambda texts: {"choices": str(NAMED[CHOICES.index(texts)])}, answerKey=LETTERS),
    "lists in a record as text": records(lambda texts: {"choices": str(lettered_lists(texts))}, answerKey=LETTERS),
    "arrays in a record as text": records(
        lambda texts: {
            "choices": str({name: np.array(cells, object) for name, cells in lettered_lists(texts).items()})
        },
        answerKey=LETTERS,
    ),
    "an array of records as text": records(
        lambda texts: {"choices": str(np.array(NAMED[CHOICES.index(texts)]))}, answerKey=LETTERS
    ),
    "numpy's texts in a list": records(lambda texts: {"options": str(list(np.array(texts)))}, answer=LETTERS),
    "lists of one label": records(lambda texts: {"options": texts}, label=[[letter] for letter in LETTERS]),
    "options on one line in a conversation": INLINE,
    "ctx and endings": [
        {"ctx": question, "endings": texts, "label": label}
        for question, texts, label in zip(QUESTIONS, CHOICES, LABELS, strict=True)
    ],
    "choice and the answer's text": records(
        lambda texts: {"choice": texts},
        answer=[texts[label] for texts, label in zip(CHOICES, LABELS, strict=True)],
    ),
    "a0 to a2": records(lambda texts: {f"a{at}": text for at, text in enumerate(texts)}, answer=LABELS),
    "option#1 to option#3": records(
        lambda texts: {f"option#{at + 1}": text for at, text in enumerate(texts)}, answer=[at + 1 for at in LABELS]
    ),
    "numbers at the start": records(
        lambda texts: {"options": [f"({at + 1}) {text}" for at, text in enumerate(texts)]},
        answer_text=[str(at + 1) for at in LABELS],
    ),
    "sol1 to sol3": [
        {"goal": question, **{f"sol{at + 1}": text for at, text in enumerate(texts)}, "label": label}
        for question, texts, label in zip(QUESTIONS, CHOICES, LABELS, strict=True)
    ],
    "opa to opc": records(lambda texts: dict(zip(("opa", "opb", "opc"), texts, strict=True)), cop=LABELS),
    "mc_answer1 to mc_answer3": records(
        lambda texts: {f"mc_answer{at + 1}": text for at, text in enumerate(texts)},
        correct_answer_num=[at + 1 for at in LABELS],
    ),
    "answers as choices": records(lambda texts: {"answers": texts}, correct_answer_id=LABELS),
    "marked choices": records(
        lambda texts: {"x": 1},
        mc1_targets=[
            {"choices": texts, "labels": [int(at == label) for at in range(3)]}
            for texts, label in zip(CHOICES, LABELS, strict=True)
        ],
    ),
    "records with choice_id": records(
        lambda texts: {"choices": [{"choice_id": at, "choice": text} for at, text in enumerate(texts)]},
        answer=[texts[label] for texts, label in zip(CHOICES, LABELS, strict=True)],
    ),
    "an object with numbers as keys": records(
        lambda texts: {"options": {str(at + 1): text for at, text in enumerate(texts)}},
        answer=[str(at + 1) for at in LABELS],
    ),
    "chat messages": [
        {
            "messages": [
                {"role": "user", "content": f"{question}\nA. {a}\nB. {b}\nC. {c}"},
                {"role": "assistant", "content": letter},
            ]
        }
        for question, (a, b, c), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)
    ],
    "options with a blank before the bracket": records(
        lambda texts: {"options": " , ".join(f"{name} ) {text}" for name, text in zip("abc", texts, strict=True))},
        correct=[letter.lower() for letter in LETTERS],
    ),
    "options on one line": records(
        lambda texts: {"options": " ".join(f"{name}. {text}" for name, text in zip("ABC", texts, strict=True))},
        answer=LETTERS,
    ),
    "a word before the letter": records(
        lambda texts: {"options": texts}, answer=[f"Option {letter}" for letter in LETTERS]
    ),
    "records with marks and no label": [
        {"question": question, "answers": [{"text": text, "correct": int(text == texts[label])} for text in texts]}
        for question, texts, label in zip(QUESTIONS, CHOICES, LABELS, strict=True)
    ],
    "options/0 to options/2": records(
        lambda texts: {f"options/{at}": text for at, text in enumerate(texts)}, answer=LETTERS
    ),
    "records of lists as text": records(
        lambda texts: {"choices": repr({"text": texts, "label": ["A", "B", "C"]})}, answerKey=LETTERS
    ),
    "records as JSON text": records(
        lambda texts: {"choices": json.dumps(NAMED[CHOICES.index(texts)])}, answerKey=LETTERS
    ),
    "records of arrays as pandas writes them": records(
        lambda texts: {
            "choices": f"{{'text': array({texts},\n dtype=object), 'label': array(['A', 'B', 'C'], dtype=object)}}"
        },
        answerKey=LETTERS,
    ),
    "arrays of records as pandas writes them": records(
        lambda texts: {"choices": f"[{' '.join(map(repr, NAMED[CHOICES.index(texts)]))}]"}, answerKey=LETTERS
    ),
    "letters and blanks around choices": records(
        lambda texts: {f"Choice {name}": f" {name}:{text} " for name, text in zip("ABC", texts, strict=True)},
        answer=LETTERS,
    ),
    "letters after a word": records(
        lambda texts: {"options": [f"Option {name}: {text}" for name, text in zip("ABC", texts, strict=True)]},
        answer=LETTERS,
    ),
    "bold letters": records(
        lambda texts: {"options": [f"**{name}.** {text}" for name, text in zip("ABC", texts, strict=True)]},
        answer=LETTERS,
    ),
    "letters and a tab": records(
        lambda texts: {"options": [f"{name}\t{text}" for name, text in zip("ABC", texts, strict=True)]}, answer=LETTERS
    ),
    "records with marks of any name": [
        {"question": question, "choices": [{"body": text, "gold": text == texts[label]} for text in texts]}
        for question, texts, label in zip(QUESTIONS, CHOICES, LABELS, strict=True)
    ],
    "options after a heading without brackets": [
        {"question": f"{question} Options: A. {a} B. {b} C. {c}", "answer": letter}
        for question, (a, b, c), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)
    ],
    "options over several lines": [
        {
            "question": f"{question}\nOptions: A: {a}\nx, B: {b}\nx, C: {c}\nx",
            "answer": letter,
        }
        for question, (a, b, c), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)
    ],
}


def read(path, **options):
    split = read_benchmark(path, **options).test
    return split.rows["question"].to_pylist(), split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", JSON)
def test_a_layout_is_read_and_written_back(name, tmp_path):
    path = write(tmp_path / "rows.jsonl", JSON[name])
    choices = [[f"{text}\nx" for text in texts] for texts in CHOICES] if "lines" in name else CHOICES
    assert read(path) == (QUESTIONS, choices, LABELS)
    benchmark = read_benchmark(path)
    texts, labels = [["new", "other", "third"], *choices[1:]], [2, *LABELS[1:]]
    table = benchmark.with_choices(benchmark.test, texts, labels)
    write_benchmark(benchmark, {"test": table}, tmp_path / "new.jsonl")
    assert read(tmp_path / "new.jsonl") == (QUESTIONS, texts, labels)
    before, after = ((tmp_path / one).read_text().splitlines() for one in ("rows.jsonl", "new.jsonl"))
    assert [json.loads(line) for line in before[1:]] == [json.loads(line) for line in after[1:]]


ORDERS = [[2, 0, 1], [1, 2, 0], [0, 1, 2]] * 8
SHUFFLED = {
    "in a list": lambda texts: {"options": [f"{name}. {text}" for name, text in texts]},
    "in records": lambda texts: {"choices": [{"label": name, "text": text} for name, text in texts]},
    "in two lists": lambda texts: {
        "choices": {"text": [text for _, text in texts], "label": [one for one, _ in texts]}
    },
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_letters_name_the_choices_in_any_order(name, tmp_path):
    rows = [
        {"question": question, **SHUFFLED[name]([("ABC"[at], texts[at]) for at in order]), "answerKey": letter}
        for question, texts, order, letter in zip(QUESTIONS, CHOICES, ORDERS, LETTERS, strict=True)
    ]
    expected = [[texts[at] for at in order] for texts, order in zip(CHOICES, ORDERS, strict=True)]
    labels = [order.index(label) for order, label in zip(ORDERS, LABELS, strict=True)]
    path = write(tmp_path / "rows.jsonl", rows)
    assert read(path) == (QUESTIONS, expected, labels)
    benchmark = read_benchmark(path)
    new = {"test": benchmark.with_choices(benchmark.test, [["x", "y", "z"], *expected[1:]], [1, *labels[1:]])}
    write_benchmark(benchmark, new, tmp_path / "new.jsonl")
    assert read(tmp_path / "new.jsonl") == (QUESTIONS, [["x", "y", "z"], *expected[1:]], [1, *labels[1:]])


def test_letters_in_a_few_rows_are_letters_but_initials_in_one_row_are_not(tmp_path):
    rows = [{**one, **lettered(one["options"])} if at % 3 == 0 else one for at, one in enumerate(LISTS)]
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, CHOICES, LABELS)
    rows = [{**LISTS[0], **lettered(["Lee", "Day", "Ito"])}, *LISTS[1:]]
    assert read(write(tmp_path / "rows.jsonl", rows))[1][0] == ["A. Lee", "B. Day", "C. Ito"]


def test_letters_lose_one_mark_only(tmp_path):
    rows = records(lambda texts: {"options": [f"A){texts[0]}", "B).5", "C.) -2"]}, answer=LETTERS)
    assert read(write(tmp_path / "rows.jsonl", rows))[1][0] == ["red", ".5", "-2"]


def test_what_pads_rows_is_no_choice(tmp_path):
    rows = records(lambda texts: {"options": [*texts, "N/A", "N/A"]}, answer=LETTERS)
    rows[1]["options"] = ["one", "two", "six", "None", "N/A"]
    rows[2]["options"] = ["up", "N/A", "left", "down", "nan"]
    found = read(write(tmp_path / "rows.jsonl", rows))[1]
    assert found == [CHOICES[0], ["one", "two", "six", "None"], ["up", "N/A", "left", "down", "nan"], *CHOICES[3:]]


@pytest.mark.parametrize("mark", ["N/A", "nan", "null"])
def test_one_text_that_pads_many_rows_is_no_choice(mark, tmp_path):
    rows = records(lambda texts: {"options": [*texts, mark if "red" in texts else "pink"]}, answer=LETTERS)
    expected = [texts if "red" in texts else [*texts, "pink"] for texts in CHOICES]
    assert read(write(tmp_path / "rows.jsonl", rows))[1] == expected


@pytest.mark.parametrize("spell", ["[{}]", "['x', {}]"])
def test_backslashes_of_latex_in_a_list_need_not_be_escaped(spell, tmp_path):
    texts = [r"$\theta$", r"$\frac{1}{2} \times \beta$", r"$\nu \neq \xi$"]
    quoted = ", ".join(f'"{text}"' for text in texts)
    rows = [{"question": one["question"], "options": spell.format(quoted), "answer": one["answer"]} for one in LISTS]
    rows[1]["options"] = json.dumps(["a\nb", "c\td", r"\theta"])
    found = read(write(tmp_path / "rows.jsonl", rows))[1]
    assert found[:2] == [["x", *texts] if "x" in spell else texts, ["a\nb", "c\td", r"\theta"]]


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"question": "", "prompt": "Which one?"}, "prompt"),
        ({"question": "q17", "question_text": "Which one?"}, "question_text"),
        ({"query": "Answer with a letter.", "text": "Which one?"}, "text"),
        ({"question": "effect", "premise": "It rained."}, "premise"),
        ({"question": "Which one?", "prompt": "Answer with a letter."}, "question"),
        ({"question": "这是什么？", "prompt": "Answer."}, "question"),  # noqa: RUF001
    ],
)
def test_the_question_is_a_column_of_sentences(more, name, tmp_path):
    rows = [{**more, name: f"{more[name]} {at}", "options": texts, "answer": letter}
            for at, (texts, letter) in enumerate(zip(CHOICES, LETTERS, strict=True))]  # fmt: skip
    assert read(write(tmp_path / "rows.jsonl", rows))[0] == [row[name] for row in rows]


@pytest.mark.parametrize("end", ["", " &amp; co", "&#39;s &lt;b&gt;", " AT&T"])
def test_decoys_separated_by_semicolons(end, tmp_path):
    rows = [{"Question": question, "Best Answer": texts[0], "Incorrect Answers": f"{texts[1]}{end}; {texts[2]};"}
            for question, texts in zip(QUESTIONS, CHOICES, strict=True)]  # fmt: skip
    choices = [[first, second + end, third] for first, second, third in CHOICES]
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, choices, [0] * 24)


def test_one_choice_with_entities_is_no_list_of_choices(tmp_path):
    rows = records(lambda texts: {"options": f"{texts[0]} &amp; co;"}, answer=LETTERS)
    with pytest.raises(InputError, match="options is 'red &amp; co;', expected a list such as"):
        read(write(tmp_path / "rows.jsonl", rows))


def test_lists_that_are_no_choices_are_the_reason(tmp_path):
    rows = records(lambda texts: {"choices": str([[text, [0]] for text in texts])}, answer=LETTERS)
    with pytest.raises(
        InputError, match=r"no row has choices: row 1: choices is .*'red', .*; expected a list of choices"
    ):
        read(write(tmp_path / "rows.jsonl", rows))


@pytest.mark.parametrize(
    ("cell", "reason"), [("", "no row has choices"), ("so", "row 1: choices is 'so', expected records")]
)
def test_a_split_without_the_records_of_the_others_is_left_out(cell, reason, tmp_path):
    rows = records(lambda texts: {"choices": str(lettered_lists(texts)), "split": "dev"}, answerKey=LETTERS)
    write(tmp_path / "rows.jsonl", [*rows, *({**row, "choices": cell, "split": "test"} for row in rows)])
    assert reason in read_benchmark(tmp_path / "rows.jsonl", split="dev").left_out["test"]


def test_lists_as_text_may_hold_numbers_and_missing_values(tmp_path):
    rows = [{**LISTS[0], "options": "[10  -2.5 None]"}, {**LISTS[1], "options": "['one', 'nan, two', nan]"}]
    rows += [{**row, "options": "['x' None 'y']"} for row in LISTS[2:]]
    rows = [{**row, "answer": "A"} for row in rows]
    assert read(write(tmp_path / "rows.jsonl", rows))[1][:3] == [["10", "-2.5"], ["one", "nan, two"], ["x", "", "y"]]


@pytest.mark.parametrize("mark", [":", ".", ")", "．", "、"])  # noqa: RUF001
def test_lettered_lines_without_a_blank_and_letters_in_a_list(mark, tmp_path):
    rows = [
        {
            "question": f"{question}\nChoices:\n" + "\n".join(map(f"{{}}{mark}{{}}".format, "ABC", texts)),
            "answer": letter,
        }
        for question, texts, letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)
    ]
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, CHOICES, LABELS)
    rows = records(lambda texts: {"options": list(map(f"{{}}{mark}{{}}".format, "ABC", texts))}, answer=LETTERS)
    assert read(write(tmp_path / "lists.jsonl", rows)) == (QUESTIONS, CHOICES, LABELS)


def test_marks_of_the_correct_choice_are_labels_and_are_written(tmp_path):
    marks = [[int(at == label) for at in range(3)] for label in LABELS]
    path = write(tmp_path / "rows.jsonl", records(lambda texts: {"options": texts}, label=marks))
    benchmark = read_benchmark(path)
    assert benchmark.test.rows["label"].to_pylist() == LABELS
    table = benchmark.with_choices(benchmark.test, CHOICES, [1, *LABELS[1:]])
    assert table["label"].to_pylist() == [[0, 1, 0], *marks[1:]]


def test_several_questions_per_record_are_refused(tmp_path):
    inner = {"question": "Which?", "options": ["red", "blue"], "answer": "A"}
    (tmp_path / "rows.json").write_text(json.dumps({f"v{at}": {"q0": inner, "q1": inner} for at in range(3)}))
    with pytest.raises(InputError, match="several questions per record"):
        read(tmp_path / "rows.json")


def test_a_json_file_of_columns_as_pandas_writes_it(tmp_path):
    pd.DataFrame(LISTS).to_json(tmp_path / "rows.json")
    assert read(tmp_path / "rows.json") == (QUESTIONS, CHOICES, LABELS)
    benchmark = read_benchmark(tmp_path / "rows.json")
    write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "new.json")
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads((tmp_path / "rows.json").read_text())


def test_a_table_without_quoting_keeps_its_rows(tmp_path):
    lines = [f'{question}\t"{a}\t{b}\t{c}\t{letter}'
             for question, (a, b, c), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)]  # fmt: skip
    (tmp_path / "rows.tsv").write_text("\n".join(["question\tA\tB\tC\tanswer", *lines]))
    assert read(tmp_path / "rows.tsv")[1][0] == ['"red', "blue", "green"]


def test_a_folder_that_cannot_be_read_names_its_files(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps({f"q{at}": row for at, row in enumerate(LISTS)}))
    (tmp_path / "more.json").write_text(json.dumps({"train": ["q0"], "test": ["q1"]}))
    with pytest.raises(InputError, match=r"one of its files alone: more\.json, rows\.json"):
        read(tmp_path)


def test_ids_that_repeat_for_each_video_are_joined_with_its_id(tmp_path):
    rows = records(lambda texts: {"options": texts}, answer=LETTERS, video=[f"v{at // 3}" for at in range(24)],
                   qid=[at % 3 for at in range(24)])  # fmt: skip
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", rows))
    assert benchmark.test.rows["question_id"].to_pylist()[:4] == ["v0_0", "v0_1", "v0_2", "v1_0"]


def test_a_query_next_to_a_sentence_is_no_question(tmp_path):
    rows = [
        {"sentence": question, "query": "acorns", "label": str(at % 2 == 0)} for at, question in enumerate(QUESTIONS)
    ]
    assert read(write(tmp_path / "rows.jsonl", rows))[0] == QUESTIONS


def test_choices_in_a_column_answers_are_no_human_answers(tmp_path):
    path = write(tmp_path / "rows.jsonl", records(lambda texts: {"answers": texts}, label=LABELS))
    assert read_benchmark(path).test.rows["answers"].to_pylist() == [[]] * 24


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_csv_in_a_folder_is_read_as_alone(separator, tmp_path):
    texts = [["007", "1.50", "None", "TRUE"], ["1e3", "NA", "null", "2"]] * 12
    lines = [separator.join((question, *row, letter))
             for question, row, letter in zip(QUESTIONS, texts, LETTERS, strict=True)]  # fmt: skip
    (tmp_path / "test.csv").write_text("\n".join([separator.join(("question", *"ABCD", "answer")), *lines]))
    assert read(tmp_path) == read(tmp_path / "test.csv") == (QUESTIONS, texts, LABELS)


def test_objects_with_other_letters_in_each_row_are_written(tmp_path):
    rows = records(lambda texts: {"options": dict(zip("ABC", texts, strict=True))}, answer=LETTERS)
    rows[0]["options"]["D"] = "pink"
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", rows))
    table = benchmark.with_choices(benchmark.test, [["a", "b", "c", "d"], *CHOICES[1:]], LABELS)
    write_benchmark(benchmark, {"test": table}, tmp_path / "new.jsonl")
    written = list(map(json.loads, (tmp_path / "new.jsonl").read_text().splitlines()))
    assert written == [{**rows[0], "options": {"A": "a", "B": "b", "C": "c", "D": "d"}}, *rows[1:]]


def test_a_column_of_labels_without_a_known_name_is_written_too(tmp_path):
    rows = records(lambda texts: {"options": texts}, answer=LETTERS, place=[at + 1 for at in LABELS])
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", rows))
    new = [(label + 1) % 3 for label in LABELS]
    table = benchmark.with_choices(benchmark.test, CHOICES, new)
    assert table["place"].to_pylist() == [label + 1 for label in new]


def test_letters_at_the_start_are_written_for_the_new_order(tmp_path):
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", JSON["letters at the start"]))
    table = benchmark.with_choices(benchmark.test, [["blue", "red", "pink"], *CHOICES[1:]], LABELS)
    assert table["options"][0].as_py() == ["A. blue", "B. red", "C. pink"]


def test_an_object_with_a_record_under_each_id_is_read_and_written_as_one(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps({f"q{at}": row for at, row in enumerate(LISTS)}))
    benchmark = read_benchmark(tmp_path / "rows.json")
    assert benchmark.test.rows["question_id"].to_pylist()[:2] == ["q0", "q1"]
    table = benchmark.with_choices(benchmark.test, [["new", "other"], *CHOICES[1:]], LABELS)
    write_benchmark(benchmark, {"test": table}, tmp_path / "new.json")
    written = json.loads((tmp_path / "new.json").read_text())
    assert written["q0"] == {**LISTS[0], "options": ["new", "other"]}
    assert written["q1"] == LISTS[1]


def test_a_json_file_with_a_record_per_line_is_read_and_written_as_one(tmp_path):
    path = write(tmp_path / "rows.json", LISTS)
    benchmark = read_benchmark(path)
    write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "new.json")
    assert (tmp_path / "new.json").read_text() == path.read_text()


@pytest.mark.parametrize("name", JSON)
def test_a_json_file_with_one_record_is_read_and_written_as_one(name, tmp_path):
    path, lines = write(tmp_path / "row.json", JSON[name][:1]), write(tmp_path / "row.jsonl", JSON[name][:1])
    try:
        expected = read(lines)
    except InputError as error:  # one row does not show what the labels are
        with pytest.raises(InputError, match=re.escape(str(error).removeprefix(str(lines)))):
            read(path)
        return
    assert (read(path), expected[0]) == (expected, QUESTIONS[:1])
    write_benchmark(read_benchmark(path), {"test": read_benchmark(path).test.original}, tmp_path / "new.json")
    assert (tmp_path / "new.json").read_text() == path.read_text()


@pytest.mark.parametrize("value", [{}, {"info": "", "rows": []}, {"train": LISTS, "test": LISTS}, "text"])
def test_other_json_is_refused_with_what_is_expected(value, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"expected a list of records, .*or one record, also per line"):
        read(tmp_path / "rows.json")
    (tmp_path / "rows.json").write_text("[" * 9000 + "]" * 9000)
    with pytest.raises(InputError, match="not JSON"):
        read(tmp_path / "rows.json")


def test_headers_may_have_blanks_and_columns_bars(tmp_path):
    rows = [f"{question}|{'|'.join(texts)}|{letter}"
            for question, texts, letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)]  # fmt: skip
    (tmp_path / "rows.csv").write_text("\n".join(["question| A| B| C| answer", *rows]))
    assert read(tmp_path / "rows.csv") == (QUESTIONS, CHOICES, LABELS)


def test_a_table_with_quotes_around_words_keeps_them(tmp_path):
    rows = [f'{question}\t5" pipe\t"{a}" pipe\t{b}\t{letter}'
            for question, (a, b, _), letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)]  # fmt: skip
    (tmp_path / "rows.tsv").write_text("\n".join(["question\tA\tB\tC\tanswer", *rows]))
    assert read(tmp_path / "rows.tsv")[1][0] == ['5" pipe', '"red" pipe', "blue"]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_tables_with_semicolons_and_spreadsheets_are_read_and_written(ending, tmp_path):
    frame = pd.DataFrame([{"question": row["question"], **dict(zip("ABC", row["options"], strict=True)),
                           "answer": row["answer"]} for row in LISTS])  # fmt: skip
    path, new = tmp_path / f"rows.{ending}", tmp_path / f"new.{ending}"
    frame.to_csv(path, sep=";", index=False) if ending == "csv" else frame.to_excel(path, index=False)
    assert read(path) == (QUESTIONS, CHOICES, LABELS)
    benchmark = read_benchmark(path)
    table = benchmark.with_choices(benchmark.test, [["a", "b", "c"], *CHOICES[1:]], LABELS)
    write_benchmark(benchmark, {"test": table}, new)
    assert read(new) == (QUESTIONS, [["a", "b", "c"], *CHOICES[1:]], LABELS)
    assert ending != "csv" or new.read_text().splitlines()[1] == "What is thing 0?;a;b;c;A"


def test_labels_that_are_all_yes_or_no_are_the_choices(tmp_path):
    rows = [{"question": question, "label": ["yes", "no"][at % 2]} for at, question in enumerate(QUESTIONS)]
    path = write(tmp_path / "rows.jsonl", rows)
    assert read(path) == (QUESTIONS, [["yes", "no"]] * 24, [0, 1] * 12)
    mixed = [{**row, "label": ["Yes ", "no", "yes", "No"][at % 4]} for at, row in enumerate(rows)]
    assert read(write(tmp_path / "mixed.jsonl", mixed)) == read(path)
    maybe = write(tmp_path / "more.jsonl", [*rows, {"question": "Is it?", "label": "maybe"}])
    with pytest.raises(InputError, match="fixed_choices"):
        read(maybe)
    assert read(maybe, fixed_choices=("yes", "no", "maybe"))[2][-1] == 2


def test_true_and_false_are_the_choices_unless_others_exist(tmp_path):
    rows = [{"question": question, "answer": at % 2 == 0} for at, question in enumerate(QUESTIONS)]
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, [["True", "False"]] * 24, [0, 1] * 12)
    with pytest.raises(InputError, match="answer is True"):
        read(write(tmp_path / "more.jsonl", [{**row, "A": "red", "B": "blue"} for row in rows]))


def test_a_column_of_verdicts_is_no_label_next_to_choices(tmp_path):
    rows = [{**row, "correct": ["yes", "no"][at % 2]} for at, row in enumerate(LISTS)]
    path = write(tmp_path / "rows.jsonl", [{**rows[0], "answer": "Z"}, *rows[1:]])
    assert read(path, skip_faulty=True) == (QUESTIONS[1:], CHOICES[1:], LABELS[1:])


@pytest.mark.parametrize("choices", [["1:30", "2:45", "3:15"], ["1: 2", "2: 3", "3: 4"], ["1.5", "2.5", "3.5"]])
def test_numbers_that_are_values_are_kept(choices, tmp_path):
    rows = [{"question": question, "options": choices, "answer": letter}
            for question, letter in zip(QUESTIONS, LETTERS, strict=True)]  # fmt: skip
    assert read(write(tmp_path / "rows.jsonl", rows))[1] == [choices] * 24


def test_human_answers_are_no_choices(tmp_path):
    rows = [{"question": question, "answer": a, "answers": [a, a, b]}
            for question, (a, b, _) in zip(QUESTIONS, CHOICES, strict=True)]  # fmt: skip
    with pytest.raises(InputError, match="answers may hold human answers; if these are the choices, add"):
        read(write(tmp_path / "rows.jsonl", rows))


def test_a_prompt_that_repeats_the_choices_is_read_but_not_left_with_old_ones(tmp_path):
    rows = [{**row, "query": f"{row['question']}\nChoices:\n(A) {a}\n(B) {b}\n(C) {c}"}
            for row, (a, b, c) in zip(LISTS, CHOICES, strict=True)]  # fmt: skip
    path = write(tmp_path / "rows.jsonl", rows)
    benchmark = read_benchmark(path)
    assert read(path) == (QUESTIONS, CHOICES, LABELS)
    with pytest.raises(InputError, match=r"query repeats the choices of options.*--choices options"):
        benchmark.with_choices(benchmark.test, [["a", "b"], *CHOICES[1:]], LABELS)


def test_columns_that_repeat_a_list_of_choices_are_not_left_with_old_ones(tmp_path):
    rows = [{**row, **dict(zip("ABC", row["options"], strict=True))} for row in LISTS]
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", rows))
    assert benchmark.test.rows["choices"].to_pylist() == CHOICES
    with pytest.raises(InputError, match=r"A to C repeats the choices of options.*--choices options"):
        benchmark.with_choices(benchmark.test, [["a", "b"], *CHOICES[1:]], LABELS)


def test_labels_may_end_with_blanks_and_have_other_case(tmp_path):
    rows = records(lambda texts: {"choice": texts}, answer=[f"{texts[0].title()} " for texts in CHOICES])
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, CHOICES, [0] * 24)


HINTS = {
    "choices in a text": ([{**one, "options": ",".join(one["options"])} for one in LISTS], "expected a list such as"),
    "fixed choices": ([{"question": f"{at}?", "label": at % 2} for at in range(9)], "fixed_choices no,yes if these"),
    "decoys with the target in a list as text": (
        [
            {"question": f"{at}?", "distractors": repr(["red", "blue"]), "correct_answer": "pink" if at else "red"}
            for at in range(9)
        ],
        "no choices recognised",
    ),
    "several questions per record": (
        [{"images": at, "qa_pairs": [{"question": "Which?", "answer": "A"}]} for at in range(3)],
        r"several questions \(qa_pairs\), write one record per question",
    ),
    "no question": ([{"caption": f"a {at}", "foil": f"b {at}"} for at in range(9)], "add a column question"),
    "two columns of choices": (
        [{**one, "choices": one["options"][::-1]} for one in LISTS],
        "add choices choices, or choices options",
    ),
    "a prompt in another order": (
        [{**one, "prompt": "Which?\nA. {2}\nB. {1}\nC. {0}".format(*one["options"])} for one in LISTS],
        "prompt has the choices in another order; add",
    ),
    "a row without a split": (
        [{**one, "split": "test" if at else None} for at, one in enumerate(LISTS)],
        "row 1: split",
    ),
    "lists of tokens": (
        [{**one, "options": [["a", [0]], ["a", "dog"]]} for one in LISTS],
        "row 1: options is .* a list",
    ),
}


@pytest.mark.parametrize("name", HINTS)
def test_a_layout_that_is_not_read_is_refused_with_what_to_write(name, tmp_path):
    rows, message = HINTS[name]
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "rows.jsonl", rows))


def test_a_text_named_as_the_choices_is_no_decoy(tmp_path):
    rows = [{"question": question, "choices": ",".join(texts), "answer": texts[0]}
            for question, texts in zip(QUESTIONS, CHOICES, strict=True)]  # fmt: skip
    with pytest.raises(InputError, match="expected a list of texts"):
        read(write(tmp_path / "rows.jsonl", rows), choices=("choices",))


def test_objects_with_a_key_per_choice_are_refused_at_once(tmp_path):
    rows = [{"input": f"{row}?", "target_scores": {f"{row} {at}": at for at in range(4)}} for row in range(400)]
    with pytest.raises(InputError, match="among the columns 'input', 'target_scores'; expected"):
        read(write(tmp_path / "rows.jsonl", rows))


def test_several_sheets_with_rows_are_refused(tmp_path):
    with pd.ExcelWriter(tmp_path / "rows.xlsx") as writer:
        for name in ("train", "test"):
            pd.DataFrame(LISTS).to_excel(writer, sheet_name=name, index=False)
    with pytest.raises(InputError, match="the sheets train, test have rows; save the one to read"):
        read(tmp_path / "rows.xlsx")


def test_texts_that_begin_with_an_equals_sign_are_no_formulas_in_xlsx(tmp_path):
    cells = {"question": ["=1+1", "a"], "tags": [["=x"], ["y"]]}
    (tmp_path / "rows.xlsx").write_bytes(file_content(Path("a.xlsx"), pa.table(cells), Path("rows.xlsx")))
    found = read_xlsx(tmp_path / "rows.xlsx").to_dict("list")
    assert found == {"question": ["=1+1", "a"], "tags": ['["=x"]', '["y"]']}


def test_a_label_that_two_choices_equal_but_for_case_is_unknown(tmp_path):
    rows = records(lambda texts: {"options": texts}, answer=[texts[0] for texts in CHOICES])
    rows[0] |= {"options": ["RED", "red", "tan"], "answer": "Red"}
    rows[1] |= {"options": ["ONE", "one", "two"], "answer": "one"}
    found = read_benchmark(write(tmp_path / "rows.jsonl", rows), skip_faulty=True).test
    assert found.rows["choices"].to_pylist() == [["ONE", "one", "two"], *CHOICES[2:]]
    assert found.rows["label"].to_pylist() == [1, *[0] * 22]


@pytest.mark.parametrize("columns", [{}, {"choices": ("caption", "foil")}, {"choices": ("foil",)}])
def test_the_correct_choice_may_be_a_column_of_choices(columns, tmp_path):
    rows = [{"question": "Which fits?", "caption": f"a {at}", "foil": f"b {at}"} for at in range(9)]
    label = {"label": "caption"} if columns else {}
    found = read(write(tmp_path / "rows.jsonl", rows), **columns, **label)
    assert found[1:] == ([[f"a {at}", f"b {at}"] for at in range(9)], [0] * 9)


FAULTY = {
    "several labels": (records(lambda t: {"options": t}, label=[["A", "C"], *[[x] for x in LETTERS[1:]]]), "several"),
    "several marks": (
        records(lambda t: {"options": t}, label=[[1, 0, 1], *[[int(at == x) for at in range(3)] for x in LABELS[1:]]]),
        "several",
    ),
    "no list": (
        [{**one, "options": str(one["options"]) if at else "[['A', 'B']]"} for at, one in enumerate(LISTS)],
        "expected a list of choices",
    ),
    "an unknown label": ([{**LISTS[0], "answer": "Z"}, *LISTS[1:]], "answer is 'Z'"),
    "no label": ([{**LISTS[0], "answer": None}, *LISTS[1:]], "answer is None"),
    "one choice": ([{**LISTS[0], "options": ["red"]}, *LISTS[1:]], "1 choice"),
    "no question": ([{**LISTS[0], "question": None}, *LISTS[1:]], "question is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_row_that_cannot_be_read_is_an_error_or_left_out(name, tmp_path):
    rows, message = FAULTY[name]
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(InputError, match=rf"row 1: .*{message}.* 1 of 24 rows.*skip_faulty"):
        read_benchmark(path)
    benchmark = read_benchmark(path, skip_faulty=True)
    assert benchmark.test.rows["question"].to_pylist() == QUESTIONS[1:]
    assert benchmark.test.rows["choices"].to_pylist() == CHOICES[1:]
    assert benchmark.test.rows["label"].to_pylist() == LABELS[1:]
    (fault,) = benchmark.test.faulty
    assert (fault.row, message in fault.message) == (0, True)
    assert "1 of 24 rows cannot be read" in benchmark.notes[0]


def test_a_table_without_a_header_is_refused_with_what_to_add(tmp_path):
    rows = [f"{question},{','.join(texts)},{letter}"
            for question, texts, letter in zip(QUESTIONS, CHOICES, LETTERS, strict=True)]  # fmt: skip
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    with pytest.raises(InputError, match="add a header such as question,A,B,C,D,answer"):
        read(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    "more", [{"distractors": ["a", "b"], "caption": "a photo of it"}, {"response": "red", "correct": "yes"}]
)
def test_a_caption_of_an_image_and_a_verdict_on_an_answer_are_no_targets(more, tmp_path):
    rows = [{"question": question, **more} for question in QUESTIONS]
    rows[0] |= {"correct": "no"} if "correct" in more else {}
    with pytest.raises(InputError, match="no choices recognised among the columns"):
        read(write(tmp_path / "rows.jsonl", rows))


def test_one_fixed_choice_is_refused(tmp_path):
    with pytest.raises(InputError, match="two or more different choices"):
        read(write(tmp_path / "rows.jsonl", LISTS), fixed_choices=("yes",))


def test_a_label_of_letters_is_not_one_of_the_choices(tmp_path):
    rows = [{**dict(zip("ABC", row["options"], strict=True)), **row} for row in LISTS]
    with pytest.raises(InputError, match="leave it out of choices"):
        read(write(tmp_path / "rows.jsonl", rows), choices=("A", "B", "C", "answer"), label="answer")


def test_a_label_of_an_empty_choice_says_so(tmp_path):
    rows = [{**LISTS[0], "options": ["red", "", "green"], "answer": "B"}, *LISTS[1:]]
    with pytest.raises(InputError, match="row 1: answer is 'B', but this choice is empty"):
        read(write(tmp_path / "rows.jsonl", rows))


def test_columns_named_for_choices_that_hold_none_are_named(tmp_path):
    rows = [{**row, "A": "red"} for row in LISTS]
    with pytest.raises(InputError, match="choices=A: expected a column of lists of choices"):
        read(write(tmp_path / "rows.jsonl", rows), choices=("A",))


def test_labels_are_no_questions(tmp_path):
    with pytest.raises(InputError, match="question=answer: holds choices or labels"):
        read(write(tmp_path / "rows.jsonl", LISTS), question="answer")
