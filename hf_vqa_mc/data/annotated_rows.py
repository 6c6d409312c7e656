"""Annotations from the rows of open-ended configs of vqa-mc build."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hf_vqa_mc.data.annotation_files import vqa_annotations
from hf_vqa_mc.data.inventory import PREFERRED
from hf_vqa_mc.data.loading import chosen_split
from hf_vqa_mc.data.opening import Opened
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.inputs import PAIRS
from hf_vqa_mc.scoring.scheme import GQA, TDIUC, VQA, Annotations
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import open_ended_source
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.sources.table import ROWS

TDIUC_COLUMNS = ("question_id", "image_id", "question_type", "question", "answer")
VQA_COLUMNS = {
    **{name: name for name in ("question_id", "image_id", "question_type", "answer_type", "answers")},
    "answer": "multiple_choice_answer",
}
"""Columns of VQA's open-ended configs to the names of the annotation file."""
PAIR_COLUMNS = ("question_id", "image_id", "answer", "answers", "answer_type")
"""Columns of each of a pair's two questions; the second's are prefixed."""
PAIR_SHARED = ("question", "question_type")
PAIR_PREFIXES = ("", "complementary_")
GQA_FIELDS = ("question", "types", "groups", "semantic", "entailed")
"""Columns of GQA's open-ended config with the names of GQA's own fields."""
GQA_LINKS = {"question": "question", "answer": "answer", "full_answer": "fullAnswer"}
"""Fields of a row's annotations to GQA's names."""


def open_ended_annotations(opened: Opened, split: str | None, grounding: bool) -> Annotations | None:
    """The rows of one split of an open-ended config of vqa-mc build; None if it is none."""
    columns = next(iter(opened.tables.values())).column_names
    if (found := open_ended_source(columns, opened.config)) is None:
        return None
    source, config = found
    chosen = chosen_split(list(opened.tables), split, opened.name)
    location = opened.locations[chosen]
    if config.scored_as not in OPEN_ENDED:
        raise InputError(
            f"{location}: an open-ended config without choices and without a metric; score against the "
            f"publisher's annotation file, or against {source.name}_{PREFERRED}"
        )
    annotations = OPEN_ENDED[config.scored_as](opened.tables[chosen], location, grounding)
    return replace(annotations, about=about_split(opened.name, opened.config, chosen))


def about_split(dataset: str, config: str | None, split: str) -> dict[str, str]:
    """``Annotations.about``."""
    subsets = SOURCES[name].official_subsets if (name := source_of(config or "")) else {}
    found = {"dataset": dataset, "config": config, "split": split, "subset": subsets.get(split)}
    return {name: text for name, text in found.items() if text}


def _columns(table: pa.Table, names: Sequence[str], location: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in names}
    for name, values in columns.items():
        if None in values:
            raise InputError(f"{location}, row {values.index(None)}: {name} is null")
    return columns


def _tdiuc(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    columns = _columns(rows, TDIUC_COLUMNS, location)
    ids, images, types, questions, gold = (columns[name] for name in TDIUC_COLUMNS)
    return Annotations(TDIUC, location, ids, images, question_types=types, questions=questions, gold=gold)


def _gqa(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    names = ["question_id", "image_id", "answer", "is_balanced", *GQA_FIELDS, *(["annotations"] if grounding else [])]
    columns = _columns(rows, names, location)
    records = dict(_gqa_records(columns))
    if len(records) < len(columns["question_id"]):
        raise InputError(f"{location}: a question_id occurs twice; expected each once")
    return Annotations(GQA, location, list(records), records=records)


def _gqa_records(columns: Mapping[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """GQA's records by id; unbalanced ones have only the required fields."""
    for row, name in enumerate(columns["question_id"]):
        record = {"answer": columns["answer"][row], "isBalanced": columns["is_balanced"][row]}
        if record["isBalanced"]:
            record |= {"imageId": columns["image_id"][row]} | {field: columns[field][row] for field in GQA_FIELDS}
            if "annotations" in columns:
                record["annotations"] = {
                    gqa_name: {link["span"]: link["object_id"] for link in columns["annotations"][row][field]}
                    for field, gqa_name in GQA_LINKS.items()
                }
        yield name, record


def _vqa(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    return vqa_annotations(_vqa_records(rows, location), location)


def _vqa_records(rows: pa.Table, location: str) -> Iterator[Records]:
    """The rows as records of the annotation file, in batches; raises InputError for a row without answers."""
    for batch in rows.select(list(VQA_COLUMNS)).to_batches(ROWS):
        records = batch.rename_columns([VQA_COLUMNS[name] for name in batch.column_names]).to_pylist()
        for record in records:
            if not record["answers"]:
                raise InputError(
                    f"{location}: question {record['question_id']!r} has no answers, as those of VQA's test questions "
                    "are not published; score the validation split (--split validation, in Python "
                    'split="validation")'
                )
        ids = batch["question_id"].to_pylist()
        yield Records(records, lambda row, ids=ids: f"{location}, question {ids[row]!r}")  # type: ignore[misc]


def _vqa_pairs(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    """The questions of all pairs, each once, and the pairs."""
    names = [*PAIR_SHARED, *(prefix + name for prefix in PAIR_PREFIXES for name in PAIR_COLUMNS)]
    columns = _columns(rows, names, location)
    pairs = list(zip(*(columns[prefix + "question_id"] for prefix in PAIR_PREFIXES), strict=True))
    first: dict[str, tuple[str, int]] = {}
    for row, pair in enumerate(pairs):
        for prefix, name in zip(PAIR_PREFIXES, pair, strict=True):
            first.setdefault(name, (prefix, row))
    images, gold, answers, types = (
        [columns[prefix + name][row] for prefix, row in first.values()] for name in PAIR_COLUMNS[1:]
    )
    questions, question_types = ([columns[name][row] for _, row in first.values()] for name in PAIR_SHARED)
    return Annotations(
        VQA,
        location,
        list(first),
        image_ids=images,
        question_types=question_types,
        answer_types=types,
        questions=questions,
        gold=gold,
        answers=answers,
        inputs={PAIRS.name: [list(pair) for pair in pairs]},
    )


OPEN_ENDED = {"tdiuc": _tdiuc, "gqa": _gqa, "vqa": _vqa, "vqa_pairs": _vqa_pairs}
"""Readers of the rows of open-ended configs, ``OpenEnded.scored_as``."""
