"""Annotations from the rows of a dataset of vqa-mc build, in a folder, on the Hub or in memory, or of a benchmark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from hf_vqa_mc.benchmarks import read_benchmark
from hf_vqa_mc.benchmarks.annotation_files import ACCEPTED, vqa_annotations
from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.dataset.inventory import PREFERRED
from hf_vqa_mc.dataset.loading import chosen_split, load_splits
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.schema import QUESTIONS, checked_rows
from hf_vqa_mc.scoring.inputs import PAIRS
from hf_vqa_mc.scoring.scheme import GQA, MULTIPLE_CHOICE, TDIUC, VQA, Annotations
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import open_ended_source
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.sources.table import ROWS


class NotRows(InputError):
    """A dataset does not have the columns of vqa-mc build."""


COLUMNS = {
    **dict.fromkeys(("question_id", "image_id"), "text or whole numbers"),
    **QUESTIONS,
    "choice_kinds": "lists of whole numbers",
    "answers": "lists of text",
    "question_type": "text",
    "answer_type": "text",
    "set_id": "text or whole numbers",
    "set_kind": "text",
}
"""Columns of multiple-choice rows and their types."""
REQUIRED = ("question_id", "choices", "label")
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


def read_rows(
    dataset: Any,  # noqa: ANN401  a name, a Dataset or a DatasetDict
    config: str | None = None,
    split: str | None = None,
    *,
    grounding: bool = False,
) -> Annotations:
    """Read the rows of one split: by default test, else validation, else the only one."""
    if isinstance(dataset, str):
        config, splits = load_splits(dataset, config, ACCEPTED)
        location, about = f"{dataset}, {config}", {"dataset": dataset, "config": config}
    else:
        splits = dataset if isinstance(dataset, Mapping) else {str(getattr(dataset, "split", None) or "rows"): dataset}
        location, about = "dataset", {"dataset": "dataset"} | ({"config": config} if config else {})
    chosen = chosen_split(list(splits), split, location)
    if not hasattr(splits[chosen], "select_columns"):
        raise NotRows(
            f"dataset is a {type(splits[chosen]).__name__}; expected a path, a name on the Hub, a Dataset, a "
            "DatasetDict or a data frame"
        )
    rows, location, about = splits[chosen], f"{location}, {chosen}", {**about, "split": chosen}
    config = config or rows.info.config_name
    subsets = SOURCES[name].official_subsets if (name := source_of(config or "")) else {}
    about |= {"subset": subsets[chosen]} if chosen in subsets else {}
    found = open_ended_source(rows.column_names, config)
    if found is None:
        return _multiple_choice(rows, location, about)
    source, opened = found
    if opened.scored_as not in OPEN_ENDED:
        raise InputError(
            f"{location}: an open-ended config without choices and without a metric; score against the "
            f"publisher's annotation file, or against {source.name}_{PREFERRED}"
        )
    return OPEN_ENDED[opened.scored_as](rows, location, about, grounding)


def read_benchmark_rows(
    dataset: Any,  # noqa: ANN401  as for read_benchmark, or a Benchmark
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Annotations:
    """The questions of the evaluated split, read with these `ColumnOptions`.

    Without ids of their own they have the numbers of their rows, from 0.

    Raises:
        InputError: as `hf_vqa_mc.read_benchmark`.
    """
    benchmark = (
        dataset if isinstance(dataset, Benchmark) else read_benchmark(dataset, config, split=split, **columns or {})
    )
    found, rows = benchmark.test, benchmark.test.rows.to_pydict()
    names, kinds = list(CHOICE_KINDS), rows.pop("choice_kinds")
    if all(kinds):
        rows["choice_kinds"] = [[names.index(kind) for kind in of_row] for of_row in kinds]
    for name in ("set_id", "set_kind"):
        if name in found.original.column_names:
            rows[name] = found.original[name].to_pylist()
    about = {"dataset": benchmark.dataset, "split": found.name}
    about |= {"config": benchmark.config} if benchmark.config else {}
    return replace(
        multiple_choice_annotations(rows, found.location, about),
        unread=found.unread,
        label_from=benchmark.spec.index_from,
    )


def _columns(table: pa.Table, location: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if None in values:
            raise InputError(f"{location}, row {values.index(None)}: {name} is null")
    return columns


def _arrow(rows: Any, names: Iterable[str]) -> pa.Table:  # noqa: ANN401  a Dataset
    return rows.select_columns(list(names)).with_format("arrow")[:]


def _multiple_choice(rows: Any, location: str, about: Mapping[str, str]) -> Annotations:  # noqa: ANN401  a Dataset
    table = _arrow(rows, [name for name in COLUMNS if name in rows.column_names])
    if "choice_kinds" in table.column_names and table["choice_kinds"].type == pa.list_(pa.string()):
        table = table.drop_columns("choice_kinds")  # of a benchmark as read_benchmark gives it: names, or empty
    known = {name: kind for name, kind in COLUMNS.items() if name in table.column_names or name in REQUIRED}
    try:
        table = checked_rows(table, location, known)
    except InputError as error:
        is_ours = all(name in table.column_names for name in REQUIRED) and pa.types.is_integer(table["label"].type)
        raise error if is_ours else NotRows(str(error)) from None
    return multiple_choice_annotations(table.to_pydict(), location, about)


def multiple_choice_annotations(
    columns: Mapping[str, list[Any]], location: str, about: Mapping[str, str]
) -> Annotations:
    """Annotations of columns of `COLUMNS`; empty columns are as none, and answers count if a row has several."""
    ids, choices, labels = (columns[name] for name in REQUIRED)
    answers = columns.get("answers")
    return Annotations(
        MULTIPLE_CHOICE,
        location,
        ids,
        image_ids=_filled(columns.get("image_id")),
        question_types=_filled(columns.get("question_type")),
        answer_types=_filled(columns.get("answer_type")),
        questions=columns.get("question"),
        gold=[texts[label] for texts, label in zip(choices, labels, strict=True)],
        answers=answers if answers is not None and max(map(len, answers), default=0) > 1 else None,
        choices=choices,
        labels=labels,
        choice_kinds=columns.get("choice_kinds"),
        set_ids=_filled([str(name or "") for name in columns.get("set_id", [])]),
        set_kinds=columns.get("set_kind"),
        about=about,
    )


def _filled(texts: list[str] | None) -> list[str] | None:
    """The column, or None if it is empty in every row."""
    return texts if texts is not None and any(texts) else None


def _tdiuc(rows: Any, location: str, about: Mapping[str, str], grounding: bool) -> Annotations:  # noqa: ANN401
    columns = _columns(_arrow(rows, TDIUC_COLUMNS), location)
    ids, images, types, questions, gold = (columns[name] for name in TDIUC_COLUMNS)
    return Annotations(TDIUC, location, ids, images, question_types=types, questions=questions, gold=gold, about=about)


def _gqa(rows: Any, location: str, about: Mapping[str, str], grounding: bool) -> Annotations:  # noqa: ANN401
    names = ["question_id", "image_id", "answer", "is_balanced", *GQA_FIELDS, *(["annotations"] if grounding else [])]
    columns = _columns(_arrow(rows, names), location)
    records = dict(_gqa_records(columns))
    if len(records) < len(columns["question_id"]):
        raise InputError(f"{location}: a question_id occurs twice; expected each once")
    return Annotations(GQA, location, list(records), records=records, about=about)


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


def _vqa(rows: Any, location: str, about: Mapping[str, str], grounding: bool) -> Annotations:  # noqa: ANN401
    return replace(vqa_annotations(_vqa_records(rows, location), location, {}), about=about)


def _vqa_records(rows: Any, location: str) -> Iterator[Records]:  # noqa: ANN401  a Dataset
    """The rows as records of the annotation file, in batches; raises InputError for a row without answers."""
    for batch in rows.select_columns(list(VQA_COLUMNS)).with_format("arrow").iter(ROWS):
        records = batch.rename_columns([VQA_COLUMNS[name] for name in batch.column_names]).to_pylist()
        for record in records:
            if not record["answers"]:
                raise InputError(
                    f"{location}: question {record['question_id']!r} has no answers, as those of VQA's test questions "
                    "are not published; score the validation split (--split validation, in Python "
                    'split="validation")'
                )
        yield Records(records, partial(_question_at, location, records))


def _question_at(location: str, records: Sequence[Mapping[str, Any]], position: int) -> str:
    return f"{location}, question {records[position]['question_id']!r}"


def _vqa_pairs(rows: Any, location: str, about: Mapping[str, str], grounding: bool) -> Annotations:  # noqa: ANN401
    """The questions of all pairs, each once, and the pairs."""
    names = [*PAIR_SHARED, *(prefix + name for prefix in PAIR_PREFIXES for name in PAIR_COLUMNS)]
    columns = _columns(_arrow(rows, names), location)
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
        about=about,
    )


OPEN_ENDED = {"tdiuc": _tdiuc, "gqa": _gqa, "vqa": _vqa, "vqa_pairs": _vqa_pairs}
"""Readers of the rows of open-ended configs, ``OpenEnded.scored_as``."""
