"""What was asked, from the rows of a dataset: a folder that vqa-mc build wrote, or one on the Hub."""

from typing import Any

import pyarrow as pa
from pyarrow.types import is_boolean, is_integer, is_large_list, is_large_string, is_list, is_string

from hf_vqa_mc.dataset.loading import chosen_split, load_splits
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.annotation_files import ACCEPTED
from hf_vqa_mc.metrics.asked import Asked
from hf_vqa_mc.metrics.open_ended_rows import asked_in_rows
from hf_vqa_mc.schema import MULTIPLE_CHOICE
from hf_vqa_mc.sources.open_ended import open_ended_source

REQUIRED = ("question_id", "choices", "label")
IDS = ("question_id", "image_id")


def read_rows(dataset: str, config: str | None = None, split: str | None = None, *, grounding: bool = False) -> Asked:
    """The rows of one split.

    Args:
        dataset: what ``load_dataset`` takes.
        config: needed where there are several with questions.
        split: by default test, else validation, else the only one.
        grounding: keep what GQA's grounding score needs.

    Raises:
        InputError: there is no such dataset, config, split or column.
        ConnectionError: it lies on the Hub, which cannot be reached.
    """
    config, splits = load_splits(dataset, config, ACCEPTED)
    chosen = chosen_split(list(splits), split, f"{dataset}, {config}")
    rows = splits[chosen]
    place = f"{dataset}, {config}, {chosen}"
    about = {"dataset": dataset, "config": config, "split": chosen}
    source = open_ended_source(rows.column_names)
    if source is not None:
        return asked_in_rows(source.name, rows, place, about, grounding)
    columns = [name for name in MULTIPLE_CHOICE.names if name in rows.column_names]
    table = rows.select_columns(columns).with_format("arrow")[:]
    _check_columns(table, place)
    return _asked(table, place, about)


def _check_columns(table: pa.Table, place: str) -> None:
    """Nothing, if the rows are multiple-choice questions, whoever made them."""
    for field in MULTIPLE_CHOICE:
        if field.name not in table.column_names:
            found = "no such column" if field.name in REQUIRED else None
        else:
            kind = table.schema.field(field.name).type
            is_number = field.name in IDS and is_integer(kind)
            found = None if is_number or _fits(kind, field.type) else str(kind)
        if found is not None:
            raise InputError(f"{place}: {field.name} is {found}; expected rows as vqa-mc build makes them")


def _fits(kind: pa.DataType, expected: pa.DataType) -> bool:
    """Whether a column holds what is expected, in numbers and lists of any width."""
    if is_list(expected):
        return (is_list(kind) or is_large_list(kind)) and _fits(kind.value_type, expected.value_type)
    tests = (is_integer, is_boolean, lambda one: is_string(one) or is_large_string(one))
    return any(test(kind) and test(expected) for test in tests)


def _asked(table: pa.Table, place: str, about: dict[str, str]) -> Asked:
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if None in values:
            raise InputError(f"{place}, row {values.index(None)}: {name} is null")
    ids, choices, labels = (columns[name] for name in REQUIRED)
    for name, texts, label in zip(ids, choices, labels, strict=True):
        if not 0 <= label < len(texts):
            raise InputError(
                f"{place}, question {name!r}: label is {label}, expected a place of its {len(texts)} choices"
            )
    answers = columns.get("answers")
    return Asked(
        "multiple_choice",
        place,
        ids,
        image_ids=columns.get("image_id"),
        question_types=_filled(columns.get("question_type")),
        answer_types=_filled(columns.get("answer_type")),
        questions=columns.get("question"),
        gold=[texts[label] for texts, label in zip(choices, labels, strict=True)],
        answers=answers if answers is not None and max(map(len, answers), default=0) > 1 else None,
        choices=choices,
        labels=labels,
        choice_kinds=columns.get("choice_kinds"),
        about=about,
    )


def _filled(texts: list[str] | None) -> list[str] | None:
    """None for a column that is empty in every row, as where a source has no types."""
    return texts if texts is not None and any(texts) else None
