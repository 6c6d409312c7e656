"""Publishers' files are found and read however they were put down; damaged and unsafe ones are refused."""

import zipfile
from pathlib import Path

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.source import read_triplets
from tests.sources import fixtures

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

TELLING = "dataset_v7w_telling.json"


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zip"])
@pytest.mark.parametrize("below", ["", "visual7w", "raw/visual7w"])
def test_a_packed_file_reads_like_the_plain_one(suffix: str, below: str, tmp_path: Path) -> None:
    plain = read_triplets("visual7w", fixtures.write_visual7w(tmp_path / "plain").parent)
    fixtures.pack(fixtures.write_visual7w(tmp_path / "packed" / below), suffix)
    assert read_triplets("visual7w", tmp_path / "packed").equals(plain)


@pytest.mark.parametrize("inside", ["", "dataset/", "a/b/c/"])
def test_an_archive_as_downloaded_reads_like_the_plain_file(inside: str, tmp_path: Path) -> None:
    plain = read_triplets("visual7w", fixtures.write_visual7w(tmp_path / "plain").parent)
    packed = fixtures.pack(fixtures.write_visual7w(tmp_path / "zip"), ".zip", inside)
    packed.rename(packed.with_name("dataset_v7w_telling.zip"))
    assert read_triplets("visual7w", tmp_path / "zip").equals(plain)


def test_folders_that_cannot_be_read_and_folders_named_like_archives_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = fixtures.write_visual7w(tmp_path / "raw")
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "annotations.zip").mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "lost+found")
    assert Folder(tmp_path).find(TELLING).path == written
    assert tmp_path / "lost+found" not in Folder(tmp_path)._levels[1]


def test_vqa_is_read_from_its_four_archives(tmp_path: Path) -> None:
    plain = read_triplets("vqa", fixtures.write_vqa(tmp_path / "plain"))
    folder = fixtures.write_vqa(tmp_path / "zip")
    fixtures.write_vqa(folder, multiple_choice=False)
    for short, subset in (("Train", "train2014"), ("Val", "val2014")):
        for kind, names in (
            ("Questions", [f"{task}_mscoco_{subset}_questions.json" for task in ("MultipleChoice", "OpenEnded")]),
            ("Annotations", [f"mscoco_{subset}_annotations.json"]),
        ):
            with zipfile.ZipFile(folder / f"{kind}_{short}_mscoco.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                for name in names:
                    archive.write(folder / name, name)
                    (folder / name).unlink()
    assert read_triplets("vqa", folder).equals(plain)


def test_a_file_that_is_packed_under_its_plain_name_is_unpacked(tmp_path: Path) -> None:
    path = fixtures.write_visual7w(tmp_path)
    fixtures.pack(path, ".gz").rename(path)
    assert read_triplets("visual7w", tmp_path).num_rows == 80


def test_the_file_nearest_to_the_top_is_taken(tmp_path: Path) -> None:
    near = fixtures.write_visual7w(tmp_path)
    fixtures.pack(fixtures.write_visual7w(tmp_path / "older"), ".zip")
    assert Folder(tmp_path).find(TELLING).path == near
    near.unlink()
    assert Folder(tmp_path).find(TELLING).path == tmp_path / "older" / f"{TELLING}.zip"


def test_two_files_at_one_level_are_refused(tmp_path: Path) -> None:
    path = fixtures.write_visual7w(tmp_path / "one")
    fixtures.write_visual7w(tmp_path / "two")
    with pytest.raises(InputError, match=r"was found 2 times: .*one/.* and .*two/.*; expected one"):
        read_triplets("visual7w", tmp_path)
    (tmp_path / "packed").mkdir()
    with zipfile.ZipFile(tmp_path / "packed" / "both.zip", "w") as archive:
        for folder in ("old", "new"):
            archive.write(path, f"{folder}/{TELLING}")
    with pytest.raises(InputError, match=f"old/{TELLING} in .*both.zip and new/{TELLING} in .*both.zip"):
        read_triplets("visual7w", tmp_path / "packed")


def test_files_three_folders_below_are_not_searched(tmp_path: Path) -> None:
    fixtures.write_visual7w(tmp_path / "a" / "b" / "c")
    with pytest.raises(InputError, match=f"no {TELLING} in this folder or up to 2 folders below it"):
        read_triplets("visual7w", tmp_path)


def test_other_files_and_broken_archives_in_the_folder_do_not_matter(tmp_path: Path) -> None:
    fixtures.write_visual7w(tmp_path / "v7w")
    fixtures.write_vqa(tmp_path / "vqa")
    (tmp_path / "images.zip").write_bytes(b"PK\x03\x04 half of it")
    assert read_triplets("visual7w", tmp_path).num_rows == 80


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zip"])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999, 1])
def test_a_truncated_archive_and_one_with_a_flipped_byte_are_named(suffix: str, share: float, tmp_path: Path) -> None:
    packed = fixtures.pack(fixtures.write_visual7w(tmp_path), suffix)
    if suffix == ".zip":
        packed = packed.rename(packed.with_name("dataset_v7w_telling.zip"))
    content = bytearray(packed.read_bytes()[: int(packed.stat().st_size * share)])
    content[len(content) // 2] ^= 0xFF if share == 1 else 0
    packed.write_bytes(content)
    with pytest.raises(
        InputError, match=f"{packed.name}: the archive is damaged or truncated .*download or write it again"
    ):
        read_triplets("visual7w", tmp_path)


def test_macos_metadata_in_archives_is_ignored(tmp_path: Path) -> None:
    packed = fixtures.pack(fixtures.write_visual7w(tmp_path), ".zip")
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(f"__MACOSX/{TELLING}", b"\x00\x05\x16\x07")
        archive.writestr(f"__MACOSX/._{TELLING}", b"\x00\x05\x16\x07")
    assert read_triplets("visual7w", tmp_path).num_rows == 80


def test_a_folder_under_the_name_of_a_file_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / TELLING).mkdir()
    fixtures.write_visual7w(tmp_path / TELLING)  # as some unpack question_answers.json.zip
    assert read_triplets("visual7w", tmp_path).num_rows == 80
