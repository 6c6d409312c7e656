"""Every format gives the same predictions; what is wrong is one error that names file, record, field and remedy."""

import gzip
import json
import lzma
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.predictions import read_predictions

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1).filter(str.isprintable)
ANSWERS = st.dictionaries(TEXT, TEXT, min_size=1, max_size=20)


def records(answers, id_name="question_id", answer_name="answer"):
    return [{id_name: name, answer_name: answer} for name, answer in answers.items()]


def write_csv(path, rows):
    def cell(value):
        text = str(value).replace('"', '""')
        return f'"{text}"'

    names = list(rows[0])
    lines = [",".join(names), *(",".join(cell(row[name]) for name in names) for row in rows)]
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("utf-8-sig"))


def as_json(path, answers):
    path.with_suffix(".json").write_text(json.dumps(records(answers)))
    return path.with_suffix(".json")


def as_mapping(path, answers):
    path.with_suffix(".json").write_text(json.dumps(answers, indent=1))
    return path.with_suffix(".json")


def as_lines(path, answers):
    path.with_suffix(".jsonl").write_text("".join(f"{json.dumps(row)}\n\n" for row in records(answers)))
    return path.with_suffix(".jsonl")


def as_csv(path, answers):
    write_csv(path.with_suffix(".csv"), records(answers))
    return path.with_suffix(".csv")


def as_parquet(path, answers):
    pq.write_table(pa.Table.from_pylist(records(answers)), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


FORMATS = (as_json, as_mapping, as_lines, as_csv, as_parquet)


def pack_gz(path):
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def pack_xz(path):
    packed = path.with_name(f"{path.name}.xz")
    packed.write_bytes(lzma.compress(path.read_bytes()))
    return packed


def pack_zip(path):
    packed = path.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, path.name)
    return packed


@pytest.mark.parametrize("write", FORMATS)
@given(answers=ANSWERS)
def test_every_format_gives_what_was_written(write, answers, tmp_path_factory):
    read = read_predictions(write(tmp_path_factory.mktemp("p") / "p", answers))
    assert read.answers == answers
    assert read.repeated == ()


@pytest.mark.parametrize("pack", [pack_gz, pack_xz, pack_zip])
@pytest.mark.parametrize("write", FORMATS)
def test_packed_files_are_read_too(write, pack, tmp_path):
    answers = {"1": "a cat, black", "2": "ß"}
    assert read_predictions(pack(write(tmp_path / "p", answers))).answers == answers


