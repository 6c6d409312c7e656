"""``hf_vqa_mc.features`` and ``vqa-mc features``: image features of a dataset, for training to read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import cluster
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import AT_LEAST_ONE, FOLDER, ExecutorOptions, option, settings
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.extraction.backbones import Backbone
    from hf_vqa_mc.extraction.extraction import FeaturesResult

BACKBONE = "microsoft/resnet-152"
SHARE_IMAGES = 5_000  # images of a call on a cluster


@settings
class FeaturesSettings(ExecutorOptions):
    """Compute the image features of a dataset once, for training to read.

    Runs on the GPU (in bfloat16) if there is one. After an interruption, the same call computes only what is missing.
    Features are stored by the model's revision and each image's content, so another config with the same images takes
    no time.
    """

    dataset: str = option(
        "Folder written by vqa-mc build or remedy, dataset on the Hub, or any benchmark that vqa-mc audit reads.",
        kw_only=False,
    )
    config: str = option(
        "Config of a dataset with several, such as cocoqa_iou_qou; the images of all its splits are encoded.",
        default="",
        kw_only=False,
    )
    images: Path | None = option(
        "Folder with the image files; by default the images built into the dataset.", default=None, check=FOLDER
    )
    backbone: "str | Backbone" = option(
        "pixels, efficientnet-lite1, or a vision model: its folder or its name on the Hub, with the side of larger "
        "images after @, such as microsoft/resnet-152@448; or timm/vgg19.tv_in1k.",
        default=BACKBONE,
    )
    grid: int | None = option(
        "Cells per side, such as 7 or 14: store a grid (last feature map or patch tokens) instead of one vector per "
        "image.",
        default=None,
        check=AT_LEAST_ONE,
    )
    detector: str | None = option(
        "Object detector such as PekingU/rtdetr_r50vd: store the features of the regions it finds in each image.",
        default=None,
    )
    regions: Path | None = option(
        "File or folder of published region features to import instead: bottom-up-attention's .tsv, GQA's folder of "
        "HDF5, or a folder of .npz; or GQA's scene graphs, whose objects and relations are the regions.",
        default=None,
    )
    output: Path = option(
        "Folder of the features of all datasets; each image is encoded once.", cli_default=Path("vqa_mc_features")
    )
    skip_missing: bool = option("Skip and count missing and broken images.", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        encoders = (("--backbone", self.backbone != BACKBONE), ("--grid", self.grid is not None))
        detector = self.detector is not None
        reading = (("--workers", self.workers is not None), ("--executor", self.executor != "local"))
        for flag, given in (("--images", self.images is not None), ("--detector", detector), *encoders, *reading):
            if self.regions is not None and given:
                raise InputError(f"{flag}: --regions imports finished features and reads no images; remove {flag}")
        for flag, given in encoders:
            if detector and given:
                raise InputError(f"{flag}: the features of regions are those of --detector; remove {flag}")


@verb(
    FeaturesSettings,
    "vqa-mc features vqa_mc cocoqa_iou_qou --images val2014",
    "vqa-mc features vqa_mc easyvqa_iou_qou --backbone pixels",
    "vqa-mc features vqa_mc vqa2_open --images val2014 --detector PekingU/rtdetr_r50vd",
    "vqa-mc features vqa_mc vqa2_open --regions trainval_resnet101_faster_rcnn_genome_36.tsv",
)
def features(settings: FeaturesSettings, progress: Progress) -> "FeaturesResult":
    """Counts, and the ``folder`` of the features, which `train` takes.

    Raises:
        InputError: the dataset, the images, the backbone or the detector cannot be used; or images are missing or
            broken, without ``skip_missing``.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.data.dataset_images import dataset_images

    found = dataset_images(settings.dataset, settings.config, settings.images)
    from hf_vqa_mc.extraction.extraction import extract_features, import_regions  # after an error about the dataset

    if settings.regions is not None:
        return import_regions(found, settings.regions, output=settings.output, skip_missing=settings.skip_missing,
                              progress=progress)  # fmt: skip
    if settings.executor != "local":
        shares = -(-len(found.image_ids) // SHARE_IMAGES)
        calls = {
            f"share {number} of {shares} of the images in {found.location}": (settings, (number, shares))
            for number in range(shares)
        }
        with cluster.connected(settings.address):
            step = "encoding images on the cluster"
            cluster.map(encode_share, calls, step, progress, workers=settings.workers, gpu=True)
    # what is left is to read the images and write the index
    return extract_features(found, **_encoding(settings), progress=progress)


def encode_share(settings: FeaturesSettings, share: tuple[int, int]) -> None:
    """Put the features of a share of a dataset's images into the store, on a worker."""
    from hf_vqa_mc.data.dataset_images import dataset_images
    from hf_vqa_mc.extraction.extraction import extract_features

    found = dataset_images(settings.dataset, settings.config, settings.images)
    extract_features(found, **_encoding(settings), share=share)


def _encoding(settings: FeaturesSettings) -> dict[str, Any]:
    names = ("backbone", "grid", "detector", "output", "skip_missing", "workers")
    return {name: getattr(settings, name) for name in names}
