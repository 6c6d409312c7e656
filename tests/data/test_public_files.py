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
TARGETS = [texts[label] for texts, label in zip(CHOICES, LABELS, strict=True)]
EACH = list(zip(QUESTIONS, CHOICES, LABELS, LETTERS, strict=True))


def rows_of(record):
    """A record of each question, its choices, label and letter."""
    return [record(*each) for each in EACH]


def with_choices(choices, label="answer"):
    """Records with these columns of choices and a column of letters."""
    return lambda q, t, n, a: {"question": q, **choices(t), label: a}


def from_0(choices, label="label"):
    return lambda q, t, n, a: {"question": q, **choices(t), label: n}


def from_1(choices, label="answer"):
    return lambda q, t, n, a: {"question": q, **choices(t), label: n + 1}


def by_text(name):
    return lambda q, t, n, a: {"question": q, name: t, "answer": t[n]}


def listed(option, join=list, name="options"):
    """A column of choices, each with its letter."""
    return lambda t: {name: join(option.format(letter, text) for letter, text in zip("ABC", t, strict=True))}


def columns(*names):
    return lambda t: dict(zip(names, t, strict=True))


def named(t):
    return [{"label": letter, "text": text} for letter, text in zip("ABC", t, strict=True)]


def in_lists(t):
    return {"text": t, "label": list("ABC")}


def turns(who, says, q, a, *before):
    return [{who: before[0], says: q}, {who: before[1], says: a}]


LISTS = rows_of(with_choices(lambda t: {"options": t}))
LAYOUTS = {
    "columns without one letter": lambda q, t, n, a: {
        "question": q, **dict(zip("ABD", t, strict=True)), "answer": "ABD"[n]},
    "letters at the start": with_choices(listed("{}. {}")),
    "records as choices": with_choices(lambda t: {"choices": named(t)}, "answerKey"),
    "records within the question": lambda q, t, n, a: {"question": {"stem": q, "choices": named(t)}, "answerKey": a},
    "numpy's lists": with_choices(lambda t: {"options": f"[{' '.join(map(repr, t))}]"}),
    "records as text": with_choices(lambda t: {"choices": str(named(t))}, "answerKey"),
    "lists in a record as text": with_choices(lambda t: {"choices": str(in_lists(t))}, "answerKey"),
    "arrays in a record as text": with_choices(
        lambda t: {"choices": str({name: np.array(cells, object) for name, cells in in_lists(t).items()})}, "answerKey"
    ),
    "an array of records as text": with_choices(lambda t: {"choices": str(np.array(named(t)))}, "answerKey"),
    "numpy's texts in a list": with_choices(lambda t: {"options": str(list(np.array(t)))}),
    "lists of one label": lambda q, t, n, a: {"question": q, "options": t, "label": [a]},
    "options on one line in a conversation": lambda q, t, n, a: {
        "conversations": turns("from", "value", "{}\nOptions: (A) {} (B) {} (C) {}\nAnswer.".format(q, *t), a,
                               "human", "gpt")
    },
    "ctx and endings": lambda q, t, n, a: {"ctx": q, "endings": t, "label": n},
    "choice and the answer's text": by_text("choice"),
    "a0 to a2": from_0(columns("a0", "a1", "a2"), "answer"),
    "option#1 to option#3": from_1(columns("option#1", "option#2", "option#3")),
    "numbers at the start": lambda q, t, n, a: {
        "question": q, "options": [f"({at}) {text}" for at, text in enumerate(t, 1)], "answer_text": str(n + 1)
    },
    "sol1 to sol3": lambda q, t, n, a: {"goal": q, **columns("sol1", "sol2", "sol3")(t), "label": n},
    "opa to opc": from_0(columns("opa", "opb", "opc"), "cop"),
    "mc_answer1 to mc_answer3": from_1(columns("mc_answer1", "mc_answer2", "mc_answer3"), "correct_answer_num"),
    "answers as choices": from_0(lambda t: {"answers": t}, "correct_answer_id"),
    "marked choices": lambda q, t, n, a: {
        "question": q, "x": 1, "mc1_targets": {"choices": t, "labels": [int(at == n) for at in range(3)]}
    },
    "records with choice_id": lambda q, t, n, a: {
        "question": q, "choices": [{"choice_id": at, "choice": text} for at, text in enumerate(t)], "answer": t[n]
    },
    "an object with numbers as keys": lambda q, t, n, a: {
        "question": q, "options": {str(at): text for at, text in enumerate(t, 1)}, "answer": str(n + 1)
    },
    "chat messages": lambda q, t, n, a: {
        "messages": turns("role", "content", "{}\nA. {}\nB. {}\nC. {}".format(q, *t), a, "user", "assistant")
    },
    "options with a blank before the bracket": lambda q, t, n, a: {
        "question": q, "options": "a ) {} , b ) {} , c ) {}".format(*t), "correct": a.lower()
    },
    "options on one line": with_choices(listed("{}. {}", " ".join)),
    "a word before the letter": lambda q, t, n, a: {"question": q, "options": t, "answer": f"Option {a}"},
    "records with marks and no label": lambda q, t, n, a: {
        "question": q, "answers": [{"text": text, "correct": int(text == t[n])} for text in t]
    },
    "options/0 to options/2": with_choices(columns("options/0", "options/1", "options/2")),
    "records of lists as text": with_choices(lambda t: {"choices": repr(in_lists(t))}, "answerKey"),
    "records as JSON text": with_choices(lambda t: {"choices": json.dumps(named(t))}, "answerKey"),
    "records of arrays as pandas writes them": with_choices(
        lambda t: {"choices": f"{{'text': array({t},\n dtype=object), 'label': array({list('ABC')}, dtype=object)}}"},
        "answerKey",
    ),
    "arrays of records as pandas writes them": with_choices(
        lambda t: {"choices": f"[{' '.join(map(repr, named(t)))}]"}, "answerKey"
    ),
    "letters and blanks around choices": with_choices(
        lambda t: {f"Choice {name}": f" {name}:{text} " for name, text in zip("ABC", t, strict=True)}
    ),
    "letters after a word": with_choices(listed("Option {}: {}")),
    "bold letters": with_choices(listed("**{}.** {}")),
    "letters and a tab": with_choices(listed("{}\t{}")),
    "records with marks of any name": lambda q, t, n, a: {
        "question": q, "choices": [{"body": text, "gold": text == t[n]} for text in t]
    },
    "options after a heading without brackets": lambda q, t, n, a: {
        "question": "{} Options: A. {} B. {} C. {}".format(q, *t), "answer": a
    },
    "options over several lines": lambda q, t, n, a: {
        "question": "{}\nOptions: A: {}\nx, B: {}\nx, C: {}\nx".format(q, *t), "answer": a
    },
}  # fmt: skip
JSON = {name: rows_of(record) for name, record in LAYOUTS.items()}


