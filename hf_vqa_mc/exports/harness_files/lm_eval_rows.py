"""The questions in the folder of this file, for lm-eval.

Written by ``vqa-mc export lm-eval``; the same in every export. The folder may be moved.
"""

from pathlib import Path
from typing import Any


def questions(**_: Any) -> Any:  # noqa: ANN401  what lm-eval hands over and takes
    """The splits for lm-eval's ``custom_dataset``: test only."""
    import pyarrow.parquet
    from datasets import Dataset, DatasetDict

    table = pyarrow.parquet.read_table(Path(__file__).with_name("questions.parquet"))
    return DatasetDict({"test": Dataset(table)})


def prediction(doc: dict[str, Any], results: list[tuple[float, bool]]) -> dict[str, Any]:
    """If answers are hidden: the index of the likeliest choice, which ``--log_samples`` saves for ``vqa-mc score``."""
    likeliest = max(range(len(results)), key=lambda index: results[index][0])
    return {"question_id": doc["question_id"], "prediction": likeliest}


def count(predictions: list[Any]) -> float:
    """The number of predictions."""
    return float(len(predictions))
