"""``hf_vqa_mc.describe`` and ``vqa-mc describe``: a dataset by the figures of the papers, or two side by side."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, check_options, option, overwrite_option, settings
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.report.description import DescribeResult


@settings
class DescribeSettings(BenchmarkOptions):
    """Describe a dataset by the figures of the VQA papers: question types, lengths, answers, choices, images.

    DATASET is any benchmark that vqa-mc audit reads, or an open-ended config of vqa-mc build. With --against, two
    datasets are shown side by side.
    """

    split: str | None = option("Split to describe; by default all together.", default=None)
    against: "str | Path | datasets.Dataset | Mapping[str, datasets.Dataset] | pd.DataFrame | None" = option(
        "Second dataset, such as the balanced or remedied one; options of columns apply to it, too.",
        default=None,
    )
    against_config: str | None = option("Config of the second dataset.", default=None)
    figures: tuple[str, ...] = option(
        "Figures to compute, such as first_words,question_lengths; by default all.",
        default=(),
        separator=",",
        panel=ADVANCED,
    )
    captions: Path | None = option(
        "File of COCO captions, whose words are compared with those of questions and answers.", default=None
    )
    output: Path | None = option(
        "Folder for report.html, describe.json, and each figure as SVG and CSV.",
        default=None,
        folder=FolderKind("vqa-mc describe"),
    )
    overwrite: bool = overwrite_option()

    def __post_init__(self) -> None:
        check_options(self)
        if self.against_config is not None and self.against is None:
            raise InputError(f"--against-config {self.against_config}: give the second dataset with --against")


@verb(
    DescribeSettings,
    "vqa-mc describe vqa_mc cocoqa_iou_qou --output description",
    "vqa-mc describe vqa_mc vqa_open --against vqa_mc --against-config vqa2_open",
)
def describe(settings: DescribeSettings, progress: Progress) -> "DescribeResult":
    """The figures; written to ``output`` if given.

    Raises:
        InputError: a dataset, or the captions cannot be read, or no figure applies.
    """
    from hf_vqa_mc.audits.figures import FIGURES
    from hf_vqa_mc.audits.figures.figure import describe_data, read_data
    from hf_vqa_mc.audits.figures.questions import of_images
    from hf_vqa_mc.engines.complementary.premise import captions_in

    figures = [FIGURES.find(name) for name in settings.figures] or list(FIGURES.values())
    captions = None if settings.captions is None else list(captions_in(settings.captions))
    datasets = [read_data(settings, progress)]
    if settings.against is not None:
        other = replace(settings, dataset=settings.against, config=settings.against_config)
        datasets.append(read_data(other, progress))
    if captions is not None:
        datasets = [replace(data, captions=(of_images(data.images, captions),)) for data in datasets]
    from hf_vqa_mc.report.description import DescribeResult

    return DescribeResult(settings, describe_data(datasets, figures, progress))
