"""Inputs that once failed in a fuzz of changed files: each is read, or refused in one line."""

import base64
import gzip
import json
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.word_vectors import load_word_vectors

ROWS = "question,image,A,B,answer\nWhich?,1.jpg,red,blue,A\n"
ABORTING = zlib.decompress(
    base64.b85decode(
        "c-obc&r1S96vyAZUDr*dRD8n@NJ!LRppt^(L69z;JV^h+Dhmqhk9Mt~W2cVM-x8iWMd$ve-l&U`T^feB%X{-"
        "a?>k>+aDCe#n=*9VCnP8Uq;diPdIVG;S><Go9CAu+sED2?digw8kIKjqg+SouB6)rOnC8s6Y4%MRGU1fYs$AI-hMw@(gp-aTSZJbc2@BW"
        "9iirrf1l#pnhvz1h-JgWYAK62tDr|x0#G`RA^~nKpFVJ)E?t^$ana?huZ-"
        "%zeOOM9$$tZ|<rql15obB1+Bwi9jvfPsn!eAQAmfIGxIhP9kVGx2uRZ?9ICCaK6I61W&Kqyg0@<}(fyKkp57J*>{-"
        "w~n93`c1&!uLR(MAlkLB7vc{d=c_h=#|jVV&COMu&p$rx-p(_;r3SLM*dpjhmc=Ff1-ZF|G9lI?=rcDTv-"
        "yeE59wMlox))mMm+d#iHg%(fqOe5JWK>RBpEGSM`SKvZ<R5@BESm{6v2M<kC`e"
    )
)
"""A Parquet file whose statistics do not fit its column type: pyarrow aborts when its metadata are listed."""

FILES = {
    "aborting.parquet": ABORTING,
    "aborting.parquet.gz": gzip.compress(ABORTING),
    "long_image_name.csv": ROWS.replace("1.jpg", "x" * 300).encode(),
    "line_break_in_message.tsv": b'question\tA\tB\tanswer\n"Which?\n\n',
    "cut_page.parquet": ABORTING[:40] + b"\xff" * 20 + ABORTING[60:],
    "names_of_columns.jsonl": b'{"\\ud800": 1, "question": "a"}\n',
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("in_folder", [False, True])
def test_a_changed_file_is_read_or_refused_in_one_line(
    name: str, in_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    path = tmp_path / "folder" / f"test_{name}"
    path.parent.mkdir()
    path.write_bytes(FILES[name])
    try:
        benchmark = vm.read_benchmark(path.parent if in_folder else path)
    except InputError as error:
        assert "\n" not in str(error)
        str(error).encode()
    else:
        assert benchmark.test.rows.num_rows


def _parquet(**options: object) -> bytes:
    sink = pa.BufferOutputStream()
    choices = [["red", "blue"], ["a cat", "dog"]]
    rows = {"question": ["Which?", "What?"], "choices": choices, "label": [0, 1], "image": [{"bytes": b"x"}] * 2}
    pq.write_table(pa.table(rows), sink, **options)
    return bytes(sink.getvalue())


SEEDS = {
    "x.csv": ROWS.encode(),
    "x.tsv": ROWS.replace(",", "\t").encode(),
    "x.json": json.dumps([{"question": "Which?", "choices": ["red", "blue"], "answer": "red"}] * 2).encode(),
    "x.jsonl": b'{"question": "Which?", "choices": ["red", "blue"], "label": 1}\n' * 2,
    "x.parquet": _parquet(),
    "y.parquet": _parquet(compression="none", use_dictionary=False),
}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(SEEDS)), packed=st.booleans(), data=st.data())
def test_a_file_with_bytes_changed_is_read_or_refused(
    name: str, packed: bool, data: st.DataObject, tmp_path: Path
) -> None:
    content = gzip.compress(SEEDS[name]) if packed else SEEDS[name]
    start = data.draw(st.integers(0, len(content)) | st.integers(max(len(content) - 150, 0), len(content)))
    end = start + data.draw(st.integers(0, 3) | st.just(len(content)))
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=4)) + content[end:])
    try:
        assert vm.read_benchmark(path).test.rows.num_rows
    except InputError as error:
        assert "\n" not in str(error)
        str(error).encode()


def test_new_choices_in_a_column_of_different_types_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"question": f"{row}?", "A": "red", "B": "blue", "answer": "A"} for row in range(4)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, {**rows[0], "B": ["a", "b"]}]))
    benchmark = vm.read_benchmark(path)
    tables = {"test": benchmark.with_choices(benchmark.test, [["red", "a cat"]] * 5, [0] * 5)}
    write_benchmark(benchmark, tables, tmp_path / "y.jsonl")
    assert vm.read_benchmark(tmp_path / "y.jsonl").test.rows["choices"].to_pylist() == [["red", "a cat"]] * 5


def test_a_header_of_thousands_of_digits_is_no_vector_file(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"9" * 5000 + b" 3\na 1 2 3\n")
    with pytest.raises(InputError, match="line"):
        load_word_vectors(str(tmp_path / "x.txt"))
