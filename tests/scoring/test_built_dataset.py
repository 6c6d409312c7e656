"""Which config and split of a built folder are scored, and what their rows must hold."""

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.annotations import read_annotations
from hf_vqa_mc.data.stored_images import find_images
from hf_vqa_mc.dataset.folder import write_folder
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.verbs.score import score
from tests.dataset.fixtures import ABOUT, MADE_WITH, draw_images, made_variants, triplets_of

ROWS = {"train": 30, "validation": 10, "test": 20}


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def made(folder, *names, rows=ROWS):
    variants = made_variants(*names, rows=rows)
    write_folder(folder / "vqa_mc", "made", variants, about=ABOUT, made_with=MADE_WITH)
    return str(folder / "vqa_mc")


def test_images_are_no_config_to_choose_from(tmp_path):
    variants = made_variants("iou", rows=ROWS)
    pictures = triplets_of(variants[0])
    images = find_images(pictures, draw_images(tmp_path / "pictures", pictures))
    write_folder(tmp_path / "vqa_mc", "made", variants, about=ABOUT, made_with=MADE_WITH, images=images)
    assert (tmp_path / "vqa_mc" / "made_images").is_dir()
    annotations = read_annotations(str(tmp_path / "vqa_mc"))
    assert annotations.about == {"dataset": str(tmp_path / "vqa_mc"), "config": "made_iou", "split": "test"}
    with pytest.raises(InputError, match="made_images, images: no choices recognised among the columns 'image_id', "):
        read_annotations(str(tmp_path / "vqa_mc"), "made_images")


@pytest.mark.parametrize(
    ("rows", "split"),
    [
        ({"train": 30, "validation": 10, "test": 20}, "test"),
        ({"train": 30, "validation": 10}, "validation"),
        ({"train": 30}, "train"),
    ],
)
def test_the_split_is_test_else_validation_else_the_only_one(tmp_path, rows, split):
    annotations = read_annotations(made(tmp_path, "iou", rows=rows))
    assert (annotations.about["split"], len(annotations)) == (split, rows[split])
    assert annotations.names[0] == f"{split}-0"


def test_rows_come_as_they_are(tmp_path):
    (variant,) = made_variants("qou", rows=ROWS)
    annotations = read_annotations(made(tmp_path, "qou"))
    rows = variant.splits["test"].to_pydict()
    assert annotations.ids == rows["question_id"]
    assert annotations.image_ids == rows["image_id"]
    assert annotations.questions == rows["question"]
    assert annotations.choices == rows["choices"]
    assert annotations.labels == rows["label"]
    names = list(CHOICE_KINDS)
    assert annotations.choice_kinds == [[names[kind] for kind in kinds] for kinds in rows["choice_kinds"]]
    assert annotations.answers == rows["answers"]
    assert (annotations.question_types, annotations.answer_types) == (rows["question_type"], None)


def test_a_benchmark_and_its_rows_are_annotations(tmp_path):
    benchmark = read_benchmark(made(tmp_path, "iou"), "made_iou")
    read = benchmark.test.rows
    for dataset in (datasets.Dataset(read), read.to_pandas(), benchmark):
        assert read_annotations(dataset).choices == read["choices"].to_pylist()
    with pytest.raises(InputError, match="found a list; expected a Dataset, a DatasetDict, a data frame"):
        read_annotations([1])


def test_of_a_folder_around_datasets_these_are_named(tmp_path):
    (tmp_path / "work").mkdir()
    inner = made(tmp_path / "work", "iou")
    with pytest.raises(InputError, match=rf"work is not a dataset folder; did you mean {inner}\?"):
        read_annotations(str(tmp_path / "work"))
    assert len(read_annotations(inner)) == 20
    (tmp_path / "work" / "vqa_mc" / "dataset_v7w_telling.json").write_text("{}")
    with pytest.raises(InputError, match="unknown config"):  # and not that it has to be built first
        read_annotations(inner, "made_uoi")


def test_rows_of_another_maker_need_no_questions_and_labels_may_be_text(tmp_path):
    rows = pa.table({"question_id": [7], "image_id": [3], "choices": [["a", "b"]], "label": ["b"]})
    pq.write_table(rows, tmp_path / "test.parquet")
    annotations = read_annotations(str(tmp_path))
    assert (annotations.names, annotations.labels, annotations.gold) == (["7"], [1], ["b"])
    assert (annotations.image_ids, annotations.questions, annotations.answers) == (["3"], None, None)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", 9, "row 1: label is 9, expected the index of a choice"),
        ("question_id", "test-1", "have no prediction: 'test-1 .row 1.', .*; that id is in several rows"),
    ],
)
def test_rows_that_cannot_be_are_named(tmp_path, column, value, message):
    import pyarrow as pa

    (variant,) = made_variants("iou", rows=ROWS)
    rows = variant.splits["test"].to_pylist()
    rows[0][column] = value
    variant.splits["test"] = pa.Table.from_pylist(rows, variant.splits["test"].schema)
    write_folder(tmp_path / "vqa_mc", "made", [variant], about=ABOUT, made_with=MADE_WITH)
    with pytest.raises(InputError, match=message):
        score(dict.fromkeys(variant.splits["test"]["question_id"].to_pylist(), 0), tmp_path / "vqa_mc")


def test_a_name_that_the_hub_does_not_know_is_an_input_error(monkeypatch):
    import datasets
    from datasets.exceptions import DatasetNotFoundError

    def unknown(*_, **__):
        raise DatasetNotFoundError("Dataset 'somebody/vqa_mc' doesn't exist on the Hub or cannot be accessed.")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the card is not tried five times
    monkeypatch.setattr(datasets, "get_dataset_config_names", unknown)
    with pytest.raises(InputError, match="doesn't exist on the Hub or cannot be accessed; expected a dataset folder"):
        read_annotations("somebody/vqa_mc")
