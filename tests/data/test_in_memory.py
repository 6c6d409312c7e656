"""Datasets and data frames in memory are read as files are, images included, and come back as a DatasetDict."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Image, load_dataset
from PIL import Image as Pictures

import hf_vqa_mc as vm
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from tests.data.shapes import CHOICES, LABELS, QUESTIONS, SHAPES, picture, table
from tests.dataset.fixtures import write_made

COLOURS = ["red", "blue", "red", "green"]
KINDS = {
    "Dataset": lambda rows: Dataset(rows),
    "Dataset with indices": lambda rows: Dataset(rows.take([3, 2, 1, 0])).select([3, 2, 1, 0]),
    "formatted Dataset": lambda rows: Dataset(rows).with_format("numpy"),
    "DatasetDict": lambda rows: DatasetDict(train=Dataset(rows), test=Dataset(rows)),
    "DataFrame": lambda rows: rows.to_pandas(),
    "DataFrame with an index": lambda rows: rows.to_pandas().set_axis([9, 9, 7, 7]),
}


def opened():
    return [Pictures.open(io.BytesIO(picture(colour))) for colour in COLOURS]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_object_reads_as_its_file_does(kind, shape, tmp_path):
    pq.write_table(table(shape), tmp_path / "rows.parquet")
    expected = vm.read_benchmark(tmp_path / "rows.parquet")
    found = vm.read_benchmark(KINDS[kind](table(shape)))
    assert found.test.rows.equals(expected.test.rows)
    assert found.read_as == expected.read_as
    assert set(found.splits) == ({"train", "test"} if kind == "DatasetDict" else {"test"})


def test_records_are_read():
    rows = [{"question": f"q {row}", "choices": ["x", "y"], "label": row % 2, "note": None} for row in range(4)]
    rows[1]["note"] = 7  # a whole number remains one
    found = vm.read_benchmark(rows)
    assert found.test.rows["label"].to_pylist() == [0, 1, 0, 1]
    assert found.test.original["note"].to_pylist() == [None, 7, None, None]

    named_dataset = pd.DataFrame(rows).assign(dataset="x")
    assert vm.read_benchmark(named_dataset).test.rows.equals(found.test.rows)
    with pytest.raises(InputError, match="found a list"):
        vm.read_benchmark(["rows"])


@pytest.mark.slow
@pytest.mark.usefixtures("untrained_report_probes")
def test_images_that_records_name_are_read_and_the_result_of_a_remedy_keeps_them_and_its_name(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    records = []
    for row in range(24):
        path = tmp_path / "images" / f"{row}.png"
        path.write_bytes(picture(f"#{row:02x}0000"))
        choices = ["red", "blue", "green"]
        named = str(path) if row % 2 else f"images/{row}.png"
        records.append({"id": row, "image": named, "question": "what color", "choices": choices, "label": row % 3})
    monkeypatch.chdir(tmp_path)
    assert vm.read_benchmark(records).has_all_images
    pd.DataFrame(records).assign(image=[f"{row}.png" for row in range(24)]).to_csv("rows.csv", index=False)
    for given, images, name in ((records, None, "dataset"), ("rows.csv", "images", "rows.csv")):
        fixed = vm.remedy(given, images=images, guarantee="choices", set_size=3)
        found = vm.read_benchmark(fixed)
        assert found.dataset == name and found.has_all_images
        assert found.test.rows.equals(fixed.remedied.test.rows)


@pytest.mark.parametrize("decode", [True, False])
def test_images_of_a_dataset_are_read(decode):
    rows = Dataset.from_dict({"question": QUESTIONS, "choices": CHOICES, "label": LABELS, "image": opened()})
    rows = rows.cast_column("image", Image(decode=decode))
    split = vm.read_benchmark(rows).test
    shown = [Pictures.open(io.BytesIO(split.images.read(row)[0])).getpixel((0, 0)) for row in range(4)]
    assert shown == [(255, 0, 0), (0, 0, 255), (255, 0, 0), (0, 128, 0)]
    assert split.clusters.tolist() == [0, 1, 0, 2]


def test_images_of_a_data_frame_are_read(tmp_path):
    frame = pd.DataFrame({"question": QUESTIONS, "choices": CHOICES, "label": LABELS})
    for images in (opened(), [picture(colour) for colour in COLOURS], [*opened()[:3], None]):
        split = vm.read_benchmark(frame.assign(image=images)).test
        assert Pictures.open(io.BytesIO(split.images.read(1)[0])).getpixel((0, 0)) == (0, 0, 255)
    (tmp_path / "one.png").write_bytes(picture("blue"))
    split = vm.read_benchmark(frame.assign(image="one.png"), images=tmp_path).test
    assert split.images.read(3) == (picture("blue"),)


def test_images_of_a_built_folder_are_found_from_its_rows(tmp_path, monkeypatch):
    built = write_made(tmp_path / "vqa_mc", "iou", source="cocoqa", images=True)
    expected = vm.read_benchmark(built, "cocoqa_iou").test
    rows = load_dataset(str(built), "cocoqa_iou")
    monkeypatch.chdir(tmp_path)
    for given in (rows, vm.with_images(rows, built), vm.with_images(rows["test"], built)):
        split = vm.read_benchmark(given).test
        assert split.rows.equals(expected.rows)
        assert split.images.read(0) == expected.images.read(0)


def test_other_choices_come_back_as_a_dataset_dict(tmp_path):
    rows = Dataset.from_dict({"question": QUESTIONS, "choices": CHOICES, "label": LABELS, "image": opened()})
    benchmark = vm.read_benchmark(DatasetDict(validation=rows))
    split = benchmark.test
    table = benchmark.with_choices(split, [["new", "y"]] * 4, [0] * 4)
    back = benchmark.to_datasets({"validation": table})
    assert back["validation"].features == rows.features
    assert back["validation"][0]["choices"] == ["new", "y"]
    assert back["validation"][1]["image"].getpixel((0, 0)) == (0, 0, 255)
    assert vm.read_benchmark(back).test.rows["label"].to_pylist() == [0] * 4
    write_benchmark(benchmark, {"validation": table}, tmp_path / "written")
    assert load_dataset(str(tmp_path / "written"))["validation"].to_list() == back["validation"].to_list()


def test_mixed_columns_of_a_data_frame_are_kept_as_text():
    frame = pd.DataFrame({"question": ["a", "b"], "A": ["x", np.nan], "B": ["y", "z"], "C": ["u", "w"]})
    split = vm.read_benchmark(frame.assign(answer=["A", "C"], score=[1, {"of": 2}])).test
    assert split.rows["choices"].to_pylist() == [["x", "y", "u"], ["", "z", "w"]]
    assert split.original["score"].to_pylist() == ["1", '{"of": 2}']


@pytest.mark.parametrize("names", [["B", "A"], ["no", "yes"], ["A", "B"], ["wrong", "right"]])
def test_names_of_a_class_label_must_not_contradict_the_index(names):
    rows = {"question": list("abcd"), "choices": [["yes", "no"]] * 4, "label": [0, 1, 0, 1]}
    given = Dataset.from_dict(rows).cast_column("label", ClassLabel(names=names))
    if names in (["A", "B"], ["wrong", "right"]):
        assert vm.read_benchmark(given).test.rows["label"].to_pylist() == [0, 1, 0, 1]
    else:
        with pytest.raises(InputError, match=r"row 1: .*store the names of the ClassLabel as text"):
            vm.read_benchmark(given)


def test_unreadable_content_is_rejected():
    frame = pd.DataFrame({"question": ["a"], "choices": [["x", "y"]], "label": [0]})
    wrong = {
        "found a list; expected a Dataset": [frame],
        "found a IterableDataset; expected a Dataset": Dataset.from_pandas(frame).to_iterable_dataset(),
        "has no splits": DatasetDict(),
        "column 'other': .*; expected text": frame.assign(other=[object()]),
        "the column 'choices' has sets, which have no order": frame.assign(choices=[{"x", "y"}]),
        "the column 'label' occurs more than once": pd.concat([frame, frame[["label"]]], axis=1),
        "no rows": frame[:0],
    }
    for message, given in wrong.items():
        with pytest.raises(InputError, match=message):
            vm.read_benchmark(given)
    with pytest.raises(InputError, match="has no configs; remove 'all'"):
        vm.read_benchmark(frame, "all")


def test_a_benchmark_describes_itself(tmp_path):
    rows = {
        "question": ["a", "b", "c"],
        "options": ["['x', 'y']", "[]", "['u', 'v', 'w']"],
        "answer": ["B", "17", "A"],
    }
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    assert repr(vm.read_benchmark(tmp_path / "rows.parquet")) == (
        f"Benchmark({tmp_path / 'rows.parquet'})\n"
        "read: question=question, choices=options, label=answer (letters)\n"
        "test: 2 rows, 2 to 3 choices, no images; evaluated by default\n"
        "left out: test (rows without choices) (1 of 3 rows)"
    )
