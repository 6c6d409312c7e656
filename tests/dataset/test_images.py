"""Images: found before any work, stored once, and given with the rows when looked at."""

import pickle
import shutil
import subprocess
import sys
import tarfile

import datasets
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from PIL import Image

from hf_vqa_mc.data import shards
from hf_vqa_mc.data.stored_images import (
    ROWS_PER_GROUP,
    find_images,
    image_address,
    origin,
    with_images,
)
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.source import read_triplets
from tests.dataset.fixtures import colour_of, draw_images, made_variants, triplets_of, write_made

(VARIANT,) = made_variants("iou_qou")
TRIPLETS = triplets_of(VARIANT)
N_IMAGES = len(set(TRIPLETS["image_id"].to_pylist()))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return draw_images(tmp_path_factory.mktemp("pictures"), TRIPLETS)


@pytest.fixture(scope="module")
def built(tmp_path_factory, pictures):
    return write_made(tmp_path_factory.mktemp("built") / "vqa_mc", "iou_qou", images=find_images(TRIPLETS, pictures))


def load(folder, config, **options):
    return load_dataset(str(folder), config, cache_dir=str(folder.parent / "cache"), **options)


def table(*images):
    return pa.table({"image_id": [i for i, _ in images], "image_file": [name for _, name in images]})


def colour(image):
    return image.convert("RGB").getpixel((0, 0))


def test_each_image_is_stored_once_unchanged(built, pictures):
    ds = load(built, "made_images")
    assert list(ds) == ["images"]
    assert ds["images"].num_rows == N_IMAGES == len(set(ds["images"]["image_id"]))
    stored = ds["images"].cast_column("image", datasets.Image(decode=False))
    for row in stored:
        assert row["image"]["bytes"] == (pictures / row["image"]["path"]).read_bytes()


def test_with_images_gives_every_row_its_image(built):
    ds = with_images(load(built, "made_iou_qou"), built)
    assert isinstance(ds, datasets.DatasetDict)
    for rows in ds.values():
        assert rows.features["image"] == datasets.Image()
        for row in rows:
            assert colour(row["image"]) == colour_of(row["image_id"])


def test_streamed_rows_get_their_images_too(built):
    ds = with_images(load(built, "made_iou_qou", streaming=True), built)
    assert isinstance(ds, datasets.IterableDatasetDict)
    assert ds["test"].features["image"] == datasets.Image()
    plain = load(built, "made_iou_qou", streaming=True)
    for row, without in zip(ds["test"], plain["test"], strict=True):
        assert colour(row.pop("image")) == colour_of(row["image_id"])
        assert row == without


def test_the_column_survives_common_operations(built, tmp_path):
    rows = with_images(load(built, "made_iou_qou", split="train"), built)
    shuffled = rows.shuffle(seed=1).filter(lambda row: row["label"] > 0).select(range(5))
    for row in shuffled.map(lambda row: {"width": row["image"].width}):
        assert row["width"] == 8
        assert colour(row["image"]) == colour_of(row["image_id"])
    shuffled.save_to_disk(tmp_path / "saved")
    assert colour(datasets.load_from_disk(str(tmp_path / "saved"))[0]["image"])
    assert colour(pickle.loads(pickle.dumps(shuffled))[0]["image"])
    embedded = datasets.table.embed_table_storage(shuffled.with_format("arrow")[:])  # as push_to_hub does
    assert all(image["bytes"] for image in embedded["image"].to_pylist())