def read(path, **options):
    split = read_benchmark(path, **options).test
    return split.rows["question"].to_pylist(), split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rewritten(path, new, choices, labels):
    """The file with the first choices and labels replaced, read again."""
    benchmark = read_benchmark(path)
    rows = benchmark.test.rows
    choices = [*choices, *rows["choices"].to_pylist()[len(choices) :]]
    labels = [*labels, *rows["label"].to_pylist()[len(labels) :]]
    write_benchmark(benchmark, {"test": benchmark.with_choices(benchmark.test, choices, labels)}, new)
    assert read(new) == (rows["question"].to_pylist(), choices, labels)
    return new


@pytest.mark.parametrize("name", JSON)
def test_a_layout_is_read_and_written_back(name, tmp_path):
    path = write(tmp_path / "rows.jsonl", JSON[name])
    choices = [[f"{text}\nx" for text in texts] for texts in CHOICES] if "lines" in name else CHOICES
    assert read(path) == (QUESTIONS, choices, LABELS)
    new = rewritten(path, tmp_path / "new.jsonl", [["new", "other", "third"]], [2])
    before, after = (list(map(json.loads, one.read_text().splitlines())) for one in (path, new))
    assert before[1:] == after[1:]


ORDERS = [[2, 0, 1], [1, 2, 0], [0, 1, 2]] * 8
SHUFFLED = {
    "in a list": lambda texts: {"options": [f"{name}. {text}" for name, text in texts]},
    "in columns": lambda texts: {f"option{at}": f"{name}. {text}" for at, (name, text) in enumerate(texts)},
    "in records": lambda texts: {"choices": [{"label": name, "text": text} for name, text in texts]},
    "in two lists": lambda texts: {"choices": dict(zip(("label", "text"), map(list, zip(*texts, strict=True)),
                                                       strict=True))},
}  # fmt: skip


