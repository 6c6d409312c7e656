"""A packed file is read under limits, as a stream, with progress."""

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import packed
from hf_vqa_mc.io.packed import reading, text_lines, unpacked

SPACES = b" " * 4_000_000


def _zipped(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", content)


PACK = {
    "gz": lambda path, content: path.write_bytes(gzip.compress(content)),
    "bz2": lambda path, content: path.write_bytes(bz2.compress(content)),
    "xz": lambda path, content: path.write_bytes(lzma.compress(content)),
    "zip": _zipped,
}


@pytest.fixture(params=PACK)
def bomb(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """4 MB of spaces in a few kilobytes, where 1 MB is free."""
    monkeypatch.setattr(packed, "FREE", 1_000_000)
    path = tmp_path / f"rows.csv.{request.param}"
    PACK[request.param](path, SPACES)
    return path


@pytest.mark.parametrize("size", [-1, 1 << 16])
def test_a_file_that_unpacks_to_more_than_the_limit_is_refused_while_it_is_read(bomb: Path, size: int) -> None:
    with pytest.raises(InputError, match=r"rows.csv.*refused, its 0.0 MB unpack to more than .* unpack or convert it"):
        with unpacked(bomb) as stream:
            while stream.read(size):
                assert stream.tell() <= 2_000_000


def test_plain_files_have_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 1)
    (tmp_path / "x").write_bytes(SPACES)
    with unpacked(tmp_path / "x") as stream:
        assert stream.read() == SPACES


@pytest.mark.parametrize("packing", [None, *PACK])
def test_reading_a_large_file_is_reported_in_megabytes(
    packing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "_REPORTED", 1 << 20)
    path, reports = tmp_path / "rows.csv", []
    (PACK[packing] if packing else Path.write_bytes)(path, SPACES)
    with reading(lambda *report: reports.append(report)), unpacked(path) as stream:
        assert b"".join(text.encode() for text in text_lines(stream, "x")) == SPACES
    total = 4 if packing is None else 1
    assert reports[-1] == ("reading rows.csv (MB)", total, total)
    assert len(reports) == 5  # the last at the end of the file
    assert all(step == reports[-1][0] and done <= total == of for step, done, of in reports)
