"""Published region features: all layouts give the same regions, and what cannot be used is one error."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind, RegionKind, Regions
from hf_vqa_mc.extraction.store import FeatureStore, ImageFeatures
from hf_vqa_mc.scoring.gqa_grounding import box_weights
from tests.extraction import made_dataset
from tests.extraction.region_layouts import DIM, HEIGHT, LAYOUTS, WIDTH, made

IMAGES = 12
KIND = FeatureKind("made", "imported", None, DIM, "float32", RegionKind(1, 100, 0.0))


@pytest.fixture
def questions(tmp_path):
    return made_dataset.make(tmp_path / "questions", IMAGES)


@pytest.fixture
def image_ids(questions):
    from hf_vqa_mc.data.dataset_images import dataset_images

    return dataset_images(str(questions), "made").image_ids


def imported(questions, path, **options):
    given = {"output": path.parent / "store", **options}
    return vm.features(str(questions), "made", regions=path, **given)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_gives_the_regions_that_were_written(questions, image_ids, tmp_path, layout):
    records = made([*image_ids, "9999"])
    folder = tmp_path / "published"
    folder.mkdir()
    path = LAYOUTS[layout](folder, records)
    found = imported(questions, path, output=tmp_path / "store")
    assert (len(found.images), found.computed) == (IMAGES, IMAGES)
    features = ImageFeatures(found.folder)
    for image_id, of in zip(image_ids, features.regions(image_ids), strict=True):
        expected, boxes = records[image_id]
        np.testing.assert_array_equal(of.features, expected)
        np.testing.assert_allclose(of.boxes[:, :4] * [WIDTH, HEIGHT, WIDTH, HEIGHT], boxes, atol=1e-4)
        assert (of.boxes[:, 4:] == -1).all()
    assert imported(questions, path, output=tmp_path / "store").computed == 0
    tensors = features.tensors(image_ids)
    counts = [len(records[image_id][1]) for image_id in image_ids]
    assert tensors["image_regions"].shape == (IMAGES, max(counts), DIM)
    assert tensors["region_mask"].sum(1).tolist() == counts


@settings(max_examples=20)
@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=8), files=st.integers(1, 3))
def test_images_with_different_numbers_of_regions_come_back_from_whichever_file(tmp_path_factory, counts, files):
    folder, rng = tmp_path_factory.mktemp("store"), np.random.default_rng(len(counts))
    written = {
        bytes([at]) * 32: Regions(rng.normal(size=(n, DIM)).astype("f4"), rng.uniform(size=(n, 6)).astype("f4"))
        for at, n in enumerate(counts)
    }
    for part in range(files):
        store = FeatureStore(folder, KIND)
        for at, (name, regions) in enumerate(written.items()):
            if at % files == part:
                store.add(name, regions)
        store.commit()
    store = FeatureStore(folder, KIND)
    for name, found in zip(written, store.regions([store.locations[name] for name in written]), strict=True):
        np.testing.assert_array_equal(found.features, written[name].features)
        np.testing.assert_array_equal(found.boxes, written[name].boxes)


def changed(change):
    def write(folder, records):
        image_id = list(records)[3]
        features, boxes = (part.copy() for part in records[image_id])
        records[image_id] = change(features, boxes)
        return LAYOUTS["tsv"](folder, records)

    return write


def cut(folder, records, at):
    path = LAYOUTS["tsv"](folder, records)
    path.write_bytes(path.read_bytes()[:-at])
    return path


def without_one(folder, records):
    records.popitem()
    return LAYOUTS["tsv"](folder, records)


def linked(folder, records):
    LAYOUTS["gqa"](folder, records)
    with h5py.File(folder / "gqa_objects_0.h5", "a") as file:
        del file["features"]
        file["features"] = h5py.ExternalLink("other.h5", "/x")
    return folder


def cut_hdf5(folder, records):
    path = LAYOUTS["gqa"](folder, records) / "gqa_objects_0.h5"
    path.write_bytes(path.read_bytes()[:900])
    return folder


def cut_npz(folder, records):
    LAYOUTS["npz"](folder, records)
    file = sorted(folder.glob("*.npz"))[0]
    file.write_bytes(file.read_bytes()[:100])
    return folder


def wrong_index(folder, records):
    LAYOUTS["gqa"](folder, records)
    info = json.loads((folder / "gqa_objects_info.json").read_text())
    next(iter(info.values()))["idx"] = 99
    (folder / "gqa_objects_info.json").write_text(json.dumps(info))
    return folder


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (without_one, "1 of 12 missing, with image_id"),
        (changed(lambda features, boxes: (features * np.float32("nan"), boxes)), "line 4 .* not all finite"),
        (changed(lambda features, boxes: (features, boxes + 50)), r"line 4 has the box .* the image of 40 x 20"),
        (changed(lambda features, boxes: (features, boxes[:, [2, 1, 0, 3]])), "line 4 has the box"),
        (changed(lambda features, boxes: (features, boxes[:, :3])), "line 4 is damaged"),
        (changed(lambda f, b: (np.tile(f[:1], (101, 1)), np.tile(b[:1], (101, 1)))), "has 101 regions; expected 1 to"),
        (changed(lambda features, boxes: (features[:, :3], boxes)), "has 3 dimensions, the first image has 6"),
        (changed(lambda features, boxes: (features[:0], boxes[:0])), "line 4"),
        (lambda folder, records: cut(folder, records, 9), "line 12 is damaged"),
        (lambda folder, records: cut(folder, records, 10**9), "expected region features"),
        (linked, "expected a dataset 'features' with 3 axes, stored in the file itself"),
        (cut_hdf5, "gqa_objects_0.h5 is missing or"),
        (cut_npz, "npz is damaged"),
        (wrong_index, "says index 99; the file has 6 images"),
        (lambda folder, records: folder / "nothing", "no such file or folder"),
        (lambda folder, records: folder, "expected region features, found none: .tsv"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_are_one_error_and_leave_no_index(questions, image_ids, tmp_path, write, message):
    folder = tmp_path / "published"
    folder.mkdir()
    with pytest.raises(InputError, match=message):
        imported(questions, write(folder, made(image_ids)), output=tmp_path / "store")
    assert not list(tmp_path.glob("store/*/*/index.json"))


def test_missing_and_broken_images_can_be_skipped(questions, image_ids, tmp_path):
    records = made(image_ids)
    features, boxes = records[image_ids[2]]
    records[image_ids[2]] = features * np.float32("inf"), boxes
    del records[image_ids[5]]
    found = imported(questions, LAYOUTS["tsv"](tmp_path, records), skip_missing=True)
    assert (found.missing, list(found.broken), len(found.images)) == ([image_ids[5]], [image_ids[2]], IMAGES - 2)


@pytest.mark.parametrize(
    ("option", "value"),
    [("grid", 7), ("backbone", "pixels"), ("images", Path("val2014")), ("detector", "some/detr"), ("workers", 2)],
)
def test_options_that_read_images_are_rejected(questions, tmp_path, option, value):
    with pytest.raises(InputError, match=f"{option}: regions imports finished features"):
        vm.features(str(questions), "made", regions=tmp_path, output=tmp_path / "store", **{option: value})


@settings(max_examples=50)
@given(edges=st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=1, max_size=6), size=st.integers(1, 14))
def test_the_weights_of_a_box_sum_to_one_and_are_its_shares_of_the_cells(edges, size):
    boxes = np.sort(np.array(edges).reshape(-1, 2, 2), 1).reshape(-1, 4)
    weights = box_weights(boxes, size)
    np.testing.assert_allclose(weights.sum(1), 1)
    fine = 40  # sample points per side of a box
    for box, row in zip(boxes, weights, strict=True):
        steps = (np.arange(fine) + 0.5) / fine
        x, y = box[0] + (box[2] - box[0]) * steps, box[1] + (box[3] - box[1]) * steps
        columns, lines = (np.minimum(one * size, size - 1).astype(int) for one in (x, y))
        counted = np.zeros((size, size))
        np.add.at(counted, (lines[:, None], columns[None]), fine**-2.0)
        np.testing.assert_allclose(row.reshape(size, size), counted, atol=2 / fine)