@pytest.mark.parametrize("name", SHUFFLED)
def test_letters_name_the_choices_in_any_order(name, tmp_path):
    rows = [
        {"question": question, **SHUFFLED[name]([("ABC"[at], texts[at]) for at in order]), "answerKey": letter}
        for (question, texts, _, letter), order in zip(EACH, ORDERS, strict=True)
    ]
    expected = [[texts[at] for at in order] for texts, order in zip(CHOICES, ORDERS, strict=True)]
    path = write(tmp_path / "rows.jsonl", rows)
    assert read(path) == (QUESTIONS, expected, [order.index(n) for order, n in zip(ORDERS, LABELS, strict=True)])
    rewritten(path, tmp_path / "new.jsonl", [["x", "y", "z"]], [1])


def changed(rows, *first):
    """The rows with some fields of the first ones changed."""
    return [{**row, **(first[at] if at < len(first) else {})} for at, row in enumerate(rows)]


def lettered(*texts):
    return listed("{}. {}")(texts)


def padded(mark):
    return rows_of(with_choices(lambda t: {"options": [*t, mark if "red" in t else "pink"]}))


LATEX = [r"$\theta$", r"$\frac{1}{2} \times \beta$", r"$\nu \neq \xi$"]
IN_LATEX = ", ".join(f'"{text}"' for text in LATEX)
ESCAPED = ["a\nb", "c\td", r"\theta"]
READ = {
    "letters in a few rows": (
        [{**one, **lettered(*one["options"])} if at % 3 == 0 else one for at, one in enumerate(LISTS)], CHOICES),
    "initials in one row": (changed(LISTS, lettered("Lee", "Day", "Ito")), [["A. Lee", "B. Day", "C. Ito"]]),
    "letters lose one mark": (
        rows_of(with_choices(lambda t: {"options": [f"A){t[0]}", "B).5", "C.) -2"]})), [["red", ".5", "-2"]]),
    "what pads rows is no choice": (
        changed(rows_of(with_choices(lambda t: {"options": [*t, "N/A", "N/A"]})), {},
                {"options": ["one", "two", "six", "None", "N/A"]}, {"options": ["up", "N/A", "left", "down", "nan"]}),
        [CHOICES[0], ["one", "two", "six", "None"], ["up", "N/A", "left", "down", "nan"], *CHOICES[3:]]),
    **{f"{mark} pads many rows": (
        padded(mark), [texts if "red" in texts else [*texts, "pink"] for texts in CHOICES])
       for mark in ("N/A", "nan", "null")},
    "N/A in rows of different length": (
        rows_of(with_choices(lambda t: {"options": [*t, "N/A"] if "red" in t else t})),
        [[*texts, "N/A"] if "red" in texts else texts for texts in CHOICES]),
    **{f"LaTeX in {form}": (
        changed(rows_of(with_choices(lambda t, form=form: {"options": form.format(IN_LATEX)})), {},
                {"options": json.dumps(ESCAPED)}), [["x", *LATEX] if "x" in form else LATEX, ESCAPED])
       for form in ("[{}]", "['x', {}]")},
    "numbers and missing values in lists as text": (
        [{**one, "answer": "A"} for one in changed(
            [{**one, "options": "['x' None 'y']"} for one in LISTS],
            {"options": "[10  -2.5 None]"}, {"options": "['one', 'nan, two', nan]"})],
        [["10", "-2.5"], ["one", "nan, two"], ["x", "", "y"]]),
    **{f"{mark} without a blank in lines": (
        rows_of(lambda q, t, n, a, mark=mark: {
            "question": "\n".join([q, "Choices:", *listed("{}" + mark + "{}")(t)["options"]]), "answer": a}), CHOICES)
       for mark in ":.)．、"},  # noqa: RUF001
    **{f"{mark} without a blank in lists": (rows_of(with_choices(listed("{}" + mark + "{}"))), CHOICES)
       for mark in ":.)．、"},  # noqa: RUF001
    **{f"values {texts[0]}": (rows_of(with_choices(lambda t, texts=texts: {"options": texts})), [texts] * 24)
       for texts in (["1:30", "2:45", "3:15"], ["1: 2", "2: 3", "3: 4"], ["1.5", "2.5", "3.5"])},
    **{f"decoys between semicolons that end with {end!r}": (
        rows_of(lambda q, t, n, a, end=end: {
            "Question": q, "Best Answer": t[0], "Incorrect Answers": f"{t[1]}{end}; {t[2]};"}),
        [[first, second + end, third] for first, second, third in CHOICES])
       for end in ("", " &amp; co", "&#39;s &lt;b&gt;", " AT&T")},
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_choices_are_read_as_they_are(name, tmp_path):
    rows, expected = READ[name]
    assert read(write(tmp_path / "rows.jsonl", rows))[1][: len(expected)] == expected


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
    rows = [{**more, name: f"{more[name]} {q}", "options": texts, "answer": letter} for q, texts, _, letter in EACH]
    assert read(write(tmp_path / "rows.jsonl", rows))[0] == [row[name] for row in rows]


@pytest.mark.parametrize(
    ("cell", "reason"), [("", "no row has choices"), ("so", "row 1: choices is 'so', expected records")]
)
def test_a_split_without_the_records_of_the_others_is_left_out(cell, reason, tmp_path):
    rows = [{**row, "split": "dev"} for row in JSON["lists in a record as text"]]
    write(tmp_path / "rows.jsonl", [*rows, *({**row, "choices": cell, "split": "test"} for row in rows)])
    assert reason in read_benchmark(tmp_path / "rows.jsonl", split="dev").left_out["test"]


def test_marks_of_the_correct_choice_are_labels_and_are_written(tmp_path):
    marks = [[int(at == label) for at in range(3)] for label in LABELS]
    path = write(tmp_path / "rows.jsonl", rows_of(lambda q, t, n, a: {"question": q, "options": t, "label": marks[n]}))
    benchmark = read_benchmark(path)
    assert benchmark.test.rows["label"].to_pylist() == LABELS
    table = benchmark.with_choices(benchmark.test, CHOICES, [1, *LABELS[1:]])
    assert table["label"].to_pylist() == [[0, 1, 0], *marks[1:]]


def test_a_json_file_of_columns_as_pandas_writes_it(tmp_path):
    pd.DataFrame(LISTS).to_json(tmp_path / "rows.json")
    assert read(tmp_path / "rows.json") == (QUESTIONS, CHOICES, LABELS)
    rewritten(tmp_path / "rows.json", tmp_path / "new.json", [], [])
    assert json.loads((tmp_path / "new.json").read_text()) == json.loads((tmp_path / "rows.json").read_text())


@pytest.mark.parametrize(
    ("line", "header", "form", "first"),
    [
        ('{0}\t"{1}\t{2}\t{3}\t{4}', "question\tA\tB\tC\tanswer", "tsv", ['"red', "blue", "green"]),
        ('{0}\t5" pipe\t"{1}" pipe\t{2}\t{4}', "question\tA\tB\tC\tanswer", "tsv", ['5" pipe', '"red" pipe', "blue"]),
        ("{}|{}|{}|{}|{}", "question| A| B| C| answer", "csv", ["red", "blue", "green"]),
    ],
)
def test_tables_keep_quotes_that_quote_nothing_and_may_have_bars(line, header, form, first, tmp_path):
    lines = [line.format(question, *texts, letter) for question, texts, _, letter in EACH]
    (tmp_path / f"rows.{form}").write_text("\n".join([header, *lines]))
    found = read(tmp_path / f"rows.{form}")
    assert (found[0], found[1][0]) == (QUESTIONS, first)


def test_a_folder_that_cannot_be_read_names_its_files(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps({f"q{at}": row for at, row in enumerate(LISTS)}))
    (tmp_path / "more.json").write_text(json.dumps({"train": ["q0"], "test": ["q1"]}))
    with pytest.raises(InputError, match=r"one of its files alone: more\.json, rows\.json"):
        read(tmp_path)


def test_ids_that_repeat_for_each_video_are_joined_with_its_id(tmp_path):
    rows = [{**row, "video": f"v{at // 3}", "qid": at % 3} for at, row in enumerate(LISTS)]
    benchmark = read_benchmark(write(tmp_path / "rows.jsonl", rows))
    assert benchmark.test.rows["question_id"].to_pylist()[:4] == ["v0_0", "v0_1", "v0_2", "v1_0"]


def test_a_query_next_to_a_sentence_is_no_question_and_choices_named_answers_are_no_human_answers(tmp_path):
    rows = [{"sentence": question, "query": "acorns", "label": str(n == 0)} for question, _, n, _ in EACH]
    assert read(write(tmp_path / "rows.jsonl", rows))[0] == QUESTIONS
    path = write(tmp_path / "answers.jsonl", rows_of(from_0(lambda t: {"answers": t})))
    assert read_benchmark(path).test.rows["answers"].to_pylist() == [[]] * 24


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_csv_in_a_folder_is_read_as_alone(separator, tmp_path):
    texts = [["007", "1.50", "None", "TRUE"], ["1e3", "NA", "null", "2"]] * 12
    lines = [separator.join((each[0], *row, each[3])) for each, row in zip(EACH, texts, strict=True)]
    (tmp_path / "test.csv").write_text("\n".join([separator.join(("question", *"ABCD", "answer")), *lines]))
    assert read(tmp_path) == read(tmp_path / "test.csv") == (QUESTIONS, texts, LABELS)


def test_objects_with_other_letters_in_each_row_are_written(tmp_path):
    rows = rows_of(with_choices(lambda t: {"options": dict(zip("ABC", t, strict=True))}))
    rows[0]["options"]["D"] = "pink"
    new = rewritten(write(tmp_path / "rows.jsonl", rows), tmp_path / "new.jsonl", [["a", "b", "c", "d"]], [])
    written = list(map(json.loads, new.read_text().splitlines()))
    assert written == [{**rows[0], "options": {"A": "a", "B": "b", "C": "c", "D": "d"}}, *rows[1:]]


def test_a_column_of_labels_without_a_known_name_is_written_too(tmp_path):
    rows = [{**row, "place": label + 1} for row, label in zip(LISTS, LABELS, strict=True)]
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
    new = rewritten(tmp_path / "rows.json", tmp_path / "new.json", [["new", "other"]], [])
    assert read_benchmark(new).test.rows["question_id"].to_pylist()[:2] == ["q0", "q1"]
    written = json.loads(new.read_text())
    assert (written["q0"], written["q1"]) == ({**LISTS[0], "options": ["new", "other"]}, LISTS[1])


def test_a_json_file_with_a_record_per_line_is_read_and_written_as_one(tmp_path):
    path = write(tmp_path / "rows.json", LISTS)
    assert rewritten(path, tmp_path / "new.json", [], []).read_text() == path.read_text()


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
    assert rewritten(path, tmp_path / "new.json", [], []).read_text() == path.read_text()


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_tables_with_semicolons_and_spreadsheets_are_read_and_written(ending, tmp_path):
    frame = pd.DataFrame(rows_of(with_choices(columns("A", "B", "C"))))
    path, new = tmp_path / f"rows.{ending}", tmp_path / f"new.{ending}"
    frame.to_csv(path, sep=";", index=False) if ending == "csv" else frame.to_excel(path, index=False)
    assert read(path) == (QUESTIONS, CHOICES, LABELS)
    rewritten(path, new, [["a", "b", "c"]], [])
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
    rows = [{**row, "correct": ["yes", "no"][at % 2]} for at, row in enumerate(changed(LISTS, {"answer": "Z"}))]
    path = write(tmp_path / "rows.jsonl", rows)
    assert read(path, skip_faulty=True) == (QUESTIONS[1:], CHOICES[1:], LABELS[1:])


@pytest.mark.parametrize(
    ("more", "repeated"),
    [
        (
            lambda row: {"query": "{}\nChoices:\n(A) {}\n(B) {}\n(C) {}".format(row["question"], *row["options"])},
            "query",
        ),
        (lambda row: columns("A", "B", "C")(row["options"]), "A to C"),
    ],
)
def test_columns_that_repeat_the_choices_are_read_but_not_left_with_old_ones(more, repeated, tmp_path):
    path = write(tmp_path / "rows.jsonl", [{**row, **more(row)} for row in LISTS])
    assert read(path) == (QUESTIONS, CHOICES, LABELS)
    benchmark = read_benchmark(path)
    with pytest.raises(InputError, match=rf"{repeated} repeats the choices of options.*--choices options"):
        benchmark.with_choices(benchmark.test, [["a", "b"], *CHOICES[1:]], LABELS)


def test_labels_may_end_with_blanks_and_have_other_case(tmp_path):
    rows = rows_of(lambda q, t, n, a: {"question": q, "choice": t, "answer": f"{t[0].title()} "})
    assert read(write(tmp_path / "rows.jsonl", rows)) == (QUESTIONS, CHOICES, [0] * 24)


def test_a_label_that_two_choices_equal_but_for_case_is_unknown(tmp_path):
    rows = rows_of(lambda q, t, n, a: {"question": q, "options": t, "answer": t[0]})
    rows = changed(rows, {"options": ["RED", "red", "tan"], "answer": "Red"},
                   {"options": ["ONE", "one", "two"], "answer": "one"})  # fmt: skip
    found = read(write(tmp_path / "rows.jsonl", rows), skip_faulty=True)
    assert found[1:] == ([["ONE", "one", "two"], *CHOICES[2:]], [1, *[0] * 22])


@pytest.mark.parametrize("options", [{}, {"choices": ("caption", "foil")}, {"choices": ("foil",)}])
def test_the_correct_choice_may_be_a_column_of_choices(options, tmp_path):
    rows = [{"question": "Which fits?", "caption": f"a {at}", "foil": f"b {at}"} for at in range(9)]
    found = read(write(tmp_path / "rows.jsonl", rows), **options, **({"label": "caption"} if options else {}))
    assert found[1:] == ([[f"a {at}", f"b {at}"] for at in range(9)], [0] * 9)


CAPTIONED = rows_of(lambda q, t, n, a: {"question": q, "distractors": ["a", "b"], "caption": "a photo of it"})
VERDICTS = rows_of(lambda q, t, n, a: {"question": q, "response": "red", "correct": "yes" if n else "no"})
AS_TEXT = rows_of(lambda q, t, n, a: {"question": q, "choices": ",".join(t), "answer": t[0]})
HUMAN = rows_of(lambda q, t, n, a: {"question": q, "answer": t[0], "answers": [t[0], t[0], t[1]]})
REFUSED = {
    "choices in a text": ([{**one, "options": ",".join(one["options"])} for one in LISTS], {}, "expected a list such"),
    "one choice with entities": (
        rows_of(with_choices(lambda t: {"options": f"{t[0]} &amp; co;"})), {},
        "options is 'red &amp; co;', expected a list such as"),
    "lists of lists as text": (
        rows_of(with_choices(lambda t: {"choices": str([[text, [0]] for text in t])})), {},
        r"no row has choices: row 1: choices is .*'red', .*; expected a list of choices"),
    "fixed choices": ([{"question": f"{at}?", "label": at % 2} for at in range(9)], {}, "fixed_choices no,yes if"),
    "decoys with the target in a list as text": (
        [{"question": f"{at}?", "distractors": "['red', 'blue']", "correct_answer": "pink" if at else "red"}
         for at in range(9)], {}, "no choices recognised"),
    "several questions per record": (
        [{"images": at, "qa_pairs": [{"question": "Which?", "answer": "A"}]} for at in range(3)], {},
        r"several questions \(qa_pairs\), write one record per question"),
    "several questions per record in objects": (
        [{key: {"question": "Which?", "options": ["red", "blue"], "answer": "A"} for key in ("q0", "q1")}] * 3, {},
        "several questions per record"),
    "no question": ([{"caption": f"a {at}", "foil": f"b {at}"} for at in range(9)], {}, "add a column question"),
    "two columns of choices": (
        [{**one, "choices": one["options"][::-1]} for one in LISTS], {}, "add choices choices, or choices options"),
    "a prompt in another order": (
        [{**one, "prompt": "Which?\nA. {2}\nB. {1}\nC. {0}".format(*one["options"])} for one in LISTS], {},
        "prompt has the choices in another order; add"),
    "a row without a split": (
        [{**one, "split": "test" if at else None} for at, one in enumerate(LISTS)], {}, "row 1: split"),
    "lists of tokens": (
        [{**one, "options": [["a", [0]], ["a", "dog"]]} for one in LISTS], {}, "row 1: options is .* a list"),
    "human answers": (HUMAN, {}, "answers may hold human answers; if these are the choices, add"),
    "a text named as the choices": (AS_TEXT, {"choices": ("choices",)}, "expected a list of texts"),
    "objects with a key per choice": (
        [{"input": f"{row}?", "target_scores": {f"{row} {at}": at for at in range(4)}} for row in range(400)], {},
        "among the columns 'input', 'target_scores'; expected"),
    "a caption of an image": (CAPTIONED, {}, "no choices recognised among the columns"),
    "a verdict on an answer": (VERDICTS, {}, "no choices recognised among the columns"),
    "one fixed choice": (LISTS, {"fixed_choices": ("yes",)}, "two or more different choices"),
    "letters among the choices": (
        [{**columns("A", "B", "C")(row["options"]), **row} for row in LISTS],
        {"choices": ("A", "B", "C", "answer"), "label": "answer"}, "leave it out of choices"),
    "a label of an empty choice": (
        changed(LISTS, {"options": ["red", "", "green"], "answer": "B"}), {},
        "row 1: answer is 'B', but this choice is empty"),
    "a column that holds no choices": (
        [{**row, "A": "red"} for row in LISTS], {"choices": ("A",)}, "choices=A: expected a column of lists"),
    "labels as questions": (LISTS, {"question": "answer"}, "question=answer: holds choices or labels"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_with_what_to_write(name, tmp_path):
    rows, options, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "rows.jsonl", rows), **options)


@pytest.mark.parametrize("value", [{}, {"info": "", "rows": []}, {"train": LISTS, "test": LISTS}, "text"])
def test_other_json_is_refused_with_what_is_expected(value, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"expected a list of records, .*or one record, also per line"):
        read(tmp_path / "rows.json")


def test_several_sheets_with_rows_and_a_table_without_a_header_are_refused(tmp_path):
    with pd.ExcelWriter(tmp_path / "rows.xlsx") as writer:
        for name in ("train", "test"):
            pd.DataFrame(LISTS).to_excel(writer, sheet_name=name, index=False)
    with pytest.raises(InputError, match="the sheets train, test have rows; save the one to read"):
        read(tmp_path / "rows.xlsx")
    lines = [",".join((question, *texts, letter)) for question, texts, _, letter in EACH]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match="add a header such as question,A,B,C,D,answer"):
        read(tmp_path / "rows.csv")


