"""``hf_vqa_mc.features`` and ``vqa-mc features``: image features of a dataset, for training to read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import listed
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import AT_LEAST_ONE, option, settings, verb
from hf_vqa_mc.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from hf_vqa_mc.extraction.backbones import Backbone
    from hf_vqa_mc.extraction.extraction import Extracted

RUNNING = "Running"


@settings
class FeaturesSettings:
    """Compute the image features of a dataset once, for training to read.

    Runs on the GPU (in bfloat16) if there is one. Interrupted at any moment, the same call computes only what is
    missing. Features are stored by the model's revision and each image's content, so another config with the same
    images takes no time.

    Raises:
        InputError: an option is out of range; names it.
    """

    dataset: str = option("Folder written by vqa-mc build, or dataset on the Hub.", kw_only=False)
    config: str = option("Config such as cocoqa_iou_qou; the images of all its splits are encoded.", kw_only=False)
    images: Path | None = option(
        "Folder with the image files; by default the images built into the dataset.", default=None
    )
    backbone: "str | Backbone" = option(
        "pixels, or a vision model: its folder or its name on the Hub.", default="microsoft/resnet-152"
    )
    grid: int | None = option(
        "Cells per side, such as 7 or 14: store a grid (last feature map or patch tokens) instead of one vector per "
        "image.",
        default=None,
        check=AT_LEAST_ONE,
    )
    output: Path = option(
        "Folder of all features; an image is encoded once for all datasets.",
        cli_default=Path("vqa_mc_features"),
    )
    skip_missing: bool = option("Skip and count missing and broken images.", default=False)
    batch_size: int = option("Images per batch.", default=64, check=AT_LEAST_ONE, panel=RUNNING)
    workers: int | None = option(
        "Threads that read images; one per core by default.", default=None, check=AT_LEAST_ONE, panel=RUNNING
    )


@dataclass(frozen=True, eq=False, repr=False)
class FeaturesResult(Result):
    """What was extracted, and where it is."""

    extracted: "Extracted"

    @property
    def folder(self) -> Path:
        """What ``features`` of `train` takes."""
        return self.extracted.folder

    def report(self) -> Iterator[str]:
        """Counts, skipped images and the folder."""
        done, kind = self.extracted, self.extracted.kind
        size = f"{kind.dim:,} dimensions"
        shape = size if kind.grid is None else f"{kind.grid}x{kind.grid} cells of {size}"
        yield (
            f"{len(done.images):,} images, {done.computed:,} of them encoded now: {shape} each ({kind.precision}), "
            f"{kind.backbone} at revision {kind.revision[:12]}."
        )
        broken = [f"{image_id} ({reason})" for image_id, reason in done.broken.items()]
        for why, names in (("missing", done.missing), ("broken", broken)):
            if names:
                yield f"Skipped ({why}): {len(names):,} images, image_id {listed(names, separator='; ')}"
        yield f"features: {done.folder}"

    def to_dict(self) -> dict[str, Any]:
        """Counts, the kind of the features and the folder."""
        done = self.extracted
        return {
            "folder": str(done.folder),
            **done.kind.as_json(),
            "images": len(done.images),
            "distinct": len(set(done.images.values())),
            "computed": done.computed,
            "missing": done.missing,
            "broken": done.broken,
        }

    def to_pandas(self) -> "pd.DataFrame":
        """One row per image: image_id, sha256 of its file, and why it was skipped ("" unless it was)."""
        import pandas as pd

        done = self.extracted
        skipped = {**dict.fromkeys(done.missing, "missing"), **done.broken}
        rows = [(image_id, image_hash.hex(), "") for image_id, image_hash in done.images.items()]
        rows += [(image_id, "", why) for image_id, why in skipped.items()]
        return pd.DataFrame(rows, columns=["image_id", "sha256", "skipped"])

    def save(self, path: str | Path) -> list[Path]:
        """Copy these features to another folder, which ``output`` of `features` could be."""
        from hf_vqa_mc.extraction.image_features import ImageFeatures

        return ImageFeatures.open(self.folder).copy_to(Path(path) / self.folder.parent.name / self.folder.name)


@verb(
    FeaturesSettings,
    "vqa-mc features vqa_mc cocoqa_iou_qou --images val2014",
    "vqa-mc features vqa_mc easyvqa_iou_qou --backbone pixels",
)
def features(settings: FeaturesSettings, progress: Progress) -> FeaturesResult:
    """Extract image features.

    Returns:
        What was extracted; its ``folder`` is what `train` takes.

    Raises:
        InputError: the dataset, the images or the backbone cannot be used; or images are missing or broken, without
            ``skip_missing``.
        ConnectionError: the Hub cannot be reached.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.extraction.extraction import extract_features

    return FeaturesResult(extract_features(**vars(settings), progress=progress))
