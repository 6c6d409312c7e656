"""Rows with the same picture share its id, and its bytes are found wherever the benchmark keeps them."""

import hashlib
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.errors import InputError
from tests.data.shapes import as_base64, picture
from tests.dataset.fixtures import write_made

RED, BLUE = picture("red"), picture("blue")
ROWS = {"index": ["1", "2", "3"], "question": ["a", "b", "c"], "choices": [["x", "y"]] * 3, "label": [0, 1, 0]}
STORED = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def read(folder, **more):
    options = {name: more.pop(name) for name in ("image", "images") if isinstance(more.get(name), str | Path)}
    pq.write_table(pa.table({**ROWS, **more}), folder / "rows.parquet")
    return read_benchmark(str(folder / "rows.parquet"), **options).test


def contents(split):
    read = (split.images.read(row) for row in range(split.rows.num_rows))
    return [one[0] if len(one) == 1 else one or None for one in read]


def ids(split):
    return split.rows["image_id"].to_pylist()


MANY = {"question": [f"{row}?" for row in range(60)], "choices": [["x", "y"]] * 60, "label": [0, 1] * 30}
SAME = [f"pictures/{row // 4}.png" for row in range(60)]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("image", ["image.png"] * 60),
        ("image", [["image.png"]] * 60),
        ("image", [{"bytes": None, "path": "question/image.png"}] * 60),
        ("image", ["image.png", None, None] * 20),
        ("image", ["image.png", "image.jpg"] * 30),
        ("image_path", ["image.png"] * 60),
        ("video", ["video.mp4"] * 60),
    ],
)
def test_a_missing_file_that_most_rows_name_does_not_group_them(column, cells, tmp_path):
    benchmark = read_benchmark({"test": pd.DataFrame({**MANY, column: cells})})
    assert ids(benchmark.test) == [""] * 60
    assert len(set(benchmark.test.units)) == 60
    (note,) = benchmark.notes
    assert re.search(rf"most rows name the {column[:5]} .*(image|video).*--image ''", note)
    assert "are not read" in benchmark.test.images_missing or "none of" in benchmark.test.images_missing
    assert benchmark.test.image_columns


FEW = [path if row % 4 else "image.png" for row, path in enumerate(SAME)]
VIDEOS = [f"v{row // 3}" for row in range(60)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"image": ["image.png"] * 60, "video_id": VIDEOS}, VIDEOS),  # one missing image
        ({"image": FEW}, [path.removeprefix("pictures/") for path in FEW]),
        ({"image": SAME, "video": ["a.mp4"] * 60}, [path.removeprefix("pictures/") for path in SAME]),
    ],
)
def test_missing_files_of_a_few_rows_each_group_them(columns, expected):
    split = read_benchmark({"test": pd.DataFrame({**MANY, **columns})}).test
    assert ids(split) == expected
    assert len(set(split.units)) == len(set(expected))


