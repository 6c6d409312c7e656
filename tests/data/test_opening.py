"""Files, folders and names that cannot be read are refused by name; hostile cells pass through as they are."""

import json
import lzma

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from tests.data.shapes import picture

GOOD = {"question": "a", "choices": ["x", "y"], "label": 1}
CSV = b"question,A,B,answer\na,x,y,B\n"

BROKEN = {
    "a.parquet": (b"PAR1 no", "a.parquet: cannot be read as parquet"),
    "a.jsonl": (b'{"question": "a"}\n{"question"', "a.jsonl, line 2: not JSON "),
    "b.jsonl": (b"[1]\n", "b.jsonl, line 1: expected a record"),
    "a.json": (b"{}", "a.json: expected a list of records"),
    "c.json": (b'{"a": 1}\n[2]', "line 2: expected a record"),
    "a.csv": (b"question,A,B,answer\na,x,y\n", "a.csv: cannot be read as csv"),
    "b.csv": (b"question,A,A,B,answer\na,x,x,y,B\n", "the column 'A' occurs 2 times"),
    "c.csv": (CSV.replace(b"x", b"\xff"), "c.csv, line 2: the byte 0xff is not UTF-8 text; save the file as UTF-8"),
    "latin.tsv": ("question\tA\tB\tanswer\na\tx\ty\tB\nb\tx\té\tB\n".encode("latin-1"), "latin.tsv, line 3: the byte"),
    "header.csv": ("größe,A,B,answer\na,x,y,B\n".encode("latin-1"), "header.csv, line 1: the byte 0xf6"),
    "utf16.csv": (CSV.decode().encode("utf-16"), "save the file as UTF-8"),
    "latin.jsonl": (
        '{"question": "a"}\n{"question": "é"}'.encode("latin-1"),
        "line 2: expected UTF-8 text, found the byte 0xe9",
    ),
    "latin.json": ('[{"question": "é"}]'.encode("latin-1"), "save the file as UTF-8"),
    "d.csv": (b"", "d.csv: cannot be read as csv"),
    "a.jsonl.gz": (b"\x1f\x8b broken", "damaged"),
    "surrogate.jsonl": (
        f"{json.dumps(GOOD)}\n\n{json.dumps({**GOOD, 'question': chr(0xD800)})}".encode(),
        "surrogate.jsonl: expected UTF-8 text",
    ),
    "raw.jsonl": (
        json.dumps(GOOD).encode().replace(b"x", b"\xed\xa0\x80"),
        "found the byte 0xed",
    ),
    "list.csv": (b'question,choices,answer\na,"[""x"", ""\\ud800""]",0\nb,"[""x"", ""y""]",0\n', "row 1: choices is"),
    "nested.jsonl": (b'{"question": %s}' % (b"[" * 20_000 + b"]" * 20_000), "recursion depth exceeded"),
    "deep.json": (
        json.dumps([GOOD, {**GOOD, "choices": ["x", chr(0xDFFF)]}]).encode(),
        "expected UTF-8 text",
    ),
    "a.txt": (CSV, "unknown kind of file; expected a file (.parquet, .jsonl"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_name(name, tmp_path):
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        read_benchmark(str(tmp_path / name))
    assert message in str(error.value)
    assert name in str(error.value)


def test_missing_datasets_are_reported(tmp_path):
    for name in ("nothing.parquet", str(tmp_path / "nothing"), "./nothing", "nothing"):
        with pytest.raises(InputError, match=r"no such file|is not a local folder"):
            read_benchmark(name)
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(InputError, match="has no configs; remove 'all'"):
        read_benchmark(str(tmp_path / "a.csv"), "all")
    with pytest.raises(InputError, match="unknown split"):
        read_benchmark(str(tmp_path / "a.csv"), split="train")


@pytest.mark.parametrize("column", ["hint", "choices"])
def test_a_column_that_is_no_utf8_is_refused(column, tmp_path):
    offsets = pa.array([0, 1, 3], pa.int32()).buffers()[1]
    broken = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"a" + b"\xff\xfe"))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), broken)
    rows = {"question": ["a", "b"], "choices": [["x", "y"]] * 2, "answer": ["x", "y"], "hint": ["", ""]}
    pq.write_table(pa.table({**rows, column: lists if column == "choices" else broken}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as parquet .*Invalid UTF8"):
        read_benchmark(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip"])
def test_a_damaged_page_is_refused_by_name(compression, tmp_path):
    path = tmp_path / "a.parquet"
    rows = {"question": [f"question {n % 7} and {n}" for n in range(2000)], "choices": [["x", "y"]] * 2000}
    pq.write_table(pa.table({**rows, "label": [0, 1] * 1000}), path, compression=compression, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[100:2000] = b"\xff" * 1900
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as parquet"):
        read_benchmark(str(path))


HOSTILE = ["</script><script>alert(1)</script>", "\x00", "🐈" * 1000, "\u202egnp.exe", "x" * 10_000_000, "$\\frac$",
           "nan"]  # fmt: skip


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_hostile_cells_pass_through(kind, tmp_path):
    rows = [{"question": text, "choices": [text, "other"], "label": 0} for text in HOSTILE]
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    found = read_benchmark(str(path)).test.rows
    assert found["question"].to_pylist() == HOSTILE
    assert found["choices"].to_pylist() == [[text, "other"] for text in HOSTILE]


def test_files_may_be_packed_begin_with_a_mark_and_be_utf16(tmp_path):
    (tmp_path / "val.csv.xz").write_bytes(lzma.compress(b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n")))
    benchmark = read_benchmark(str(tmp_path / "val.csv.xz"))
    assert (benchmark.evaluated, benchmark.test.original.column_names[0]) == ("val", "question")
    assert benchmark.test.rows["choices"].to_pylist() == [["x", "y"]]
    (tmp_path / "a.json").write_bytes(json.dumps([GOOD]).encode("utf-16"))
    assert read_benchmark(str(tmp_path / "a.json")).test.rows["question"].to_pylist() == ["a"]


def test_columns_of_any_width_read_alike(tmp_path):
    plain = pa.table({"question": ["a", "b"], "choices": [["x", "y"]] * 2, "answer": ["y", "x"]})
    wide = pa.table(
        {
            "question": plain["question"].cast(pa.large_string()),
            "choices": plain["choices"].cast(pa.large_list(pa.large_string())),
            "answer": plain["answer"].dictionary_encode(),
        }
    )
    fixed = plain.set_column(1, "choices", plain["choices"].cast(pa.list_(pa.string(), 2)))
    parts = pa.concat_tables([plain.slice(1), plain.slice(0, 1)]).take([1, 0])
    for number, same in enumerate((plain, wide, fixed, parts)):
        pq.write_table(same, tmp_path / f"{number}.parquet", row_group_size=1)
        benchmark = read_benchmark(str(tmp_path / f"{number}.parquet"))
        assert benchmark.test.rows["choices"].to_pylist() == [["x", "y"]] * 2
        assert benchmark.test.rows["label"].to_pylist() == [1, 0]
        written = benchmark.with_choices(benchmark.test, [["u", "x"], ["x", "y"]], [1, 0])
        assert written.schema.equals(benchmark.test.original.schema)
        assert written["answer"].to_pylist() == ["x", "x"]


def test_ids_that_are_no_ids_are_passed_over(tmp_path):
    rows = [{**GOOD, "id": 1, "qid": "a"}, {**GOOD, "id": 2, "qid": "a"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_benchmark(str(tmp_path / "a.jsonl")).test.rows["question_id"].to_pylist() == ["1", "2"]
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({**row, "id": 1}) for row in rows))
    assert read_benchmark(str(tmp_path / "b.jsonl")).test.rows["question_id"].to_pylist() == ["a (row 1)", "a (row 2)"]


@pytest.mark.parametrize(("name", "options"), [("rows.jsonl", {}), ("rows.jsonl", {"split": "val"}), ("test.tsv", {})])
def test_a_column_names_the_split(name, options, tmp_path):
    frame = pd.DataFrame({"question": ["Why?", "How?"], "A": "x", "B": "y", "answer": ["A", "B"], "split": "val"})
    is_tsv = name.endswith("tsv")
    text = frame.to_csv(sep="\t", index=False) if is_tsv else frame.to_json(orient="records", lines=True)
    (tmp_path / name).write_text(text)
    assert list(read_benchmark(str(tmp_path / name), **options).splits) == ["val"]
    assert read_benchmark(frame, **options).evaluated == "val"


def test_rows_of_several_splits_in_a_file_are_read_and_written_together(tmp_path):
    splits = ["val", "train", "train", "val"]
    records = [{**GOOD, "question": f"{row}?", "label": row % 2, "split": split} for row, split in enumerate(splits)]
    (tmp_path / "rows.json").write_text(json.dumps(records))
    benchmark = read_benchmark(str(tmp_path / "rows.json"))
    assert (benchmark.evaluated, benchmark.test.location) == ("val", f"{tmp_path / 'rows.json'}, val")
    assert benchmark.train.rows["question"].to_pylist() == ["1?", "2?"]
    tables = {name: split.original for name, split in benchmark.splits.items()}
    write_benchmark(benchmark, tables, tmp_path / "new.json")
    assert sorted(json.loads((tmp_path / "new.json").read_text()), key=str) == sorted(records, key=str)


@pytest.mark.parametrize("value", ["left", None, "", 1, ["val"]])
def test_a_column_split_with_other_values_names_no_split(value):
    frame = pd.DataFrame({"question": ["Why?"], "A": ["x"], "B": ["y"], "answer": ["A"], "split": [value]})
    assert read_benchmark(frame).evaluated == "test"


def test_a_folder_of_images_next_to_the_questions_names_their_file(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(picture("red"))
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "a", "choices": ["x", "y"], "label": 0}) + "\n")
    with pytest.raises(InputError, match=rf"a folder of images without questions; give {tmp_path}/data.jsonl"):
        read_benchmark(str(tmp_path))


@pytest.mark.parametrize("delimiter", [";", ",", "|"])
def test_a_tsv_without_tabs_has_another_delimiter(delimiter, tmp_path):
    lines = ["question,A,B,answer", "a,x,y,B", "b,x,y,A"]
    (tmp_path / "rows.tsv").write_text("\n".join(lines).replace(",", delimiter))
    benchmark = read_benchmark(str(tmp_path / "rows.tsv"))
    assert benchmark.test.rows["label"].to_pylist() == [1, 0]
    write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "same.tsv")
    assert read_benchmark(str(tmp_path / "same.tsv")).test.hashes == benchmark.test.hashes
