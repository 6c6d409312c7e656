"""``hf_vqa_mc.describe`` and ``vqa-mc describe``: a dataset by the figures of the papers, or two side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import check_report_folder
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.audits.figures.figure import Description


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
        "Folder for report.html, describe.json, and each figure as SVG and CSV.", default=None
    )
    overwrite: bool = overwrite_option()

    def __post_init__(self) -> None:
        check_options(self)
        if self.against_config is not None and self.against is None:
            raise InputError(f"--against-config {self.against_config}: give the second dataset with --against")

    @property
    def inputs(self) -> list[Path]:
        """The input files and folders, which the output must not overwrite."""
        other = [Path(self.against)] if isinstance(self.against, str | Path) and Path(self.against).exists() else []
        return [*self.paths, *other, *filter(None, [self.captions])]


@dataclass(frozen=True, eq=False, repr=False)
class DescribeResult(OutputResult):
    """The figures of one dataset, or of two."""

    description: "Description"
    settings: DescribeSettings

    def report(self) -> Report:
        """The headline numbers of each figure, notes, and the written files."""
        from hf_vqa_mc.report.description import number_table

        yield from self.description.notes
        yield number_table(self.description)
        left_out = self.description.left_out
        yield from (f"{name} does not apply: {left_out[name]}" for name in self.settings.figures if name in left_out)
        if self.written:
            yield f"wrote {self.written[0]} and {len(self.written) - 1} other files"
        else:
            yield "Tables and pictures: --output FOLDER"

    def to_dict(self) -> dict[str, Any]:
        """All numbers and tables, as in describe.json; fractions."""
        return {**self.description.as_json(), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per headline number: figure, number, and the value of each dataset; fractions."""
        figures = self.description.figures
        rows = [[one.figure.name, name, *values] for one in figures for name, values in one.numbers.items()]
        return frame_of(rows, columns=["figure", "number", *self.description.names], dtype=object)

    def table(self, figure: str, dataset: int = 0) -> Frame:
        """The table of a figure, of the first (0) or second (1) dataset; empty where it does not apply."""
        from hf_vqa_mc.errors import unknown_name

        found = {one.name: sides[dataset][1].table for one, sides in self.description.figures}
        if figure not in found:
            raise unknown_name("figure", figure, found)
        return frame_of(found[figure], dtype=object)

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write report.html, describe.json, and each figure as SVG and CSV to a folder."""
        from hf_vqa_mc.report.description import DESCRIBED, write_description

        check_report_folder(Path(path), DESCRIBED, "path", self.settings.inputs, overwrite)
        return write_description(Path(path), self.description, overwrite)


@verb(
    DescribeSettings,
    "vqa-mc describe vqa_mc cocoqa_iou_qou --output description",
    "vqa-mc describe vqa_mc vqa_open --against vqa_mc --against-config vqa2_open",
)
def describe(settings: DescribeSettings, progress: Progress) -> DescribeResult:
    """Describe a dataset.

    Returns:
        The figures; written to ``output`` if given.

    Raises:
        InputError: a dataset, or the captions cannot be read, or no figure applies.
    """
    from hf_vqa_mc.audits.figures import FIGURES
    from hf_vqa_mc.audits.figures.figure import describe_data, read_data
    from hf_vqa_mc.audits.figures.questions import of_images
    from hf_vqa_mc.report.description import DESCRIBED

    figures = [FIGURES.find(name) for name in settings.figures] or list(FIGURES.values())
    if settings.output is not None:
        check_report_folder(settings.output, DESCRIBED, "--output", settings.inputs, settings.overwrite)
    from hf_vqa_mc.engines.complementary.premise import captions_in

    captions = None if settings.captions is None else list(captions_in(settings.captions))
    datasets = [read_data(settings, progress)]
    if settings.against is not None:
        other = replace(settings, dataset=settings.against, config=settings.against_config)
        datasets.append(read_data(other, progress))
    if captions is not None:
        datasets = [replace(data, captions=(of_images(data.images, captions),)) for data in datasets]
    return DescribeResult(describe_data(datasets, figures, progress), settings).saved(settings)