@pytest.mark.parametrize("name", ["video", "video_id", "vid_name", "videoID", "clip_name", "youtube_id", "videos"])
@pytest.mark.parametrize("image", [{}, {"image": [None] * 60}, {"image": [""] * 60}], ids=["", "null", "empty"])
def test_rows_about_one_video_are_one_unit(name, image, tmp_path):
    clips = [[f"{row // 4}.mp4"] if name == "videos" else f"{row // 4}.mp4" for row in range(60)]
    split = read_benchmark({"test": pd.DataFrame({**MANY, **image, name: clips})}).test
    assert split.clusters.tolist() == [row // 4 for row in range(60)]
    assert split.images_missing == "the rows name videos, e.g. 0.mp4 in row 1, which are not read"


def test_a_row_without_a_picture_has_none(tmp_path):
    split = read(
        tmp_path, image=pa.array([None, {"bytes": BLUE, "path": None}, {"bytes": None, "path": None}], STORED)
    )
    assert contents(split) == [None, BLUE, None]
    assert ids(split)[0] == ids(split)[2] == ""


def test_references_are_to_the_index_where_there_is_one(tmp_path):
    pictures = [as_base64(RED), as_base64(BLUE), "1"]
    split = read(tmp_path, image=pictures, question_id=["3", "1", "2"])
    assert split.rows["question_id"].to_pylist() == ["3", "1", "2"]
    assert contents(split) == [RED, BLUE, RED]
    assert ids(split)[2] == ids(split)[0]
    rows = {name: values for name, values in ROWS.items() if name != "index"}
    pq.write_table(pa.table({**rows, "image": pictures, "question_id": ["3", "1", "2"]}), tmp_path / "b.parquet")
    assert contents(read_benchmark(str(tmp_path / "b.parquet")).test) == [RED, BLUE, BLUE]


def test_a_reference_may_lead_to_another_but_not_round(tmp_path):
    split = read(tmp_path, image=[as_base64(RED), "1", "2"])
    assert contents(split) == [RED] * 3
    assert len(set(ids(split))) == 1
    split = read(tmp_path, image=[as_base64(RED), "3", "2"])
    assert split.images.read(0) == (RED,)
    with pytest.raises(InputError, match="row 2: no image '2'"):
        split.images.read(1)


def test_broken_base64_is_refused_by_name_when_it_is_looked_at(tmp_path):
    split = read(tmp_path, image=[as_base64(RED), "A" * 5001, as_base64(RED)])
    assert len(set(ids(split))) == 2
    with pytest.raises(InputError, match=r"rows.parquet, image, row 2: the image is not base64 text"):
        split.images.read(1)


def test_paths_start_from_the_files_folder_and_never_leave_it(tmp_path):
    (tmp_path / "secret.png").write_bytes(RED)
    folder = tmp_path / "benchmark"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures" / "1.png").write_bytes(RED)
    split = read(folder, image_path=["pictures/1.png", "../secret.png", str(tmp_path / "secret.png")])
    assert split.images.read(0) == (RED,)
    assert contents(split) == [RED, None, None]


def test_names_alone_are_no_images_until_a_folder_is_named(tmp_path):
    assert read(tmp_path, image=["1.png", "2.png", "1.png"]).images is None
    assert read(tmp_path, image_id=["1", "2", "1"]).images is None
    folder = tmp_path / "pictures"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "1.png").write_bytes(RED)
    (folder / "2.png").write_bytes(BLUE)
    for names in ({"image_id": ["1", "2", "1"]}, {"image": ["1.png", "2.png", "1.png"]}):
        split = read(tmp_path, images=folder, **names)
        assert contents(split) in ([RED, BLUE, RED],)
    with pytest.raises(InputError, match="holds no image of the benchmark, such as '8'"):
        read(tmp_path, images=folder, image_id=["8", "9", "8"])
    with pytest.raises(InputError, match="nowhere: expected an existing folder"):
        read(tmp_path, images=tmp_path / "nowhere")


def missing(folder, **more):
    split = read(folder, **more)
    assert split.images is None
    return split.images_missing


def test_why_there_are_no_images_is_said_with_a_remedy(tmp_path):
    remedy = "give the folder of the images with --images DIR"
    paths = ["pics/1.jpg", "pics/2.jpg", "pics/1.jpg"]
    assert missing(tmp_path, image_path=paths) == f"none of 2 image paths exists, e.g. pics/1.jpg in row 1; {remedy}"
    assert missing(tmp_path, image=pa.array([{"bytes": None, "path": path} for path in paths], STORED)).startswith(
        "none of 2 image paths exists"
    )
    assert missing(tmp_path, image_id=["1", "2", "1"]) == f"the rows only name their images, e.g. 1; {remedy}"
    web = missing(tmp_path, image_url=["https://a.b/c.jpg"] * 3)
    assert web.startswith(
        "the images are on the web and are not read, e.g. https://a.b/c.jpg in row 1; download them "
    )
    assert "\n" not in missing(tmp_path, image_path=["a\nb.jpg"] * 3)
    many = {name: values[:1] * 1500 for name, values in ROWS.items()}
    pq.write_table(pa.table({**many, "image": [f"{n}.png" for n in range(1500)]}), tmp_path / "many.parquet")
    assert "none of the first 1000 image paths" in read_benchmark(str(tmp_path / "many.parquet")).test.images_missing
    assert missing(tmp_path) == ""
    assert missing(tmp_path, image=[None, None, None]) == ""
    (tmp_path / "pics").mkdir()
    for name in ("1", "2"):
        (tmp_path / "pics" / f"{name}.jpg").write_bytes(RED)
    found = read(tmp_path, image_path=paths)
    assert (found.images_missing, found.images.read(0)) == ("", (RED,))
    assert read(tmp_path, image_id=["1", "2", "1"], images=tmp_path / "pics").images_missing == ""


