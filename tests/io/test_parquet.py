"""A small Parquet file that decodes to gigabytes is refused before it is decoded."""

import gzip
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import packed, parquet
from hf_vqa_mc.io.parquet import check_parquet
from hf_vqa_mc.scoring.predictions import read_predictions

ROWS = 5000
LONG = "x" * 1000
COLUMNS = {"zeros": pa.array([b"\0" * 5_000_000])}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_decodes_to_more_than_the_limit_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": COLUMNS[name]}), path, compression="zstd")
    size = path.stat().st_size
    assert size < 20_000
    check_parquet(path, "x", size)
    monkeypatch.setattr(parquet, "FREE_DECODED", 4_000_000)
    with pytest.raises(InputError, match=r"x: refused, its 0\.0 MB unpack to more than 0\.004 GB"):
        check_parquet(path, "x", size)


def test_rows_that_take_no_bytes_are_limited(tmp_path: Path) -> None:
    rows = pa.array([True]).take(pa.array([0] * 1_000_000))
    with pq.ParquetWriter(tmp_path / "x.parquet", pa.schema({"x": pa.bool_()})) as file:
        for _ in range(5):
            file.write_table(pa.table({"x": rows}))
    with pytest.raises(InputError, match=r"x\.parquet: refused, its 0\.0 MB unpack to more than 1 GB"):
        vm.read_benchmark(tmp_path / "x.parquet")


def test_every_reader_of_parquet_refuses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, path = tmp_path / "folder", tmp_path / "x.parquet"
    table = pa.table({"question_id": range(ROWS), "answer": [LONG] * ROWS})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    (tmp_path / "x.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    folder.mkdir()
    (folder / "test.parquet").write_bytes(path.read_bytes())
    monkeypatch.setattr(parquet, "FREE_DECODED", 1_000_000)
    for one in (path, tmp_path / "x.parquet.gz", folder):
        with pytest.raises(InputError, match=r"refused, its 0\.0 MB unpack to more"):
            vm.read_benchmark(one)
    with pytest.raises(InputError, match=r"refused, its 0\.0 MB unpack to more"):
        read_predictions(path)


def test_a_packed_file_in_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 1_000_000)
    (tmp_path / "test.csv.gz").write_bytes(gzip.compress(b"question,answer\n" + b"a,b\n" * 1_000_000))
    with pytest.raises(InputError, match=r"test\.csv\.gz: refused"):
        vm.read_benchmark(tmp_path)


@pytest.mark.parametrize("name", ["test.csv", "test.csv.GZ", "test.jsonl"])
def test_packed_files_of_a_folder_are_found_by_their_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"question,A,B,answer\n" + b" " * 10**8))
    with pytest.raises(InputError, match="unpack to more than"):
        vm.read_benchmark(tmp_path)


def test_a_damaged_zip_in_a_folder_is_reported(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "test.zip", "w") as archive:
        archive.writestr("test.csv", "question,A,B,answer\n")
    content = (tmp_path / "test.zip").read_bytes()
    (tmp_path / "test.zip").write_bytes(content.replace(b"PK\x01\x02", b"PK\x01\x03"))
    with pytest.raises(InputError, match="Bad magic number"):
        vm.read_benchmark(tmp_path)
