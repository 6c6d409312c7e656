"""Copies of public layouts with changed cells, columns, labels and file formats are read right or refused."""

import csv
import io
import json

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.errors import InputError
from tests.data.shapes import SHAPES, WITHOUT_ORDER
from tests.data.test_public_files import JSON, LISTS, columns, rows_of, with_choices

LAYOUTS = {
    **JSON,
    "lists": LISTS,
    "columns": rows_of(with_choices(columns("A", "B", "C"))),
    **{name: pa.table(table).to_pylist() for name, table in {**SHAPES, **WITHOUT_ORDER}.items()},
}
VALUES = [None, "", " ", "Z", "A", 0, 1, -1, 7, 2.5, True, [], ["A"], ["A", "B"], {}, {"A": "x"}, [[]], "[",
          "['a' 'b']"]  # fmt: skip
NAMES = {
    "question": ["Question", "query", "question_text"],
    "answer": ["Answer", "gold", "label"],
    "label": ["Label", "answer", "gold"],
    "options": ["choices", "Options"],
    "choices": ["options", "Choices"],
    "id": ["question_id", "qid"],
}
MORE = {
    "notes": lambda row: f"see page {row}",
    "source": lambda row: "web",
    "difficulty": lambda row: row % 3,
    "height": lambda row: 100 + row,
    "explanation": lambda row: "because A. is not B.",
    "year": lambda row: 2020,
    "reviewed": lambda row: row % 2 == 0,
    "A_note": lambda row: "x",
    "author": lambda row: None,
}
LETTER_FORMS = [str.lower, lambda letter: ord(letter) - 65, "({})".format, "{}.".format]
TEXT = ["jsonl", "json", "jsonl of json", "jsonl with crlf", "jsonl with bom", "json with bom"]
TABLES = ["csv", "csv with ;", "tsv", "csv quoted", "csv with crlf", "csv with bom", "xlsx"]


def with_other_columns(rows, draw):
    """Columns in another order, one with another name, and one more; letters in another form."""
    rows = [dict(row) for row in rows]
    if draw(st.booleans()):
        rows = [{name: row[name] for name in sorted(row, reverse=True)} for row in rows]
    if draw(st.booleans()):
        old = draw(st.sampled_from(sorted(NAMES)))
        new = draw(st.sampled_from(NAMES[old]))
        if not any(new in row for row in rows):
            rows = [{(new if name == old else name): value for name, value in row.items()} for row in rows]
    if draw(st.booleans()):
        name, first = draw(st.sampled_from(sorted(MORE))), draw(st.booleans())
        cells = [{name: MORE[name](at)} for at in range(len(rows))]
        if not any(name in row for row in rows):
            rows = [{**cell, **row} if first else {**row, **cell} for cell, row in zip(cells, rows, strict=True)]
    label = next((name for name in ("answer", "label", "Answer", "gold", "Label") if name in rows[0]), None)
    if label and draw(st.booleans()) and all(one.get(label) in (*"ABCD",) for one in rows):
        form = draw(st.sampled_from(LETTER_FORMS))
        rows = [{**row, label: form(row[label])} for row in rows]
    return rows


def with_other_cells(rows, draw):
    """The rows with cells changed or removed in at most three, and their numbers."""
    changed = draw(st.sets(st.integers(0, len(rows) - 1), max_size=min(3, len(rows) // 8)))
    for row in changed:
        column = draw(st.sampled_from(sorted(rows[row])))
        if draw(st.booleans()):
            del rows[row][column]
        else:
            rows[row][column] = draw(st.sampled_from(VALUES))
    return changed


def write(folder, rows, form):
    path = folder / f"rows.{form.split()[-1 if ' of ' in form else 0]}"
    if form == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif form == "xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
    else:
        if form.startswith("jsonl"):
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        elif form.startswith("json"):
            text = json.dumps(rows)
        else:
            file, names = io.StringIO(newline=""), dict.fromkeys(name for row in rows for name in row)
            quoting = csv.QUOTE_ALL if "quoted" in form else csv.QUOTE_MINIMAL
            delimiter = ";" if ";" in form else "\t" if form == "tsv" else ","
            writer = csv.DictWriter(file, list(names), delimiter=delimiter, quoting=quoting, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            text = file.getvalue()
        text = text.replace("\n", "\r\n") if "crlf" in form and form.startswith("jsonl") else text
        path.write_bytes(b"\xef\xbb\xbf" * ("bom" in form) + text.encode())
    return path


def rows_of(path, **options):
    rows = read_benchmark(path, **options).test.rows.to_pylist()
    assert all(0 <= one["label"] < len(one["choices"]) for one in rows)
    return {one["question"]: (one["choices"], one["label"]) for one in rows}


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted({*LAYOUTS} - {"columns without one letter"})), st.data())  # letters are no positions
def test_mutated_files_are_read_right_or_refused(tmp_path_factory, name, data):
    """Rows whose cells are not changed keep question, choices and label, or the file is refused in one line."""
    folder = tmp_path_factory.mktemp("mutated")
    published = json.loads(json.dumps(LAYOUTS[name]))
    expected = rows_of(write(folder, published, "jsonl"))
    rows = with_other_columns(published, data.draw)
    changed = with_other_cells(rows, data.draw)
    is_table = not any(isinstance(value, list | dict) for row in rows for value in row.values())
    form = data.draw(st.sampled_from([*TEXT, *(TABLES if is_table else []), *([] if changed else ["parquet"])]))
    skip_faulty = data.draw(st.booleans())
    try:
        found = rows_of(write(folder, rows, form), skip_faulty=skip_faulty)
    except InputError as error:
        assert "\n" not in str(error)
        assert rows != published or changed, "an unchanged file is refused"
        return
    kept = {question: row for at, (question, row) in enumerate(expected.items()) if at not in changed}
    assert {question: row for question, row in found.items() if question in kept} == kept