@pytest.mark.slow
def test_another_process_can_open_the_addresses(built, tmp_path):
    with_images(load(built, "made_iou_qou", split="test"), built).save_to_disk(tmp_path / "saved")
    code = """
import sys, datasets, hf_vqa_mc.data.stored_images
print(datasets.load_from_disk(sys.argv[1])[3]["image"].size)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "saved"], capture_output=True, text=True, check=True)
    assert done.stdout == "(8, 8)\n"


def test_the_folder_here_is_found_without_being_named(built, monkeypatch):
    rows = load(built, "made_iou_qou", split="test")
    monkeypatch.chdir(built.parent)
    assert colour(with_images(rows)[0]["image"]) == colour_of("0")
    monkeypatch.chdir(built.parent.parent)
    with pytest.raises(InputError, match=r"no built folder vqa_mc; give it: with_images\(ds, images="):
        with_images(rows)


def test_a_dataset_name_of_others_leads_to_no_other_folder(built):
    rows = load(built, "made_iou_qou", split="test")
    for name in (str(built), f"../{built.name}"):
        rows.info.dataset_name = name
        with pytest.raises(InputError, match="the rows do not record their origin"):
            with_images(rows)


def test_links_of_an_image_folder_are_followed(tmp_path):
    draw_images(tmp_path / "elsewhere", table(("2", "2.png")))
    (tmp_path / "files" / "deep").mkdir(parents=True)
    draw_images(tmp_path / "files", table(("3", "deep/3.png")))
    (tmp_path / "files" / "all").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "files" / "deep" / "round").symlink_to(tmp_path / "files")
    (tmp_path / "files" / "4.png").symlink_to("deep/3.png")
    found = find_images(table(("2", "2.png"), ("3", "3.png"), ("4", "4.png")), tmp_path / "files")
    expected = {"2": "all/2.png", "3": "deep/3.png", "4": "4.png"}
    assert found.paths == {name: tmp_path / "files" / path for name, path in expected.items()}


def test_the_images_config_itself_can_be_named_and_a_folder_afar(built):
    rows = load(built, "made_iou_qou", split="test")
    fsspec.filesystem("memory").put(str(built), "/somewhere/vqa_mc", recursive=True)
    for given in (built / "made_images", f"file://{built}", "memory://somewhere/vqa_mc"):
        found = with_images(rows, given)
        assert [colour(row["image"]) for row in found] == [colour_of(row["image_id"]) for row in found]


def test_rows_from_the_hub_look_there(built, tmp_path):
    folder = tmp_path / "cache" / "someone___vqa_mc"  # as datasets names it
    rows = load_dataset(str(built), "made_iou_qou", split="test", cache_dir=str(folder))
    assert origin(rows) == "someone/vqa_mc"
    rows = load(built, "made_iou_qou", split="test", streaming=True)
    rows._token_per_repo_id = {"someone/vqa_mc": None}
    assert origin(rows) == "someone/vqa_mc"


def test_a_folder_without_images_of_the_source_is_reported(built, tmp_path):
    rows = load(built, "made_iou_qou", split="test")
    write_made(tmp_path / "other", "iou")
    with pytest.raises(InputError, match=r"has no images for made_iou_qou; build them with vqa-mc build"):
        with_images(rows, tmp_path / "other")
    shutil.copytree(built / "made_images", tmp_path / "other" / "else_images")
    with pytest.raises(InputError, match=r"has no images for made_iou_qou \(it has else_images\)"):
        with_images(rows, tmp_path / "other")


def test_rows_of_images_that_are_not_there_are_refused_at_once(built):
    rows = load(built, "made_iou_qou", split="test")
    strange = rows.map(lambda row: {"image_id": "x" + row["image_id"]})
    with pytest.raises(InputError, match=r"9 of the images are not in .*: image_id x0, x100, x101"):
        with_images(strange, built)


def test_the_longest_source_that_fits_is_taken(built, tmp_path):
    for name in ("vqa_images", "vqa_minus_images"):
        shutil.copytree(built / "made_images", tmp_path / "vqa_mc" / name)
    rows = load(built, "made_iou_qou", split="test")
    for config, expected in {"vqa_minus_iou_qou": "vqa_minus_images", "vqa_iou": "vqa_images"}.items():
        rows.info.config_name = config
        address = with_images(rows, tmp_path / "vqa_mc").cast_column("image", datasets.Image(decode=False))[0]
        assert f"%2F{expected}/0" in address["image"]["path"]


def test_embedded_images_are_in_every_row(tmp_path, pictures, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_BYTES", 2_000)
    folder = write_made(tmp_path / "vqa_mc", "iou", images=find_images(TRIPLETS, pictures), embed_images=True)
    assert not (folder / "made_images").exists()
    ds = load(folder, "made_iou")
    for row in ds["train"]:
        assert colour(row["image"]) == colour_of(row["image_id"])
    assert len(list((folder / "made_iou").iterdir())) > 2
    assert "adds them" not in (folder / "README.md").read_text()


def test_a_source_built_again_without_images_keeps_them(tmp_path, built):
    folder = tmp_path / "vqa_mc"
    shutil.copytree(built, folder)
    write_made(folder, "iou")
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["made_images", "made_iou"]
    assert colour(with_images(load(folder, "made_iou"), folder)["train"][5]["image"])


@pytest.mark.parametrize(
    "name", ["123.png", "v7w_123.png", "COCO_val2014_000000000123.png", "train2014/000000000123.png", "a/b/0123.PNG"]
)
def test_an_image_is_known_by_its_number(tmp_path, name):
    draw_images(tmp_path, table(("123", name)))
    found = find_images(table(("123", "v7w_123.jpg")), tmp_path)
    assert found.paths == {"123": tmp_path / name}


def test_equal_names_in_two_folders_are_distinguished_by_folder_or_refused(tmp_path):
    both = table(("train-5", "train/images/5.png"), ("test-5", "test/images/5.png"))
    draw_images(tmp_path / "data", both)
    found = find_images(both, tmp_path)
    assert [found.paths[i].parts[-3] for i in ("train-5", "test-5")] == ["train", "test"]
    shutil.rmtree(tmp_path / "data" / "test")
    with pytest.raises(InputError, match=r"1 of 2 missing: test/images/5.png \(image_id 'test-5'\)"):
        find_images(both, tmp_path)
    draw_images(tmp_path, table(("1", "a/1.png"), ("1", "b/1.png")))
    with pytest.raises(InputError, match=r"1 of 1 found twice: v7w_1.jpg \(image_id '1'\): .*a/1.png and .*b/1.png"):
        find_images(table(("1", "v7w_1.jpg")), tmp_path)


@pytest.mark.parametrize("kind", ["truncated.jpg", "empty.png", "text.png"])
def test_unreadable_images_are_refused(tmp_path, kind):
    path = tmp_path / kind
    Image.effect_noise((64, 64), 50).convert("RGB").save(tmp_path / "whole.jpg")
    content = {
        "truncated.jpg": (tmp_path / "whole.jpg").read_bytes()[:-500],
        "empty.png": b"",
        "text.png": b"no image",
    }
    path.write_bytes(content[kind])
    with pytest.raises(InputError, match=rf"1 of 2 unreadable: .*{kind} \("):
        find_images(table(("1", kind), ("2", "whole.jpg")), tmp_path)


def test_one_look_reads_few_images(tmp_path):
    names = table(*((str(i), f"{i}.png") for i in range(50)))
    images = find_images(names, draw_images(tmp_path / "pictures", names))
    write_made(tmp_path / "vqa_mc", "iou", images=images)
    file = pq.ParquetFile(tmp_path / "vqa_mc" / "made_images" / "images-00000-of-00001.parquet").metadata
    assert [file.row_group(i).num_rows for i in range(file.num_row_groups)] == [16, 16, 16, 2]
    assert ROWS_PER_GROUP == 16


def test_an_address_holds_any_folder_and_any_id(tmp_path, pictures):
    ids = table(("a/b c%é", "COCO_val2014_000000000000.png"))
    images = find_images(ids, pictures)
    folder = tmp_path / "a folder%20é" / "vqa_mc"
    folder.parent.mkdir()
    write_made(folder, "iou", images=images)
    address = image_address(str(folder / "made_images"), "a/b c%é")
    decoded = datasets.Image().decode_example({"path": address, "bytes": None})
    assert colour(decoded) == colour_of("0")


def test_real_images_are_found_by_coco_s_numbers(real_data, real_cocoqa, tmp_path):
    with tarfile.open(real_data / "images" / "coco_short_side_224.tar") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not in Python 3.11.2
        archive.extractall(tmp_path)
    numbers = {int(path.stem) for path in tmp_path.rglob("*.jpg")}
    triplets = read_triplets("cocoqa", real_cocoqa)
    selected = triplets.filter(pa.array([int(image_id) in numbers for image_id in triplets["image_id"].to_pylist()]))
    assert selected.num_rows == 566
    found = find_images(selected, tmp_path)
    assert len(found.paths) == 326
    assert all(int(path.stem) == int(image_id) for image_id, path in found.paths.items())
