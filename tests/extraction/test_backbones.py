"""Backbones: what comes of an image is what the model says, whichever images it comes with."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction import vision_model
from hf_vqa_mc.extraction.vision_model import VisionModel, find_backbone, middle
from tests.extraction import tiny_models
from tests.extraction.tiny_models import noise


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "resnet": tiny_models.resnet(folder / "tiny-resnet"),
        "vit": tiny_models.vit(folder / "tiny-vit"),
        "vit_unpooled": tiny_models.vit(folder / "tiny-vit-unpooled", pools=False),
        "registers": tiny_models.dinov2_with_registers(folder / "tiny-dino"),
        "clip": tiny_models.clip(folder / "tiny-clip"),
    }


def model_of(folder):
    from transformers import AutoModel

    return AutoModel.from_pretrained(folder).eval()


def pixels_of(folder, images):
    from transformers import AutoImageProcessor

    return AutoImageProcessor.from_pretrained(folder, backend="pil")(images=images, return_tensors="pt")


IMAGES = [noise(1), noise(2, (64, 120)), noise(3, (200, 64)), noise(4, (64, 64)), noise(5, (31, 17))]


def test_resnet_gives_its_pooled_feature_map(folders):
    backbone = find_backbone(str(folders["resnet"]))
    assert (backbone.kind.backbone, backbone.kind.grid, backbone.kind.dim) == ("tiny-resnet", None, 32)
    with torch.no_grad():
        expected = model_of(folders["resnet"])(**pixels_of(folders["resnet"], IMAGES)).pooler_output.flatten(1)
    encoded = backbone.encode(IMAGES)
    assert encoded.shape == (5, 32)
    assert encoded.dtype == np.float32
    np.testing.assert_allclose(encoded, expected, atol=1e-5)
    assert encoded.std(0).max() > 1e-3


def test_a_grid_is_the_last_feature_map_row_by_row(folders):
    backbone = find_backbone(str(folders["resnet"]), grid=2)
    with torch.no_grad():
        map_ = model_of(folders["resnet"])(**pixels_of(folders["resnet"], IMAGES)).last_hidden_state
    encoded = backbone.encode(IMAGES)
    assert encoded.shape == (5, 4, 32)
    for row in range(2):
        for column in range(2):
            np.testing.assert_allclose(encoded[:, row * 2 + column], map_[:, :, row, column], atol=1e-5)


@pytest.mark.parametrize("name", ["resnet", "vit", "registers"])
def test_pooled_features_of_larger_images_are_another_kind(folders, name):
    backbone = find_backbone(f"{folders[name]}@128")
    plain = find_backbone(str(folders[name]))
    assert backbone.prepare(IMAGES[1]).shape == (3, 128, 128)
    assert backbone.encode(IMAGES[:2]).shape == plain.encode(IMAGES[:2]).shape
    assert (backbone.kind.side, backbone.kind.revision) == ("128", plain.kind.revision)
    assert backbone.kind.folder_name != plain.kind.folder_name
    for side in ("100", "0", "large"):
        with pytest.raises(InputError, match=f"@{side}: expected a multiple of 64 pixels"):
            find_backbone(f"{folders[name]}@{side}")


@pytest.mark.slow
def test_resnet_152_gives_2048_dimensions_of_448_x_448_pixels(tmp_path):
    from transformers import ResNetConfig, ResNetModel

    size = {"shortest_edge": 224}
    config = ResNetConfig(depths=[3, 8, 36, 3])
    folder = tiny_models._saved(ResNetModel(config), tmp_path, "ConvNextImageProcessor", size, crop_pct=0.875)
    backbone = find_backbone(f"{folder}@448")
    assert backbone.prepare(IMAGES[0]).shape == (3, 448, 448)
    assert backbone.encode(IMAGES[:1]).shape == (1, 2048)


VGG_19 = [0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34]
"""Numbers of its convolutions among the layers."""


@pytest.mark.parametrize("numbers", [[0, 3, 6, 9, 12], pytest.param(VGG_19, marks=pytest.mark.slow)])
def test_vgg_19_gives_its_last_hidden_layer(tmp_path, monkeypatch, numbers):
    from safetensors.torch import save_file

    if numbers != VGG_19:
        monkeypatch.setattr(vision_model, "VGG_CHANNELS", (2, 0, 2, 0, 3, 0, 4, 0, 5, 0))
        monkeypatch.setattr(vision_model, "VGG_DIM", 6)
    names = [*(f"features.{number}" for number in numbers), "pre_logits.fc1", "pre_logits.fc2"]
    channels = [3, *filter(None, vision_model.VGG_CHANNELS), *[vision_model.VGG_DIM] * 2]
    rng, weights = torch.Generator().manual_seed(0), {}
    for at, (name, side) in enumerate(zip(names, [3] * len(numbers) + [7, 1], strict=True)):
        shape = (channels[at + 1], channels[at], side, side)
        weights[f"{name}.weight"] = torch.randn(shape, generator=rng) * (2 / channels[at]) ** 0.5 / side
        weights[f"{name}.bias"] = torch.rand(shape[0], generator=rng)
    folder = tmp_path / "vgg19.tv_in1k"
    folder.mkdir()
    save_file(weights | {"head.fc.weight": torch.zeros(2)}, folder / "model.safetensors")
    image = IMAGES[0].resize((256, 256))
    mean, std = (torch.tensor(of)[:, None, None] for of in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    found = (torch.from_numpy(np.array(image.crop((16, 16, 240, 240)))).permute(2, 0, 1) / 255 - mean) / std
    for name, following in zip(names, [*numbers[1:], 99, 99, 99], strict=False):
        padding = 1 if name.startswith("features") else 0
        found = functional.conv2d(found, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=padding).relu()
        if padding and following - int(name[9:]) != 2:
            found = functional.max_pool2d(found, 2)
    np.testing.assert_allclose(find_backbone(str(folder)).encode([image])[0], found.flatten(), rtol=1e-3)
    with pytest.raises(InputError, match="--grid 7: the last hidden layer"):
        find_backbone(str(folder), 7)


@pytest.mark.parametrize("name", ["vit", "clip", "registers"])
def test_a_grid_of_a_transformer_is_its_patches_without_the_other_tokens(folders, name):
    backbone = find_backbone(str(folders[name]), grid=4)
    model = model_of(folders[name])
    with torch.no_grad():
        tokens = getattr(model, "vision_model", model)(**pixels_of(folders[name], IMAGES)).last_hidden_state
    others = {"vit": 1, "clip": 1, "registers": 5}[name]
    assert tokens.shape[1] == 16 + others
    np.testing.assert_allclose(backbone.encode(IMAGES), tokens[:, others:], atol=1e-5)


@pytest.mark.parametrize("name", ["vit", "clip", "registers"])
def test_a_transformer_takes_inputs_twice_as_large_too(folders, name):
    assert find_backbone(str(folders[name]), grid=8).encode(IMAGES).shape == (5, 64, 16)


def test_a_layer_of_pooling_that_the_weights_lack_is_not_made_up(folders):
    pooled, unpooled = (find_backbone(str(folders[name])).encode(IMAGES) for name in ("vit", "vit_unpooled"))
    with torch.no_grad():
        given = model_of(folders["vit"])(**pixels_of(folders["vit"], IMAGES))
        tokens = model_of(folders["vit_unpooled"])(**pixels_of(folders["vit_unpooled"], IMAGES)).last_hidden_state
    np.testing.assert_allclose(pooled, given.pooler_output, atol=1e-5)
    np.testing.assert_allclose(unpooled, tokens[:, 0], atol=1e-5)
    again = find_backbone(str(folders["vit_unpooled"])).encode(IMAGES)
    np.testing.assert_array_equal(unpooled, again)


@pytest.mark.parametrize(("name", "grid"), [("resnet", None), ("resnet", 2), ("resnet", 4), ("vit", 4), ("pixels", 7)])
def test_an_image_is_encoded_alike_whichever_batch_it_is_in(folders, name, grid):
    backbone = find_backbone(str(folders.get(name, name)), grid)
    together = backbone.encode(IMAGES)
    for image, features in zip(IMAGES, together, strict=True):
        np.testing.assert_allclose(backbone.encode([image])[0], features, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(backbone.encode(IMAGES[::-1])[::-1], together, atol=1e-5, rtol=1e-5)


def test_the_square_is_cut_out_as_transformers_does_for_small_inputs(folders):
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folders["resnet"], backend="pil")
    for image in IMAGES:
        cut = middle(image, 64, 0.875, Image.Resampling.BICUBIC)
        ours = processor(images=cut, do_resize=False, return_tensors="np")["pixel_values"]
        np.testing.assert_allclose(ours, processor(images=image, return_tensors="np")["pixel_values"], atol=1e-5)


def test_an_input_past_the_size_from_which_transformers_warps_is_still_cut_out(folders, monkeypatch):
    from hf_vqa_mc.extraction import vision_model

    wide = Image.new("RGB", (400, 100), (255, 255, 255))
    wide.paste((0, 0, 0), (0, 0, 100, 100))  # outside of the square in the middle
    monkeypatch.setattr(vision_model, "WARPED_FROM", 100)
    pixels = find_backbone(str(folders["resnet"]), grid=4).prepare(wide)
    assert pixels.shape == (3, 128, 128)
    assert np.ptp(pixels[0]) < 1e-3


def test_bfloat16_is_near_float32_and_another_kind(folders):
    exact = find_backbone(str(folders["resnet"]))
    coarse = find_backbone(str(folders["resnet"]), precision="bfloat16")
    assert exact.kind.folder_name != coarse.kind.folder_name == exact.kind.folder_name + "-bfloat16"
    np.testing.assert_allclose(coarse.encode(IMAGES), exact.encode(IMAGES), rtol=0.1, atol=0.05)
    assert (coarse.encode(IMAGES) != exact.encode(IMAGES)).any()


def test_the_revision_of_a_folder_is_its_content(folders, tmp_path):
    same, other = tiny_models.resnet(tmp_path / "same"), tiny_models.resnet(tmp_path / "other", seed=1)
    revisions = [find_backbone(str(folder)).kind.revision for folder in (folders["resnet"], same, other)]
    assert revisions[0] == revisions[1] != revisions[2]


def test_pixels_are_the_image_shrunk():
    image = Image.new("RGB", (320, 160), (255, 0, 51))
    image.paste((0, 0, 0), (0, 0, 160, 160))
    features = find_backbone("pixels").encode([image])[0].reshape(16, 16, 3)
    np.testing.assert_allclose(features[:, :8], -1)
    np.testing.assert_allclose(features[:, 8:], np.broadcast_to([1, -1, -0.6], (16, 8, 3)), atol=1e-6)
    grey = Image.new("L", (5, 9), 255)
    np.testing.assert_allclose(find_backbone("pixels").encode([grey]), 1)


def test_a_grid_of_pixels_holds_each_cell_s_own():
    image = Image.new("RGB", (70, 70))
    image.paste((255, 255, 255), (20, 30, 30, 40))  # the cell in row 3, column 2
    features = find_backbone("pixels", grid=7).encode([image])[0]
    assert features.shape == (49, 48)
    lit = features.mean(1) > 0
    assert np.flatnonzero(lit).tolist() == [3 * 7 + 2]
    np.testing.assert_allclose(features[lit], 1)


@pytest.mark.parametrize(
    ("name", "grid", "width", "height"),
    [
        ("pixels", 7, 1, 1),
        ("vit", 4, 1, 1),
        ("resnet", 2, 0.875 / 2, 0.875),
        ("resnet", 4, 0.875 / 2, 0.875),
        ("registers", 4, 64 / 72 / 2, 64 / 72),
        ("clip", 4, 1 / 2, 1),
    ],
)
def test_the_view_is_the_part_of_the_image_that_changes_the_input(folders, name, grid, width, height):
    backbone = find_backbone(str(folders.get(name, name)), grid)
    left, top, right, bottom = backbone.view((400, 200))
    np.testing.assert_allclose([right - left, bottom - top], [width, height], atol=0.01)
    np.testing.assert_allclose([left + right, top + bottom], 1)
    across, down = (np.arange(size)[None if axis else ...] / size for axis, size in ((1, 400), (0, 200)))
    outside = (np.abs(across - 0.5) > width / 2 + 0.02) | (np.abs(down[:, None] - 0.5) > height / 2 + 0.04)
    plain = backbone.prepare(Image.new("L", (400, 200), 128))
    np.testing.assert_array_equal(backbone.prepare(Image.fromarray(np.where(outside, 0, 128).astype("u1"))), plain)
    border = (np.abs(across - 0.5) > width / 2 - 0.03) | (np.abs(down[:, None] - 0.5) > height / 2 - 0.06)
    assert (backbone.prepare(Image.fromarray(np.where(border, 0, 128).astype("u1"))) != plain).any()


@pytest.mark.parametrize("name", ["pixels", "resnet"])
def test_no_images_give_no_features(folders, name):
    assert find_backbone(str(folders.get(name, name)), 2).encode([]).shape[0] == 0


def test_what_cannot_be_used_is_named(folders, tmp_path):
    with pytest.raises(InputError, match=r"--grid 7: .*tiny-resnet has grids of 2 and 4 cells per side"):
        find_backbone(str(folders["resnet"]), grid=7)
    with pytest.raises(InputError, match=r"--grid 65: expected 1 to 64 cells"):
        find_backbone("pixels", grid=65)
    with pytest.raises(InputError, match=r"has no config.json; expected a vision model"):
        find_backbone(str(tmp_path))
    pickled = tiny_models.resnet(tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"has no model\*.safetensors; .*pickled weights are never loaded"):
        find_backbone(str(pickled))
    partial = tiny_models.resnet(tmp_path / "partial")
    (partial / "model.safetensors").write_bytes((partial / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(InputError, match=r"--backbone .*partial cannot be used to encode images"):
        find_backbone(str(partial))


def test_weights_that_lack_a_layer_are_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tiny_models.resnet(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    dropped = next(name for name in weights if name.endswith("convolution.weight"))
    del weights[dropped]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=rf"its weights lack 1 tensors, the first {dropped}"):
        find_backbone(str(folder))


def test_a_name_that_is_nowhere_says_what_was_expected(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match=r"--backbone pixel is not a local folder.*did you mean pixels\?"):
        VisionModel("pixel", None, None, None)
    with pytest.raises(InputError, match=r"--backbone a/b/c: no such folder; expected pixels"):
        VisionModel("a/b/c", None, None, None)


def test_a_model_in_the_hub_s_cache_goes_by_its_name_and_commit(monkeypatch, tmp_path):
    import huggingface_hub.constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "models--someone--tiny-resnet"
    folder = tiny_models.resnet(cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    backbone = find_backbone("someone/tiny-resnet")
    assert (backbone.kind.backbone, backbone.kind.revision) == ("someone/tiny-resnet", commit)
    assert backbone.kind.folder_name == "someone--tiny-resnet-0123456789ab"
    np.testing.assert_array_equal(backbone.encode(IMAGES), find_backbone(str(folder)).encode(IMAGES))
