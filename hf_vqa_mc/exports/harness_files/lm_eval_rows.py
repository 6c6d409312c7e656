"""The questions that lie beside this file, for lm-eval.

Written by ``vqa-mc export lm-eval``; the same in every export. The folder may be moved.
"""

from pathlib import Path
from typing import Any


def questions(**_: Any) -> Any:  # noqa: ANN401  what lm-eval hands over and takes
    """The splits, as lm-eval's ``custom_dataset`` has to give them: one, called test."""
    import pyarrow.parquet
    from datasets import Dataset, DatasetDict

    table = pyarrow.parquet.read_table(Path(__file__).with_name("questions.parquet"))
    return DatasetDict({"test": Dataset(table)})


def prediction(doc: dict[str, Any], results: list[tuple[float, bool]]) -> dict[str, Any]:
    """Where answers are hidden: the place of the likeliest choice, which ``--log_samples`` writes down.

    The file of samples is what ``vqa-mc score`` reads.
    """
    likeliest = max(range(len(results)), key=lambda place: results[place][0])
    return {"question_id": doc["question_id"], "prediction": likeliest}


def count(predictions: list[Any]) -> float:
    """How many there are."""
    return float(len(predictions))
