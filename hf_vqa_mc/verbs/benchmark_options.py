"""Options that name a multiple-choice benchmark and its columns; shared by all verbs that read one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.benchmarks import Benchmark

COLUMNS = "Columns (detected if not given)"


@dataclass(frozen=True)
class BenchmarkOptions:
    """Which benchmark is read, and how."""

    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame" = option(
        "Parquet, jsonl, json, csv or tsv file, folder, or dataset on the Hub; in Python also a Dataset, a "
        "DatasetDict or a data frame.",
        positional=True,
    )
    config: str | None = option("Config of a dataset with several, such as easyvqa_iou_qou.", None, positional=True)
    split: str | None = option("Split to read; by default test, else validation, else the only one.", None)
    images: Path | None = option("Folder with the image files that a column names.", None)
    question: str | None = option("Column of the question.", None, panel=COLUMNS)
    choices: tuple[str, ...] | None = option(
        "Column with a list of choices or of decoys, or several columns with one choice each: A,B,C,D.",
        None,
        separator=",",
        panel=COLUMNS,
    )
    label: str | None = option("Column of the correct choice: index, letter or text.", None, panel=COLUMNS)
    label_from: int | None = option("Index of the first choice in integer labels: 0 or 1.", None, panel=COLUMNS)
    image: str | None = option("Column of the image: image data, base64 text or path.", None, panel=COLUMNS)
    question_type: str | None = option("Column of the question type or category.", None, flag="--type", panel=COLUMNS)

    def read(self, progress: Progress) -> "Benchmark":
        """Read the benchmark.

        Raises:
            InputError: as `benchmarks.read_benchmark`.
        """
        from hf_vqa_mc.benchmarks import Columns, read_benchmark

        columns = Columns(
            question=self.question,
            choices=self.choices,
            label=self.label,
            image=self.image,
            question_type=self.question_type,
            label_from=self.label_from,
        )
        dataset: Any = self.dataset
        return read_benchmark(
            dataset, self.config, split=self.split, columns=columns, images=self.images, progress=progress
        )

    @property
    def paths(self) -> list[Path]:
        """The files and folders that are read, which nothing written may touch."""
        named = [self.dataset] if isinstance(self.dataset, str | Path) else []
        return [Path(path) for path in (*named, self.images) if path is not None and Path(path).exists()]

    @property
    def name(self) -> str:
        """The dataset as messages and default output folders name it; ``dataset`` where it is an object.

        Raises:
            InputError: the dataset is empty text.
        """
        if not isinstance(self.dataset, str | Path):
            return "dataset"
        if not str(self.dataset):
            raise InputError("DATASET is empty; name a file, a folder or a dataset on the Hub")
        return str(self.dataset)
