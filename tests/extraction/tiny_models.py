"""Vision models with random weights, as small as they can be, saved to folders."""

import json
from pathlib import Path
from random import Random

import torch
from PIL import Image

SIDE = 64


def resnet(folder: Path, seed: int = 0) -> Path:
    """32 numbers, a feature map of 2x2."""
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(seed)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 32], depths=[1, 1, 1, 1], layer_type="basic")
    return _saved(ResNetModel(config), folder, "ConvNextImageProcessor", {"shortest_edge": SIDE}, crop_pct=0.875)


def vit(folder: Path, pools: bool = True) -> Path:
    """16 numbers, 4x4 patches and a class token."""
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                       image_size=SIDE, patch_size=16)  # fmt: skip
    model = ViTModel(config, add_pooling_layer=pools)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return _saved(model, folder, "ViTImageProcessor", {"height": SIDE, "width": SIDE})


def dinov2_with_registers(folder: Path) -> Path:
    """16 numbers, 4x4 patches, a class token and 4 registers."""
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    torch.manual_seed(0)
    config = Dinov2WithRegistersConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=SIDE,
                                       patch_size=16, num_register_tokens=4)  # fmt: skip
    return _saved(Dinov2WithRegistersModel(config), folder, "BitImageProcessor", {"shortest_edge": 72},
                  do_center_crop=True, crop_size={"height": SIDE, "width": SIDE})  # fmt: skip


def clip(folder: Path) -> Path:
    """16 numbers, 4x4 patches; a text model next to it."""
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = CLIPConfig(
        text_config={**size, "vocab_size": 100}, vision_config={**size, "image_size": SIDE, "patch_size": 16}
    )
    return _saved(CLIPModel(config), folder, "CLIPImageProcessor", {"shortest_edge": SIDE},
                  do_center_crop=True, crop_size={"height": SIDE, "width": SIDE})  # fmt: skip


DETECTOR = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
            "encoder_attention_heads": 2, "decoder_attention_heads": 2, "num_queries": 15,
            "id2label": dict(enumerate(("cat", "dog", "N/A", "tree")))}  # fmt: skip


def detr(folder: Path) -> Path:
    """15 queries of 32 numbers; a class of no object; images keep their aspect ratio."""
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    torch.manual_seed(0)
    backbone = ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic",
                            out_features=["stage4"])  # fmt: skip
    model = DetrForObjectDetection(DetrConfig(backbone_config=backbone, **DETECTOR))
    return _saved(_noisy(model), folder, "DetrImageProcessor", {"shortest_edge": SIDE, "longest_edge": 2 * SIDE})


def rt_detr(folder: Path) -> Path:
    """15 queries of 32 numbers; images become square."""
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    torch.manual_seed(0)
    backbone = RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1],
                                  layer_type="basic", out_features=["stage2", "stage3", "stage4"])  # fmt: skip
    config = RTDetrConfig(backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[8, 16, 16],
                          decoder_in_channels=[32, 32, 32], anchor_image_size=None, **DETECTOR)  # fmt: skip
    return _saved(_noisy(RTDetrForObjectDetection(config)), folder, "RTDetrImageProcessor",
                  {"height": SIDE, "width": SIDE})  # fmt: skip


def yolos(folder: Path) -> Path:
    """15 queries of 16 numbers after the patches; a class of no object; images keep their aspect ratio."""
    from transformers import YolosConfig, YolosForObjectDetection

    torch.manual_seed(0)
    config = YolosConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
                         image_size=[SIDE, SIDE], patch_size=16, num_detection_tokens=15, num_labels=4)  # fmt: skip
    size = {"shortest_edge": SIDE, "longest_edge": 2 * SIDE}
    return _saved(_noisy(YolosForObjectDetection(config)), folder, "YolosImageProcessor", size)


def _noisy(model: torch.nn.Module) -> torch.nn.Module:
    """With weights so large that each image and query has another output."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


def _saved(model: torch.nn.Module, folder: Path, processor: str, size: dict[str, int], **options: object) -> Path:
    model.save_pretrained(folder)
    normal = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3],
              "image_std": [0.2, 0.3, 0.2], "do_resize": True, "resample": 3}  # fmt: skip
    processor_config = {"image_processor_type": processor, "size": size, **normal, **options}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor_config))
    return folder


def noise(seed: int, size: tuple[int, int] = (90, 70)) -> Image.Image:
    """An image of coloured noise."""
    return Image.frombytes("RGB", size, Random(seed).randbytes(3 * size[0] * size[1]))
