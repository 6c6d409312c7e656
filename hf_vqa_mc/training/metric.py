"""A dataset's own metric, which follows from its rows, and its figures for picked choices."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.consensus import choice_consensus
from hf_vqa_mc.scoring.statistics import mean_interval, standard_error
from hf_vqa_mc.sources.open_ended import open_ended_source

ACCURACY, CONSENSUS, PER_TYPE = "accuracy", "consensus accuracy", "arithmetic mean per type"
"""A dataset's own metric."""


def metric_of(columns: Collection[str], answers: Sequence[Sequence[str]] | None) -> str:
    """The metric of a dataset's rows; ``answers`` are those of `human_answers`."""
    if max(map(len, answers or ()), default=0) > 1:
        return CONSENSUS
    found = open_ended_source(columns)
    return PER_TYPE if found is not None and found[1].scored_as == "tdiuc" else ACCURACY


def human_answers(rows: pa.Table, location: str) -> list[list[str]] | None:
    """All human answers to each question, the texts of records; None without such a column.

    Raises InputError, with ``location``, if one of them is null.
    """
    column = rows.select(["answers"]).combine_chunks()["answers"] if "answers" in rows.column_names else None
    if column is None or not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return None
    lengths, texts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(), pc.list_flatten(column)
    if pa.types.is_struct(texts.type) and texts.type.get_field_index("answer") >= 0:
        texts = pc.struct_field(texts, "answer")
    if not _is_text(texts.type):
        return None
    if texts.null_count:
        row = pc.list_parent_indices(column)[pc.index(pc.is_null(texts), True).as_py()]
        raise InputError(f"{location}, row {row}: one of answers is empty (null), expected text")
    encoded = pc.dictionary_encode(texts).combine_chunks()
    distinct = encoded.dictionary.to_pylist()  # of millions of answers few are distinct
    flat = [distinct[number] for number in encoded.indices.to_pylist()]
    ends = np.cumsum(lengths)
    return [flat[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def filled_texts(rows: pa.Table, name: str) -> list[str] | None:
    """A column of texts, "" for null; None if it is missing, of another type, or empty in all rows."""
    if name not in rows.column_names or not _is_text(rows[name].type):
        return None
    texts = [text or "" for text in rows[name].to_pylist()]
    return texts if any(texts) else None


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def consensus_of_choices(choices: Sequence[Sequence[str]], answers: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The consensus accuracy of each choice, (questions, choices), padded with nan."""
    sizes = np.array([len(texts) for texts in choices])
    found = np.full((len(sizes), sizes.max()), np.nan)
    found[np.arange(sizes.max()) < sizes[:, None]] = choice_consensus(choices, answers)
    return found


def consensus_of_picked(
    scores: NDArray[np.float64], picked: NDArray[np.int64], image_ids: Sequence[str]
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Each question's consensus accuracy, and accuracy, stderr, interval and chance.

    ``scores`` are those of `consensus_of_choices`; ``chance`` is the expected consensus accuracy of a choice drawn
    uniformly.
    """
    of_picked: NDArray[np.float64] = scores[np.arange(len(picked)), picked]
    return of_picked, {
        "accuracy": float(of_picked.mean()),
        "stderr": standard_error(of_picked, image_ids),
        "interval": mean_interval(of_picked, image_ids),
        "chance": float(np.nanmean(scores, axis=1).mean()),
    }
