"""Options that name a multiple-choice benchmark and its columns; shared by all verbs that read one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.options import ADVANCED, FOLDER, check_options, option, settings

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    Table: TypeAlias = datasets.Dataset | pd.DataFrame
    Remedied: TypeAlias = Any  # the result of a remedy, with its `Benchmark` as ``remedied``
    Source: TypeAlias = str | Path | Table | Mapping[str, Table] | Sequence[Mapping[str, Any]] | Remedied

COLUMNS = "Columns (detected if not given)"
OPTIONS = "name the columns with --question, --choices (one, or several), --label, --image"
"""Remedy if columns are not recognised, for messages."""
_LONGEST_NAME = 150  # of what file systems allow, 255
OTHER_COLUMNS = ("question_type", "image_id", "question_id")  # names in columns


@settings
class DatasetOptions:
    """A dataset, and where its images are."""

    dataset: "Source" = option(
        "Parquet, jsonl, json, csv, tsv or xlsx file, folder, or dataset on the Hub (NAMESPACE/NAME, or with a tag, "
        "branch or commit NAMESPACE/NAME@REVISION); in Python also a Dataset, a DatasetDict, a data frame, a list of "
        "records, or the result of a remedy.",
        kw_only=False,
    )
    config: str | None = option(
        "Config of a dataset with several, such as easyvqa_iou_qou.", default=None, kw_only=False
    )
    split: str | None = option("Split to read; by default test, else validation, else the only one.", default=None)
    images: Path | None = option("Folder with the image files that a column names.", default=None, check=FOLDER)


@settings
class ColumnOptions:
    """The columns of a multiple-choice benchmark; those that are not named are detected.

    Raises:
        InputError: an option is out of range; names it.
    """

    question: str | None = option("Column of the question.", default=None, panel=COLUMNS)
    choices: tuple[str, ...] | None = option(
        "Column with a list of choices or of decoys, or several columns with one choice each: A,B,C,D.",
        default=None,
        separator=",",
        panel=COLUMNS,
    )
    label: str | None = option("Column of the correct choice: index, letter or text.", default=None, panel=COLUMNS)
    label_from: int | None = option(
        "Index of the first choice in integer labels: 0 or 1.",
        default=None,
        check=("0 or 1, the first choice's number", lambda value: value in (0, 1)),
        panel=COLUMNS,
    )
    fixed_choices: tuple[str, ...] | None = option(
        "Choices of all rows where no column holds them: yes,no.",
        default=None,
        separator=",",
        check=("two or more different choices", lambda value: len(value) > 1 and len(set(value)) == len(value)),
        panel=COLUMNS,
    )
    skip_faulty: bool = option(
        "Leave out rows that cannot be read (up to half of a split) and count them; otherwise they are an error.",
        default=False,
        panel=COLUMNS,
    )
    image: str | None = option(
        "Column of the image: image data, base64 text or path; '' for none.", default=None, panel=COLUMNS
    )
    columns: Mapping[str, str] = option(
        "Other columns: question_type=COLUMN, image_id=COLUMN (the same for rows with the same image), "
        "question_id=COLUMN (unique).",
        factory=dict,
        separator=",",
        check=(f"names among {', '.join(OTHER_COLUMNS)}", lambda value: set(value) <= set(OTHER_COLUMNS)),
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def given_columns(self) -> dict[str, Any]:
        """The column options that are given, by name."""
        return _given(self, ColumnOptions)


@settings
class BenchmarkOptions(ColumnOptions, DatasetOptions):
    """Read the splits of a multiple-choice benchmark in any common layout.

    Columns that are not named are detected by name and content; an ambiguous layout is an error.

    Raises:
        InputError: an option is out of range; names it.
    """

    @property
    def how_to_read(self) -> dict[str, Any]:
        """The options that decide which rows and columns are read, without paths; for certificates."""
        return {name: getattr(self, name) for name in ("split", *(one.name for one in fields(ColumnOptions)))}

    @property
    def paths(self) -> list[Path]:
        """The dataset's file or folder, which outputs must not overwrite, nor be in it; ``images`` may hold them."""
        return [Path(self.dataset)] if isinstance(self.dataset, str | Path) and Path(self.dataset).exists() else []

    def arguments(self, name: Callable[[str], str] = str) -> tuple[tuple[object, ...], dict[str, Any]]:
        """The positional and the other arguments with which a verb reads the same benchmark; ``name`` is for paths."""
        given = _given(self, BenchmarkOptions)
        given |= {key: name(str(value)) for key, value in given.items() if isinstance(value, Path)}
        dataset = name(str(self.dataset)) if isinstance(self.dataset, str | Path) else self.dataset
        return (dataset, *filter(None, [self.config])), given

    @property
    def dataset_name(self) -> str:
        """Name of the dataset for messages and default output folders; ``dataset`` for an object in memory."""
        if not isinstance(self.dataset, str | Path):
            return "dataset"
        if not str(self.dataset):
            raise InputError("DATASET is empty; give a file, a folder or a dataset on the Hub")
        return str(self.dataset)

    def check_columns(self, names: Sequence[str], location: str) -> None:
        """Raise InputError unless all columns named by the user are among ``names``."""
        singles = (self.question, self.label, self.image, *self.columns.values())
        for name in (*(self.choices or ()), *filter(None, singles)):
            if name not in names:
                raise unknown_name(f"column of {location}", name, names)
        if self.choices is not None and len(set(self.choices)) < max(len(self.choices), 1):
            raise InputError(
                f"--choices {', '.join(self.choices) or '(none)'}: expected one column, or several distinct columns"
            )


def _given(options: ColumnOptions, kind: type[ColumnOptions]) -> dict[str, Any]:
    values = {one.name: getattr(options, one.name) for one in fields(kind) if one.kw_only}
    return {name: value for name, value in values.items() if not (value is None or value is False or value == {})}


def folder_name(dataset: str, config: str | None, split: str | None) -> str:
    """The name of the folder of an audit, evaluation or index: the path from here, so that no two datasets share it.

    >>> folder_name("vqa_mc", "cocoqa_iou", None), folder_name("data/mine.tsv", None, "dev")
    ('vqa_mc-cocoqa_iou', 'data--mine.tsv-dev')
    """
    path = Path(dataset)
    if path.exists() or path.is_absolute() or (path.suffix and "@" not in dataset):  # else a name on the Hub
        target, here = path.resolve(), Path.cwd().resolve()
        dataset = target.relative_to(here).as_posix() if here in target.parents else target.as_posix()
    return file_name("-".join(part for part in (dataset, config, split) if part)[-_LONGEST_NAME:])
