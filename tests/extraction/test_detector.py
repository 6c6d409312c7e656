"""Detectors as backbones: the regions of an image are those that transformers finds, whatever else is in the batch."""

import numpy as np
import pytest
import torch
from PIL import Image

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import RegionKind
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.vision_model import Detector, find_backbone
from tests.extraction import made_dataset, tiny_models
from tests.extraction.tiny_models import noise

QUERIES = 15
ALL = RegionKind(QUERIES, QUERIES, 0.0)
IMAGES = [noise(0), noise(1, (50, 90)), noise(2, (64, 64)), noise(3), noise(4, (200, 40)), noise(5, (50, 90))]
NAMES = ("detr", "rt_detr", "yolos")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detectors")
    return {name: getattr(tiny_models, name)(folder / f"tiny-{name}") for name in NAMES}


def regions_of(detector, *images):
    return detector.encode_prepared([detector.prepare(image) for image in images])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [(90, 70), (50, 90), (200, 40)])
def test_regions_are_the_boxes_scores_and_labels_that_transformers_finds(folders, name, size):
    from transformers import AutoImageProcessor, AutoModelForObjectDetection

    image = noise(6, size)
    processor = AutoImageProcessor.from_pretrained(folders[name], backend="pil")
    model = AutoModelForObjectDetection.from_pretrained(folders[name]).eval()
    with torch.no_grad():
        outputs = model(**processor(images=image, return_tensors="pt"))
    (found,) = processor.post_process_object_detection(outputs, 0.0, target_sizes=[(size[1], size[0])])
    expected, edges = [], np.array([0, 0, *size])
    for score, label, box in zip(found["scores"], found["labels"], found["boxes"], strict=True):
        inside = np.clip(box.numpy(), 0, edges[[2, 3, 2, 3]])
        if not any(np.allclose(inside, other[:4]) for other in expected):  # several labels of one query
            expected.append([*inside, score, label])
    expected = np.array(sorted(expected, key=lambda one: -one[4]))
    (regions,) = regions_of(Detector(str(folders[name]), ALL, None, None), image)
    count = len(expected)
    assert count > QUERIES // 2
    pixels = regions.boxes[:count] * [*size, *size, 1, 1]
    np.testing.assert_allclose(pixels, expected, atol=1e-3)
    queries = outputs.last_hidden_state[0, -QUERIES:]
    scores = outputs.logits[0].softmax(-1)[:, :-1] if name != "rt_detr" else outputs.logits[0].sigmoid()
    order = scores.max(-1).values.argsort(descending=True)
    np.testing.assert_allclose(regions.features, queries[order], atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_regions_of_an_image_do_not_depend_on_its_batch(folders, name):
    detector = Detector(str(folders[name]), ALL, None, None)
    for image, together in zip(IMAGES, regions_of(detector, *IMAGES), strict=True):
        (alone,) = regions_of(detector, image)
        np.testing.assert_allclose(together.features, alone.features, atol=1e-4)
        np.testing.assert_allclose(together.boxes, alone.boxes, atol=1e-4)


@pytest.mark.parametrize(("fewest", "most"), [(1, 15), (4, 15), (1, 3), (15, 15), (20, 100)])
def test_regions_above_the_threshold_are_kept_within_the_limits(folders, fewest, most):
    every = regions_of(Detector(str(folders["detr"]), ALL, None, None), *IMAGES)
    threshold = float(np.median([one.boxes[6, 4] for one in every]))
    some = regions_of(Detector(str(folders["detr"]), RegionKind(fewest, most, threshold), None, None), *IMAGES)
    for found, whole in zip(some, every, strict=True):
        above = int((whole.boxes[:, 4] >= threshold).sum())
        assert len(found.boxes) == min(max(above, fewest), most, QUERIES)
        np.testing.assert_array_equal(found.boxes, whole.boxes[: len(found.boxes)])
        np.testing.assert_array_equal(found.features, whole.features[: len(found.boxes)])


@pytest.fixture
def dataset(monkeypatch, tmp_path):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    made_dataset.draw(tmp_path / "pictures", 12)
    folder = made_dataset.make(tmp_path / "questions", 12)
    return {"dataset": str(folder), "config": "made", "output": tmp_path / "store"}


def test_regions_are_stored_with_labels_and_computed_once(folders, dataset, tmp_path):
    given = {**dataset, "images": tmp_path / "pictures", "detector": str(folders["detr"])}
    found = vm.features(**given)
    detector = find_backbone(str(folders["detr"]), regions=found.kind.regions)
    assert found.folder.parent.name == f"tiny-detr-{detector.kind.revision[:12]}-10to100at0.2"
    stored = ImageFeatures(found.folder)
    name = given["detector"][-9:]
    assert f"12 of them encoded now: up to 100 regions of 32 dimensions each (float32), {name} at" in str(found)
    assert stored.labels == ["cat", "dog", "N/A", "tree"]
    for image_id, regions in zip("37", stored.regions(["3", "7"]), strict=True):
        with Image.open(tmp_path / "pictures" / f"{int(image_id):012d}.png") as image:
            (expected,) = regions_of(detector, image)
        assert 10 <= len(regions.boxes) <= QUERIES
        np.testing.assert_allclose(regions.features, expected.features, atol=1e-4)
        np.testing.assert_allclose(regions.boxes, expected.boxes, atol=1e-4)
    assert vm.features(**given, workers=1).computed == 0


@pytest.mark.parametrize(("option", "value"), [("grid", 7), ("backbone", "pixels")])
def test_options_of_other_features_are_rejected(dataset, option, value):
    with pytest.raises(InputError, match=f"{option}: the features of regions are those of detector; remove"):
        vm.features(**dataset, detector="some/detr", **{option: value})


def without_safetensors(folder):
    tiny_models.detr(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def without_heads(folder):
    from transformers import DetrModel

    tiny_models.detr(folder)
    DetrModel.from_pretrained(folder).save_pretrained(folder)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (tiny_models.resnet, "configuration class .*; expected an object detector of transformers"),
        (without_safetensors, r"has no model\*.safetensors; expected an object detector written by save_pretrained"),
        (without_heads, "its weights lack 8 tensors, the first bbox_predictor.layers.0.bias"),
        (lambda folder: folder.mkdir(), "has no config.json; expected an object detector"),
    ],
)
def test_other_models_are_one_error_that_names_the_option(tmp_path, write, message):
    write(tmp_path / "model")
    with pytest.raises(InputError, match=f"--detector .*model.*{message}"):
        Detector(str(tmp_path / "model"), ALL, None, None)
