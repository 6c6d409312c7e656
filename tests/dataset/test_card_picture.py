"""The picture on a dataset's card: added, kept by builds of other sources, removed by builds of its own source."""

import json
import warnings

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.dataset.folder import put_picture
from hf_vqa_mc.errors import InputError
from tests.dataset import raw_files
from tests.sources import fixtures

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

PICTURE = b"\x89PNG a picture"


@pytest.fixture
def folder(tmp_path):
    raw_files.cocoqa(tmp_path / "cocoqa")
    build(tmp_path, "cocoqa")
    return tmp_path / "vqa_mc"


def build(folder, source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variants = ["iou"] if source == "cocoqa" else ["orig"]
        vm.build(source, data_dir=folder / source, output=folder / "vqa_mc", variants=variants, **options)


def test_the_card_shows_the_picture_and_the_rows_stay_as_they_are(folder, tmp_path):
    from datasets import load_dataset

    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    assert "preview.png" not in (folder / "README.md").read_text("utf-8")
    assert put_picture(folder, "cocoqa_iou", PICTURE) == folder / "preview.png"
    assert (folder / "preview.png").read_bytes() == PICTURE
    assert "](preview.png)" in (folder / "README.md").read_text("utf-8")
    assert before == {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    assert load_dataset(str(folder), "cocoqa_iou", cache_dir=tmp_path / "cache")["train"].num_rows
    assert sorted(path.name for path in folder.parent.iterdir()) == ["cache", "cocoqa", "vqa_mc"]


def test_adding_it_twice_gives_the_same_bytes(folder):
    put_picture(folder, "cocoqa_iou", PICTURE)
    once = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    put_picture(folder, "cocoqa_iou", PICTURE)
    assert once == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_of_the_same_source_removes_it(folder, tmp_path):
    fresh = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    put_picture(folder, "cocoqa_iou", PICTURE)
    build(tmp_path, "cocoqa")
    assert fresh == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_of_another_source_keeps_it(folder, tmp_path):
    put_picture(folder, "cocoqa_iou", PICTURE)
    fixtures.write_vqa(tmp_path / "vqa")
    build(tmp_path, "vqa")
    assert (folder / "preview.png").read_bytes() == PICTURE
    assert "](preview.png)" in (folder / "README.md").read_text("utf-8")
    assert json.loads((folder / "statistics.json").read_text("utf-8"))["preview"] == {"config": "cocoqa_iou"}


def test_a_picture_from_elsewhere_is_kept(folder, tmp_path):
    (folder / "preview.png").write_bytes(b"mine")
    build(tmp_path, "cocoqa", overwrite=True)
    assert (folder / "preview.png").read_bytes() == b"mine"
    assert "preview.png" not in (folder / "README.md").read_text("utf-8")


def test_an_unknown_config_and_a_foreign_folder_are_rejected(folder, tmp_path):
    with pytest.raises(InputError, match="did you mean 'cocoqa_iou'"):
        put_picture(folder, "cocoqa_io", PICTURE)
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="did not write this folder"):
        put_picture(tmp_path / "other", "cocoqa_iou", PICTURE)
    assert not list((tmp_path / "other").iterdir())
    assert not (folder / "preview.png").exists()