def test_a_row_far_down_is_named_by_its_location(tmp_path):
    rows = records({str(number): "a" for number in range(95)})
    rows[87]["answer"] = ""
    write_csv(tmp_path / "p.csv", rows)
    with pytest.raises(InputError, match="line 89, field 'answer'"):
        read_predictions(tmp_path / "p.csv")
    rows[87]["answer"] = None
    for name, content, location in (
        ("p.json", json.dumps(rows), "record 88"),
        ("p.jsonl", "\n".join(map(json.dumps, rows)), "line 88"),
        ("p.json", json.dumps({row["question_id"]: row["answer"] for row in rows}), "'87'"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=rf"{name}, {location}, field '(answer|prediction)': expected text"):
            read_predictions(tmp_path / name)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    with pytest.raises(InputError, match="row 88, field 'answer'"):
        read_predictions(tmp_path / "p.parquet")


NAMED = json.dumps([{"qid": 7, "answer": "gold", "picked": 1}])


@pytest.mark.parametrize(
    ("name", "content", "columns", "answers"),
    [
        *(
            ("p.json", json.dumps([{id_name: 7, answer_name: answer, "score": 0.5}]), (), {"7": answer})
            for id_name in ("question_id", "questionId", "qa_id")
            for answer_name, answer in (("answer", "cat"), ("prediction", "cat"), ("prediction", 2), ("label", 2))
        ),
        ("p.json", NAMED, ("qid", "picked"), {"7": 1}),
        ("p.json", NAMED, ("qid", "answer"), {"7": "gold"}),
        ("p.json", '[{"qa_id": 1, "answer": "a"}, {"qa_id": 2, "answer": "b", "label": 0}]', (None, "answer"),
         {"1": "a", "2": "b"}),
        ("p.csv", "question_id,label\n1,0\n2,12\n", (), {"1": 0, "2": 12}),
        ("p.csv", "question_id,prediction\n1,0\n2,12\n", (), {"1": "0", "2": "12"}),
        ("p.csv", "question_id,answer,a;b\n1,cat,\n", (), {"1": "cat"}),  # the mark separates nothing
        *(("p.csv", f'"question_id"{mark}"answer"\n1{mark}a, b\n', (), {"1": "a, b"}) for mark in ";\t"),
        ("p.json", '{"qa_id": 1, "answer": "a"}\n{"qa_id": 2, "answer": "b"}\n', (), {"1": "a", "2": "b"}),
        ("p.json", '{"1": "a", "2": "b"}\n', (), {"1": "a", "2": "b"}),
    ],
)  # fmt: skip
def test_columns_are_found_and_cells_read_as_what_they_hold(tmp_path, name, content, columns, answers):
    (tmp_path / name).write_text(content)
    assert read_predictions(tmp_path / name, *columns).answers == answers


def test_numbers_and_text_are_the_same_id_and_the_last_counts(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('[{"question_id": 1, "answer": "a"}, {"question_id": "1", "answer": "b"}]')
    read = read_predictions(path)
    assert (read.answers, read.repeated) == ({"1": "b"}, ("1",))
    path.write_text('{"1": "a", "2": "b", "1": "c"}')
    read = read_predictions(path)
    assert (read.answers, read.repeated) == ({"1": "c", "2": "b"}, ("1",))


def test_a_file_without_a_known_ending_is_told_by_its_content(tmp_path):
    for write in (as_json, as_parquet):
        path = write(tmp_path / "p", {"1": "a"}).rename(tmp_path / "predictions")
        assert read_predictions(path).answers == {"1": "a"}


ROW = '{"question_id": 1, "answer": "a"}'

BAD = [
    ("p.json", None, "p.json does not exist; expected a json, jsonl"),
    ("p.txt", "1 a", "p.txt: unknown format"),
    ("p.json", "", "p.json: the file is empty"),
    ("p.json", "[]", "p.json: found no predictions"),
    ("p.jsonl", "\n", "p.jsonl: found no predictions"),
    ("p.csv", "", "p.csv, line 1: the file is empty"),
    ("p.csv", "question_id,answer\n", "p.csv: found no predictions"),
    ("p.json", f"[{ROW}, ", r"p.json: the JSON is truncated"),
    ("p.jsonl", f"{ROW}\n{ROW[:20]}", r"p.jsonl, line 2: not JSON"),
    ("p.json", '{"annotations": []}', "p.json, 'annotations': .*PREDICTIONS comes first"),
    ("p.json", '{"info": {}, "questions": []}', "p.json, 'info': .*PREDICTIONS comes first"),
    ("p.json", '[{"question_id": 1, "answers": []}]', "record 1: no column of answers.*PREDICTIONS"),
    ("p.json", '{"1": {"isBalanced": true}}', "p.json, '1': .*PREDICTIONS"),
    ("p.json", f'{{"model": "m", "predictions": [{ROW}]}}', "'predictions': .* give a list of records"),
    ("p.json", '{"qa_id": [1], "label": [0]}', "'qa_id': .* give a list of records .pandas"),
    ("p.jsonl", "[1, 2]\n", "p.jsonl, line 1: expected a record"),
    ("p.json", f"[{ROW}, 5]", "p.json, record 2: expected a JSON object"),
    ("p.json", '[{"number": 1, "answer": "a"}]', "record 1: no column of question ids: .*--id-column"),
    ("p.json", '[{"qa_id": 1, "words": "a"}]', "record 1: no column of answers: .*--answer-column"),
    ("p.json", '[{"id": 1, "result": {"said": "a"}}]', "no column of answers: .*--answer-column"),
    *(
        (
            "p.json",
            json.dumps([{"question_id": 1, gold: 2, name: "a"}]),
            f"both '{gold}' and '{name}' .*--answer-column",
        )
        for gold, name in (
            ("answer", "prediction"),
            ("label", "pred"),
            ("answer", "parsed_pred"),
            ("answer", "text"),
            ("answer", "modelChoice"),
        )
    ),
    ("p.jsonl", '{"id": 1, "question": "Q?", "choices": ["a", "b"], "label": 0}', "line 1: .* --answer-column label"),
    ("p.csv", "index,question,A,B,answer\n1,Q?,a,b,A\n", "line 2: .* --answer-column answer"),
    ("p.json", f'[{ROW}, {{"question_id": 2}}]', "record 2, field 'answer'"),
    ("p.json", '[{"question_id": 1, "answer": null}]', "record 1, field 'answer': expected text .*found None"),
    ("p.json", '[{"question_id": 1.5, "answer": "a"}]', "record 1, field 'question_id': .* found 1.5"),
    ("p.json", '[{"question_id": 1, "answer": 2}]', "record 1, field 'answer': expected text"),
    ("p.json", '[{"question_id": 1, "label": "2"}]', "field 'label': expected the index of a choice"),
    ("p.json", '[{"question_id": 1, "prediction": 1.5}]', "field 'prediction': .* found 1.5"),
    ("p.json", '{"1": "a", "2": null}', "p.json, '2', field 'prediction': .* found None"),
    ("p.csv", "question_id,answer\n1,a,b\n", "p.csv, line 2: expected 2 cells"),
    ("p.csv", 'question_id,answer\n1,"a\n', "p.csv, line 2: not CSV: "),
    ("p.csv", "question_id,answer\n1,\n", "line 2, field 'answer': expected an answer"),
    ("p.csv", "question_id,label\n1,-1\n", "line 2, field 'label': expected the index of a choice"),
    ("p.csv", "question_id,answer,answer\n1,a,b\n", "line 1: duplicate column names"),
    ("p.csv", b"question_id,answer\n1,caf\xe9\n", "p.csv, line 2: expected UTF-8 text"),
    ("p.parquet", b"PAR1 and nothing", "p.parquet: cannot be read as parquet"),
    ("p.json.gz", gzip.compress(b"[1, 2, 3]" * 100, mtime=0)[:-9], "is damaged or truncated"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_unusable_input_is_named_with_its_location(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as error:
        read_predictions(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("column", "found"),
    [([1.5, 2.0], "1.5"), ([None, "a"], "None"), ([float("nan")], "nan"), ([["a"]], r"\['a'\]"), ([True], "True")],
)
def test_a_parquet_column_of_another_type_is_named(tmp_path, column, found):
    table = pa.table({"question_id": pa.array(range(len(column))), "prediction": column})
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(InputError, match=rf"p.parquet, row 1, field 'prediction': expected .*, found {found}"):
        read_predictions(tmp_path / "p.parquet")


def test_a_folder_of_predictions_is_rejected(tmp_path):
    with pytest.raises(InputError, match=r"is a folder .PREDICTIONS comes before DATASET.; expected a json, jsonl"):
        read_predictions(tmp_path)


@given(content=st.binary(max_size=60), name=st.sampled_from(["p.json", "p.jsonl", "p.csv", "p.parquet", "p"]))
def test_any_bytes_are_read_or_refused(content, name, tmp_path_factory):
    path = tmp_path_factory.mktemp("p") / name
    path.write_bytes(content)
    try:
        assert read_predictions(path).answers
    except InputError as error:
        assert str(path) in str(error)


def test_a_missing_index_that_pandas_wrote_as_nan_is_named(tmp_path):
    path = tmp_path / "predictions.csv"
    path.write_text("question_id,prediction\na,1.0\nb,nan\nc,2.0\n")
    with pytest.raises(InputError, match=r"predictions.csv, line 3, field 'prediction': .*nan"):
        read_predictions(path)


def test_ids_in_floating_point_are_whole_numbers(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('[{"question_id": 1.0, "answer": "a"}, {"question_id": 540769000, "answer": "b"}]')
    assert read_predictions(path).answers == {"1": "a", "540769000": "b"}
    frame = pd.DataFrame({"question_id": [1.0, 7.0], "answer": ["a", "b"]})
    assert read_predictions(frame).answers == read_predictions({1.0: "a", 7: "b"}).answers == {"1": "a", "7": "b"}
    for wrong in (1.5, float("nan"), 2.0**60):
        with pytest.raises(InputError, match="record 1, field 'question_id': expected a whole number"):
            read_predictions(pd.DataFrame({"question_id": [wrong], "answer": ["a"]}))
