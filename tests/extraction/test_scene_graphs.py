"""Scene graphs as features: each object and relation is a region with the vectors of its names."""

import gzip
import json

import numpy as np
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.region_files import NAME_SIZE, name_vector
from hf_vqa_mc.extraction.store import ImageFeatures
from tests.extraction import made_dataset

IMAGES = 3


def thing(name, x, *relations, attributes=()):
    links = [{"name": relation, "object": other} for relation, other in relations]
    return {"name": name, "x": x, "y": 2, "w": 8, "h": 4, "attributes": list(attributes), "relations": links}


CAT = thing("cat", 1, ("on", "2"), ("near", "2"), attributes=["black", "small"])
MAT = thing("mat", 15)
GRAPHS = [
    {"width": 20, "height": 10, "objects": {"1": CAT, "2": MAT}},
    {"width": 20, "height": 10, "objects": {"1": MAT}, "weather": "sunny"},
    {"width": 20, "height": 10, "objects": {}},
]


@pytest.fixture
def dataset(tmp_path):
    from hf_vqa_mc.data.dataset_images import dataset_images

    folder = made_dataset.make(tmp_path / "questions", IMAGES)
    return folder, dataset_images(str(folder), "made").image_ids


def graphs_file(path, image_ids, graphs=GRAPHS):
    text = json.dumps(dict(zip(image_ids, graphs, strict=True)))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def parts(row):
    """The names whose vectors a region has, part by part."""
    known = {name: name_vector(name) for name in ("cat", "mat", "black", "small", "on", "near", "scene", "sunny")}
    return [
        {name for name, vector in known.items() if part @ vector > 0.5}
        for part in np.split(row, len(row) // NAME_SIZE)
    ]


@pytest.mark.parametrize("name", ["val_sceneGraphs.json", "val_sceneGraphs.json.gz"])
def test_objects_relations_and_the_scene_become_regions(dataset, tmp_path, name):
    folder, image_ids = dataset
    path = graphs_file(tmp_path / name, image_ids)
    found = vm.features(str(folder), "made", regions=path, output=tmp_path / "store")
    assert "now: up to 1000 regions of 640 dimensions each" in str(found)
    first, second, empty = ImageFeatures(found.folder).regions(image_ids)
    nothing = set()
    assert [parts(row) for row in first.features] == [
        [{"cat"}, {"black", "small"}, nothing, nothing, nothing],
        [{"mat"}, nothing, nothing, nothing, nothing],
        [{"cat"}, {"black", "small"}, {"on"}, {"mat"}, nothing],
        [{"cat"}, {"black", "small"}, {"near"}, {"mat"}, nothing],
    ]
    cat, mat, both = [0.05, 0.2, 0.45, 0.6], [0.75, 0.2, 1.0, 0.6], [0.05, 0.2, 1.0, 0.6]  # cut at the image's edge
    np.testing.assert_allclose(first.boxes[:, :4], [cat, mat, both, both], atol=1e-6)
    assert parts(second.features[1])[:2] == [{"scene"}, {"sunny"}]
    np.testing.assert_allclose(second.boxes[1, :4], [0, 0, 1, 1])
    assert [parts(row)[:2] for row in empty.features] == [[{"scene"}, nothing]]


def test_of_a_folder_only_the_scene_graphs_are_read(dataset, tmp_path):
    folder, image_ids = dataset
    published = tmp_path / "gqa"
    published.mkdir()
    for number, split in enumerate(("train", "val")):
        part = slice(number, None, 2)
        graphs_file(published / f"{split}_sceneGraphs.json", image_ids[part], GRAPHS[part])
        (published / f"{split}_balanced_questions.json").write_text('{"1": "?"}')
    (published / ".vqa_mc.json").write_text('{"written_by": "hf_vqa_mc"}')
    found = vm.features(str(folder), "made", regions=published, output=tmp_path / "store")
    assert len(found.images) == IMAGES


def test_a_name_has_the_same_vector_everywhere():
    assert (name_vector("cat")[:8] > 0).tolist() == [False, True, True, True, False, True, True, True]
    assert np.linalg.norm(name_vector("cat")) == pytest.approx(1)
    assert abs(name_vector("cat") @ name_vector("dog")) < 0.4


def test_graphs_that_cannot_be_used_are_one_error(dataset, tmp_path):
    folder, image_ids = dataset
    many = {str(number): thing("ant", 1) for number in range(1001)}
    path = graphs_file(tmp_path / "many.json", image_ids, [*GRAPHS[:2], {"width": 9, "height": 9, "objects": many}])
    with pytest.raises(InputError, match=r"many.json, image .* has 1001 regions; expected 1 to 1000"):
        vm.features(str(folder), "made", regions=path, output=tmp_path / "store")
    inside_out = {"7": {**thing("kite", 3), "w": -2}}
    path = graphs_file(path, image_ids, [*GRAPHS[:2], {"width": 9, "height": 9, "objects": inside_out}])
    with pytest.raises(InputError, match=r"many.json, image .* has the box"):
        vm.features(str(folder), "made", regions=path, output=tmp_path / "store")
    path.write_text(json.dumps({image_ids[0]: {"width": 9, "objects": {}}}))
    with pytest.raises(InputError, match=r"many.json, image .*height"):
        vm.features(str(folder), "made", regions=path, output=tmp_path / "store")