def test_all_images_of_a_row_are_read_in_order_and_give_its_id(tmp_path):
    split = read(tmp_path, image_1=[RED, RED, RED], image_2=[BLUE, None, BLUE])
    assert contents(split) == [(RED, BLUE), RED, (RED, BLUE)]
    assert ids(split)[0] == ids(split)[2] != ids(split)[1] == hashlib.sha256(RED).hexdigest()
    listed = read(tmp_path, images_=[None] * 3, image=pa.array([[RED, BLUE], [RED], []], pa.list_(pa.binary())))
    assert contents(listed) == [(RED, BLUE), RED, None]
    assert [listed.images.count(row) for row in range(3)] == [2, 1, 0]
    assert ids(listed) == [*ids(split)[:2], ""]


def test_rows_with_several_images_and_one_id_are_told_apart(tmp_path):
    cells = {"image_1": [RED, RED, RED], "image_2": [BLUE, RED, BLUE], "image_id": ["a", "a", "a"]}
    split = read(tmp_path, **cells)
    assert ids(split)[0] == ids(split)[2] != ids(split)[1]
    pq.write_table(pa.table({**ROWS, **cells}), tmp_path / "rows.parquet")
    named = read_benchmark(str(tmp_path / "rows.parquet"), columns={"image_id": "image_id"})
    assert ids(named.test) == ["a"] * 3


def test_lists_of_paths_in_text_are_several_images(tmp_path):
    for name, content in (("1.png", RED), ("2.png", BLUE)):
        (tmp_path / name).write_bytes(content)
    split = read(tmp_path, image=["['1.png', '2.png']", '["2.png"]', "1.png"])
    assert contents(split) == [(RED, BLUE), BLUE, RED]
    split = read(tmp_path, image_path=pa.array([["1.png", "2.png"], ["2.png"], None]))
    assert contents(split) == [(RED, BLUE), BLUE, None]


def test_several_images_are_found_in_a_folder_by_name(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "1.png").write_bytes(RED)
    (tmp_path / "deep" / "2.png").write_bytes(BLUE)
    split = read(tmp_path, images=tmp_path / "deep", image_1=["1.png", "2", "1.png"], image_2=["2.png", None, "3.png"])
    assert contents_of(split, 0, 1) == [(RED, BLUE), (BLUE,)]
    with pytest.raises(InputError, match=r"no image .3.png."):
        split.images.read(2)


@pytest.mark.parametrize("names", [["train/1", "train/2", "train/1"], ["val/1.png", "val/2.png", "val/1.png"]])
def test_ids_with_folders_are_kept_and_found_by_their_names(names, tmp_path):
    (tmp_path / "files").mkdir()
    for name, content in (("1.png", RED), ("2.png", BLUE)):
        (tmp_path / "files" / name).write_bytes(content)
    split = read(tmp_path, image_id=names, images=tmp_path / "files")
    assert (ids(split), contents(split)) == (names, [RED, BLUE, RED])
    of_all = dataset_images(str(tmp_path / "rows.parquet"), None, tmp_path / "files")
    assert (of_all.image_ids, of_all.missing) == (names[:2], [])


def contents_of(split, *rows):
    return [split.images.read(row) for row in rows]


def test_an_image_column_of_numbers_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="image=number: holds int64, expected images"):
        read(tmp_path, number=[1, 2, 3], image="number")


@pytest.mark.parametrize("embedded", [False, True])
def test_our_own_folders_show_their_images(embedded, tmp_path):
    rows = {"train": 6, "test": 4}
    output = write_made(tmp_path / "vqa_mc", "iou_qou", images=True, rows=rows, embed_images=embedded)
    benchmark = read_benchmark(str(output), "made_iou_qou")
    assert (benchmark.evaluated, list(benchmark.splits)) == ("test", ["train", "test"])
    for split in benchmark.splits.values():
        for row, image_id in enumerate(ids(split)):
            drawn = tmp_path / "pictures" / f"COCO_val2014_{int(image_id):012d}.png"
            assert split.images.read(row) == (drawn.read_bytes(),)
        assert all(kinds.count("target") == 1 for kinds in split.rows["choice_kinds"].to_pylist())