def test_texts_that_begin_with_an_equals_sign_are_no_formulas_in_xlsx(tmp_path):
    cells = {"question": ["=1+1", "a"], "tags": [["=x"], ["y"]]}
    (tmp_path / "rows.xlsx").write_bytes(file_content(Path("a.xlsx"), pa.table(cells), Path("rows.xlsx")))
    found = read_xlsx(tmp_path / "rows.xlsx").to_dict("list")
    assert found == {"question": ["=1+1", "a"], "tags": ['["=x"]', '["y"]']}


FAULTY = {
    "several labels": ([{**one, "answer": ["A", "C"] if at == 0 else [one["answer"]]} for at, one in enumerate(LISTS)],
                       "several"),
    "several marks": (
        [{"question": q, "options": t, "label": [1, 0, 1] if q == QUESTIONS[0] else [int(at == n) for at in range(3)]}
         for q, t, n, _ in EACH], "several"),
    "no list": ([{**one, "options": str(one["options"]) if at else "[['A', 'B']]"} for at, one in enumerate(LISTS)],
                "expected a list of choices"),
    "an unknown label": (changed(LISTS, {"answer": "Z"}), "answer is 'Z'"),
    "no label": (changed(LISTS, {"answer": None}), "answer is None"),
    "one choice": (changed(LISTS, {"options": ["red"]}), "1 choice"),
    "a repeated letter": (changed(rows_of(with_choices(listed("{}. {}"))), {"options": ["A. x", "B. y", "B. z"]}),
                          "expected each letter once"),
    "no question": (changed(LISTS, {"question": None}), "question is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_row_that_cannot_be_read_is_an_error_or_left_out(name, tmp_path):
    rows, message = FAULTY[name]
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(InputError, match=rf"row 1: .*{message}.* 1 of 24 rows.*skip_faulty"):
        read_benchmark(path)
    assert read(path, skip_faulty=True) == (QUESTIONS[1:], CHOICES[1:], LABELS[1:])
    benchmark = read_benchmark(path, skip_faulty=True)
    (fault,) = benchmark.test.faulty
    assert (fault.row, message in fault.message) == (0, True)
    assert "1 of 24 rows cannot be read" in benchmark.notes[0]
