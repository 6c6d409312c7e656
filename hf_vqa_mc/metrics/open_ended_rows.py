"""What was asked, from the rows of an open-ended config: the same as from the publisher's annotation file."""

from collections.abc import Iterable, Mapping
from typing import Any

from hf_vqa_mc.dataset.inventory import PREFERRED
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.asked import Asked

TDIUC_COLUMNS = ("question_id", "image_id", "question", "question_type", "answer")
GQA_COLUMNS = ("question_id", "image_id", "question", "answer", "is_balanced", "types", "groups", "semantic")
GQA_LINKS = {"question": "question", "answer": "answer", "full_answer": "fullAnswer"}
"""The fields of a row's annotations, and GQA's own names for them."""


def asked_in_rows(source: str, rows: Any, place: str, about: Mapping[str, str], grounding: bool) -> Asked:  # noqa: ANN401  a Dataset
    """What the rows of one split ask.

    Args:
        source: whose open-ended config it is.
        rows: with all columns of that config.
        place: for messages.
        about: dataset, config and split.
        grounding: keep what GQA's grounding score needs.

    Raises:
        InputError: no scheme scores rows of this source, or a value is null that never is.
    """
    if source == "tdiuc":
        columns = _columns(rows, TDIUC_COLUMNS, place)
        return Asked(
            "tdiuc",
            place,
            columns["question_id"],
            image_ids=columns["image_id"],
            question_types=columns["question_type"],
            questions=columns["question"],
            gold=columns["answer"],
            about=about,
        )
    if source == "gqa":
        columns = _columns(rows, (*GQA_COLUMNS, "entailed", *(("annotations",) if grounding else ())), place)
        records = dict(_gqa_records(columns))
        if len(records) < len(columns["question_id"]):
            raise InputError(f"{place}: a question_id is there twice; expected each once")
        return Asked("gqa", place, list(records), records=records, about=about)
    raise InputError(
        f"{place}: an open-ended config that has no choices and no scheme of its own; score against the publisher's "
        f"annotation file (with --pairs FILE for pairs), or against {source}_{PREFERRED}"
    )


def _columns(rows: Any, names: Iterable[str], place: str) -> dict[str, list[Any]]:  # noqa: ANN401  a Dataset
    table = rows.select_columns(list(names)).with_format("arrow")[:]
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if None in values:
            raise InputError(f"{place}, row {values.index(None)}: {name} is null")
    return columns


def _gqa_records(columns: Mapping[str, list[Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
    """GQA's own records, by id; of unbalanced ones no more than is needed."""
    for at, name in enumerate(columns["question_id"]):
        record = {"answer": columns["answer"][at], "isBalanced": columns["is_balanced"][at]}
        if record["isBalanced"]:
            record |= {field: columns[field][at] for field in ("question", "types", "groups", "semantic", "entailed")}
            record["imageId"] = columns["image_id"][at]
            if "annotations" in columns:
                record["annotations"] = {
                    ours: {link["span"]: link["object_id"] for link in columns["annotations"][at][field]}
                    for field, ours in GQA_LINKS.items()
                }
        yield name, record
