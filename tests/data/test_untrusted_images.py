"""A benchmark does not decide which of the user's files are read, or which hosts are asked."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, Features, Image, List, Value

import hf_vqa_mc as vm
from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.stored_images import find_images, image_address
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.pictures import open_image
from tests.data.shapes import picture
from tests.sources.loopback import Publisher, serving

RED, BLUE = picture("red"), picture("blue")
FEATURES = Features(
    {"question": Value("string"), "choices": List(Value("string")), "label": Value("int64"), "image": Image()}
)


def rows(paths):
    cells = [{"bytes": None, "path": path} for path in paths]
    image = pa.array(cells, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    number = len(cells)
    columns = {"question": ["a"] * number, "choices": [["x", "y"]] * number, "label": [0] * number, "image": image}
    return pa.table(columns).cast(FEATURES.arrow_schema)


def folder_of(path, paths):
    """A folder that load_dataset reads, whose column ``image`` names these paths."""
    path.mkdir()
    pq.write_table(rows(paths), path / "test.parquet")
    return path


@pytest.fixture
def secret(tmp_path):
    """A file that the user never gave, an image so that nothing but its location keeps it out."""
    (tmp_path / "private").mkdir()
    path = tmp_path / "private" / "secret.png"
    path.write_bytes(BLUE)
    return path


@pytest.fixture
def images_config(tmp_path, secret):
    """An images config elsewhere on the disk."""
    folder = tmp_path / "other" / "made_images"
    folder.mkdir(parents=True)
    stored = pa.table({"image_id": ["0"], "image": [{"bytes": BLUE, "path": "0.png"}]})
    pq.write_table(stored, folder / "images-00000-of-00001.parquet")
    return folder


def attacks(folder, secret, images_config):
    """Names that lead out of the folder."""
    (folder / "link.png").symlink_to(secret)
    (folder / "links").symlink_to(secret.parent)
    (folder / "loop").symlink_to("loop")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "key.png").write_bytes(BLUE)
    return [
        str(secret),
        "../private/secret.png",
        "pictures/../../private/secret.png",
        "link.png",
        "links/secret.png",
        "loop/../link.png",
        "loop/../links/../link.png/",
        ".hidden/key.png",
        f"file://{secret}",
        f"local://{secret}",
        image_address(str(images_config), "0"),
        image_address("http://127.0.0.1:9/images", "0"),
        image_address("made_images", "0"),  # relative to the current directory
        image_address(f"{folder}/x::{images_config}", "0"),
        "http://127.0.0.1:9/secret.png",
        "hf://datasets/someone/else/secret.png",
        f"zip://secret.png::{secret}",
    ]


def bytes_below(folder):
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_no_name_leads_out_of_the_benchmarks_folder(kind, tmp_path, secret, images_config, monkeypatch):
    monkeypatch.chdir(images_config.parent)
    folder = folder_of(tmp_path / "bench", ["own.png"])
    (folder / "own.png").write_bytes(RED)
    names = ["own.png", *attacks(folder, secret, images_config)]
    (folder / "test.parquet").unlink()
    pq.write_table(rows(names), (tmp_path if kind == "file" else folder) / "test.parquet")
    if kind == "file":
        (tmp_path / "test.parquet").rename(folder / "test.parquet")
    benchmark = read_benchmark(str(folder / "test.parquet" if kind == "file" else folder))
    split = benchmark.test
    assert [split.images.read(row) for row in range(len(names))] == [(RED,)] + [()] * (len(names) - 1)
    outside, on_the_web = benchmark.notes
    assert outside.startswith(f"{len(names) - 2} images are outside of the dataset's folder and are not read, e.g. ")
    assert ", row 2: " in outside
    assert "1 images are on the web and are not read" in on_the_web
    assert all(note.endswith("give the folder of the images with --images DIR") for note in benchmark.notes)


def test_a_written_benchmark_holds_no_foreign_bytes_and_keeps_every_row(tmp_path, secret, images_config):
    folder = folder_of(tmp_path / "bench", [])
    (folder / "own.png").write_bytes(RED)
    (folder / "notes.txt").write_bytes(b"own, but no image")
    names = ["own.png", *attacks(folder, secret, images_config)]
    pq.write_table(rows(names), folder / "test.parquet")
    benchmark = read_benchmark(str(folder))
    with pytest.warns(UserWarning, match=r"images of test could not be read and remain paths, e.g. row 2: the image"):
        write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "written")
    table = pq.read_table(next((tmp_path / "written").rglob("*.parquet")))
    assert table["image"].to_pylist() == [
        {"bytes": RED, "path": "own.png"},
        *({"bytes": None, "path": name} for name in names[1:]),
    ]
    assert BLUE not in bytes_below(tmp_path / "written")
    pq.write_table(rows(["own.png", "notes.txt", f"{'x' * 300}.png"]), folder / "test.parquet")
    benchmark = read_benchmark(str(folder))
    with pytest.warns(
        UserWarning, match=r"2 images of test could not be read and remain paths, e.g. row 2: notes.txt is not"
    ):
        write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "again")
    assert "notes.txt is not a readable image" in (tmp_path / "again" / "README.md").read_text()


def test_lists_of_images_are_embedded_by_the_same_rule(tmp_path, secret):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "own.png").write_bytes(RED)
    given = rows(["own.png"])
    cells = [[{"bytes": None, "path": "own.png"}, {"bytes": None, "path": str(secret)}, {"bytes": BLUE, "path": "b"}]]
    features = Features({**FEATURES, "image": List(Image())})
    given = given.drop_columns(["image"]).append_column("image", pa.array(cells, features.arrow_schema.field(3).type))
    pq.write_table(given.cast(features.arrow_schema), tmp_path / "bench" / "test.parquet")
    benchmark = read_benchmark(str(tmp_path / "bench"))
    assert benchmark.notes[0].startswith("1 images are outside of the dataset's folder")
    with pytest.warns(UserWarning, match=r"1 images of test could not be read and remain paths"):
        write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "written")
    (found,) = pq.read_table(next((tmp_path / "written").rglob("*.parquet")))["image"].to_pylist()
    assert [one["bytes"] for one in found] == [RED, None, BLUE]


def test_images_dir_is_allowed_as_well_with_what_its_links_lead_to(tmp_path, secret):
    folder = folder_of(tmp_path / "bench", [str(secret), "1.png", "2.png"])
    images = tmp_path / "images"
    images.mkdir()
    (images / "1.png").write_bytes(RED)
    (images / "2.png").symlink_to(secret)
    benchmark = read_benchmark(str(folder), images=images)
    assert [benchmark.test.images.read(row) for row in range(3)] == [(), (RED,), (BLUE,)]
    assert read_benchmark(str(folder), images=secret.parent).test.images.read(0) == (BLUE,)


def test_rows_in_memory_name_nothing_but_what_they_were_loaded_with(tmp_path, secret, images_config):
    (tmp_path / "1.png").write_bytes(RED)
    given = Dataset(rows([str(secret), str(tmp_path / "1.png"), image_address(str(images_config), "0")]))
    benchmark = read_benchmark(given)
    assert benchmark.test.images is None
    assert "3 images are outside of the dataset's folder" in benchmark.notes[0]
    assert read_benchmark(given, images=secret.parent).test.images.read(0) == (BLUE,)
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "own.png").write_bytes(RED)
    table = rows([str(tmp_path / "disk" / "own.png"), str(secret)])
    with pa.OSFile(str(tmp_path / "disk" / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    split = read_benchmark(Dataset.from_file(str(tmp_path / "disk" / "a.arrow"))).test
    assert [split.images.read(row) for row in range(2)] == [(RED,), ()]


def test_files_that_a_card_names_outside_are_refused(tmp_path, secret):
    foreign = folder_of(tmp_path / "foreign", ["x"]) / "test.parquet"
    folder = folder_of(tmp_path / "bench", ["x"])
    with serving(Publisher(files={"/test.parquet": foreign.read_bytes()})) as publisher:
        for name in (
            "../foreign/test.parquet", str(foreign), "a/../../foreign/*", f"{publisher.address}/test.parquet",
            f"file://{foreign}", "zip://test.parquet::../a.zip", "hf://datasets/someone/else/test.parquet",
        ):  # fmt: skip
            for entry in ({"data_files": name}, {"data_files": [{"split": "test", "path": ["test.parquet", name]}]}):
                (folder / "README.md").write_text(
                    f"---\n{json.dumps({'configs': [{'config_name': 'a', **entry}]})}\n---\n"
                )
                with pytest.raises(InputError, match=r"README\.md: the data file .* is outside of the dataset"):
                    read_benchmark(str(folder))
        (folder / "README.md").unlink()
        (folder / ".huggingface.yaml").write_text(
            json.dumps({"configs": [{"config_name": "a", "data_dir": "../foreign"}]})
        )
        with pytest.raises(InputError, match=r"\.huggingface\.yaml: the data file .* is outside of the dataset"):
            read_benchmark(str(folder))
        (folder / ".huggingface.yaml").write_text("configs: [")
        with pytest.raises(InputError, match=r"bench, \.huggingface\.yaml: invalid YAML \("):
            read_benchmark(str(folder))
        assert not publisher.requests
    (folder / ".huggingface.yaml").unlink()
    (folder / "train.parquet").symlink_to(foreign)
    with pytest.raises(InputError, match=r"train\.parquet is outside of the dataset; copy it into the dataset"):
        read_benchmark(str(folder))


def test_files_that_may_refer_to_other_files_are_refused(tmp_path):
    for ending in ("h5", "xml"):
        folder = tmp_path / ending
        folder.mkdir()
        (folder / f"test.{ending}").write_bytes(b"content")
        with pytest.raises(InputError, match=r"(hdf5|xml) files are not read; convert them to parquet"):
            read_benchmark(str(folder))


def test_an_images_config_that_leads_out_is_not_read(tmp_path, images_config):
    folder = tmp_path / "bench"
    (folder / "made_iou").mkdir(parents=True)
    table = rows(["x"]).drop_columns(["image"]).append_column("image_id", pa.array(["0"]))
    pq.write_table(table.replace_schema_metadata(None), folder / "made_iou" / "test.parquet")
    configs = [{"config_name": name, "data_files": f"{name}/*"} for name in ("made_iou", "made_images")]
    (folder / "README.md").write_text(f"---\n{json.dumps({'configs': configs})}\n---\n")
    (folder / "made_images").symlink_to(images_config)
    assert read_benchmark(str(folder), "made_iou").test.images is None
    (folder / "made_images").unlink()
    (folder / "made_images").mkdir()
    file = "images-00000-of-00001.parquet"
    (folder / "made_images" / file).symlink_to(images_config / file)
    assert read_benchmark(str(folder), "made_iou").test.images is None
    (folder / "made_images" / file).unlink()
    os.link(images_config / file, folder / "made_images" / file)
    assert read_benchmark(str(folder), "made_iou").test.images.read(0) == (BLUE,)


def test_features_read_by_the_same_rule(tmp_path, secret):
    folder = tmp_path / "bench"
    table = rows([str(secret), "own.png", "http://127.0.0.1:9/x.png"])
    folder.mkdir()
    (folder / "own.png").write_bytes(RED)
    pq.write_table(table.append_column("image_id", pa.array(["0", "1", "2"])), folder / "test.parquet")
    done = vm.features(str(folder), "default", backbone="pixels", output=tmp_path / "features", skip_missing=True)
    assert list(done.images) == ["1"]
    assert "is outside of the dataset's folder and is not read" in done.broken["0"]
    assert "is on the web and is not read" in done.broken["2"]


def test_addresses_are_not_fetched(tmp_path):
    with serving(Publisher(files={"/1.png": RED})) as publisher:
        folder = folder_of(tmp_path / "bench", [f"{publisher.address}/1.png"])
        benchmark = read_benchmark(str(folder))
        assert "the images are on the web" in benchmark.test.images_missing
        assert "download them first, and give the folder of the images" in benchmark.test.images_missing
        with pytest.warns(UserWarning, match="is on the web and is not read; download them first"):
            write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "without")
        vm.preview(str(folder), output=tmp_path / "page.html")
        with pytest.raises(InputError, match=r"on the web and are not read, .*or export without them: image ''"):
            vm.export("vlmevalkit", str(folder), output=tmp_path / "export", name="a")
        vm.export("vlmevalkit", str(folder), output=tmp_path / "export", name="a", image="")
        assert not publisher.requests
        assert open_image(f"{publisher.address}/1.png").size  # which the user gives
        with pytest.raises(ConnectionError, match=r"cannot be fetched: .*404"):
            open_image(f"{publisher.address}/2.png")


def test_postscript_starts_no_program_anywhere(tmp_path, monkeypatch):
    def started(*arguments, **options):
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(subprocess, "check_call", started)
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n%%EOF\n"
    folder = folder_of(tmp_path / "bench", ["a.png"])
    (folder / "a.png").write_bytes(eps)
    pq.write_table(rows(["a.png"]).append_column("image_id", pa.array(["0"])), folder / "test.parquet")
    for harness in ("lmms-eval", "vlmevalkit"):
        with pytest.raises(
            InputError, match=r"1 of 1 images cannot be opened: question_id '0' \(not a readable image\)"
        ):
            vm.export(harness, str(folder), output=tmp_path / "export", name="a")
    with pytest.raises(InputError, match=r"1 of 1 broken, with image_id '0' \(not a readable image"):
        vm.features(str(folder), "default", backbone="pixels", output=tmp_path / "features")
    assert list(vm.preview(str(folder)).unreadable.values()) == ["the image cannot be read: not a readable image"]
    triplets = pa.table({"image_id": ["0"], "image_file": ["a.png"]})
    with pytest.raises(InputError, match=r"1 of 1 unreadable: .*a\.png \(not a readable image\)"):
        find_images(triplets, folder)
    for image in (eps, folder / "a.png"):
        with pytest.raises(InputError, match="not a readable image"):
            open_image(image)


def test_truncated_images_are_counted_by_every_export(tmp_path):
    folder = folder_of(tmp_path / "bench", [])
    (folder / "a.jpg").write_bytes(picture("red", "JPEG")[:-40])
    (folder / "b.png").write_bytes(RED)
    pq.write_table(rows(["a.jpg", "b.png", "a.jpg"]), folder / "test.parquet")
    for harness in ("lmms-eval", "vlmevalkit"):
        with pytest.raises(InputError, match=r"1 of 2 images cannot be opened: question_id '0' \(.*truncated"):
            vm.export(harness, str(folder), output=tmp_path / "export", name="a")


def test_a_snapshot_in_the_cache_of_the_hub_is_read_through_its_links(tmp_path):
    blobs, snapshot = tmp_path / "datasets--a--b" / "blobs", tmp_path / "datasets--a--b" / "snapshots" / "1234"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    pq.write_table(rows(["1.png", "../../../secret.png"]), blobs / "table")
    (blobs / "image").write_bytes(RED)
    (tmp_path / "secret.png").write_bytes(BLUE)
    for name, blob in {"test.parquet": "table", "1.png": "image"}.items():
        (snapshot / name).symlink_to(Path("..", "..", "blobs", blob))
    split = read_benchmark(str(snapshot)).test
    assert [split.images.read(row) for row in range(2)] == [(RED,), ()]


@pytest.fixture
def built_like(tmp_path, images_config):
    """A folder with an images config, as vqa-mc build writes it, whose files are in the cache of the Hub."""
    snapshot = tmp_path / "datasets--a--b" / "snapshots" / "1234"
    blobs = tmp_path / "datasets--a--b" / "blobs"
    blobs.mkdir(parents=True)
    for name in ("made_iou", "made_images"):
        (snapshot / name).mkdir(parents=True)
    table = rows(["x"] * 4).drop_columns(["image"]).append_column("image_id", pa.array(["0"] * 4))
    pq.write_table(table.replace_schema_metadata(None), snapshot / "made_iou" / "test.parquet")
    shutil.copy(next(images_config.iterdir()), blobs / "images")
    (snapshot / "made_images" / "images-00000-of-00001.parquet").symlink_to("../../../blobs/images")
    configs = [{"config_name": name, "data_files": f"{name}/*"} for name in ("made_iou", "made_images")]
    (snapshot / "README.md").write_text(f"---\n{json.dumps({'configs': configs})}\n---\n")
    entry = {"splits": {"images": {"rows": 1, "num_bytes": 1}}, "files": {}, "file_bytes": 1}
    found = {"made_iou": {"variant": "iou", **entry}, "made_images": {"variant": "images", **entry}}
    about = {"title": "Made", "licence": "CC0-1.0", "citation": "", "homepage": ""}
    inventory = {"written_by": "hf_vqa_mc", "layout": 1, "sources": {"made": {"about": about, "configs": found}}}
    (snapshot / "statistics.json").write_text(json.dumps(inventory))
    return snapshot


def test_a_written_benchmark_has_its_images_themselves_instead_of_links(tmp_path, built_like, secret):
    benchmark = read_benchmark(str(built_like), "made_iou")
    write_benchmark(benchmark, {"train": benchmark.test.original}, tmp_path / "written")
    shutil.rmtree(tmp_path / "datasets--a--b")
    assert read_benchmark(str(tmp_path / "written")).test.images.read(0) == (BLUE,)
    assert not [path for path in (tmp_path / "written").rglob("*") if path.is_symlink()]


def test_a_written_benchmark_has_no_links_that_lead_out(tmp_path, built_like, secret):
    benchmark = read_benchmark(str(built_like), "made_iou")
    (built_like / "made_images" / "more.parquet").symlink_to(secret)
    with pytest.raises(InputError, match=r"more.parquet: leads out of"):
        write_benchmark(benchmark, {"train": benchmark.test.original}, tmp_path / "written")


def test_damaged_images_are_reported(built_like):
    (built_like / "made_images" / "images-00000-of-00001.parquet").unlink()
    (built_like / "made_images" / "images-00000-of-00001.parquet").write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    split = read_benchmark(str(built_like), "made_iou").test
    assert split.images is None
    assert "made_images: the images are damaged" in split.images_missing
