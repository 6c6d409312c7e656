"""Files in the formats of official programs and evaluation servers: file name to JSON value."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.scheme import Annotations, Matched

TASKS = {"Open-Ended": "OpenEnded", "Multiple-Choice": "MultipleChoice"}
"""A header's task_type, and the same in file names."""
SUBSETS = {"train": "train2014", "validation": "val2014"}
"""VQA's data_subtype of the splits of configs whose source declares none."""
DIGITS = 2  # digits to which the official program rounds percentages
LONGEST_NAME = 100  # bytes of a model or subset in file names; file systems allow 255 in total

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_NAMED = re.compile(r"(mscoco|abstract_v002)_((?:train|val|test|test-dev)20\d\d)")

PACKED = (".gz", ".gzip", ".xz", ".zip")
_NAMES = ("json", "jsonl", "ndjson", "csv", "tsv", "parquet", "xlsx")
FORMATS = {f".{name}": "jsonl" if name == "ndjson" else name for name in _NAMES}
"""Formats of predictions files by the endings of their names."""


def bare_name(path: str | Path) -> str:
    """A file's name without the endings of packing and format."""
    path = Path(path)
    for endings in (PACKED, tuple(FORMATS)):
        path = path.with_name(path.stem) if path.suffix.lower() in endings else path
    return path.name


def prediction_file(matched: Matched, id_field: str, answer_field: str) -> dict[str, Any]:
    """The predictions as records of two fields, as the programs of TDIUC and GQA read them."""
    ids = _ids(matched) if matched.annotations.records is None else matched.annotations.ids
    pairs = zip(ids, matched.texts, strict=True)
    rows = [{id_field: one, answer_field: text} for one, text in pairs if text is not None]
    return {f"{_in_file_name(matched.name)}_predictions.json": rows}


def vqa_files(matched: Matched, result: Mapping[str, Any] | None) -> dict[str, Any]:
    """The results file that VQA's program reads, and the four files of scores that it writes."""
    annotations, ids = matched.annotations, _ids(matched)
    by_choices = "MultipleChoice" if annotations.choices else "OpenEnded"
    task = TASKS.get(annotations.about.get("task_type", ""), by_choices)
    stem = f"vqa_{task}_{_subset(annotations)}_{_in_file_name(matched.name)}"
    answers = [{"question_id": one, "answer": text} for one, text in zip(ids, matched.texts, strict=True)]
    files: dict[str, Any] = {"results": answers}
    if result is not None:
        scores: list[float] = result["per_question"]
        percents = {str(one): round(100 * score, DIGITS) for one, score in zip(ids, scores, strict=True)}
        files["accuracy"] = {"overall": round(100 * sum(scores) / len(scores), DIGITS)}
        files["evalQA"] = percents
        for kind, types in (("Ques", annotations.question_types), ("Ans", annotations.answer_types)):
            rows: dict[str, list[int]] = {}
            for row, name in enumerate(types or []):
                rows.setdefault(name, []).append(row)
            means = {name: round(100 * sum(scores[row] for row in of) / len(of), DIGITS) for name, of in rows.items()}
            files["accuracy"]["perQuestionType" if kind == "Ques" else "perAnswerType"] = means
            of_each = {name: {str(ids[row]): percents[str(ids[row])] for row in of} for name, of in rows.items()}
            files[f"eval{kind}Type"] = of_each
    return {f"{stem}_{kind}.json": value for kind, value in files.items()}


def _ids(matched: Matched) -> list[str | int]:
    """Ids as integers if possible, as in VQA and TDIUC; ids of built datasets are text."""
    ids = matched.annotations.ids
    if "split" not in matched.annotations.about:  # of an annotation file
        return ids
    return [int(one) if _NUMBER.fullmatch(str(one)) else one for one in ids]


def _in_file_name(text: str) -> str:
    plain = re.sub(r"[^\w.-]+", "-", text)
    if len(plain.encode()) > LONGEST_NAME:
        raise InputError(f"--official: {plain[:30]!r}... is too long for a file name; rename the predictions file")
    return plain


def _subset(annotations: Annotations) -> str:
    """The data subtype, such as ``mscoco_val2014``: from the header, the split or the name of the annotation file."""
    about = annotations.about
    if "data_subtype" in about:
        return _in_file_name(f"{about.get('data_type', 'mscoco')}_{about['data_subtype']}")
    if "subset" in about:
        return about["subset"]
    if about.get("split") in SUBSETS:
        return f"mscoco_{SUBSETS[about['split']]}"
    file = bare_name(annotations.location)
    named = _NAMED.search(file)
    return named[0] if named else f"mscoco_{re.sub(r'[^A-Za-z0-9]+', '', file)}"
