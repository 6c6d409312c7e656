"""GQA's question records as columns, without loss."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.gqa_types import SEMANTIC_TYPES, STRUCTURAL_TYPES
from hf_vqa_mc.sources.files import Files, PublishedFile
from hf_vqa_mc.sources.table import lists_of

PARTS = 10
"""Parts of the published file of all training questions."""
SPLITS = {"train": "train", "val": "validation", "testdev": "test", "test": "test", "challenge": "challenge"}
"""The publisher's split name to ours; of testdev and test, the first one with answers is read."""
MAY_LACK_ANSWERS = ("test", "challenge")

TYPES = ("structural", "semantic", "detailed")
_KNOWN = {"structural": STRUCTURAL_TYPES, "semantic": SEMANTIC_TYPES}
"""Kinds of types with a closed list of names."""
GROUPS = ("global", "local")
ANNOTATED = {"question": "question", "answer": "answer", "full_answer": "fullAnswer"}
FIELDS = frozenset(
    "question imageId answer fullAnswer isBalanced types groups semantic semanticStr annotations entailed "
    "equivalent".split()
)
"""The fields of a record; all are required, except the answers in files with hidden answers."""

_LINKS = pa.list_(pa.struct([("span", pa.string()), ("object_id", pa.string())]))
_STEP = pa.struct([("operation", pa.string()), ("argument", pa.string()), ("dependencies", pa.list_(pa.int64()))])
SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("full_answer", pa.string()),
        ("is_balanced", pa.bool_()),
        ("types", pa.struct([(name, pa.string()) for name in TYPES])),
        ("groups", pa.struct([(name, pa.string()) for name in GROUPS])),
        ("semantic", pa.list_(_STEP)),
        ("semantic_str", pa.string()),
        ("entailed", pa.list_(pa.string())),
        ("equivalent", pa.list_(pa.string())),
        ("annotations", pa.struct([(name, _LINKS) for name in ANNOTATED])),
    ]
)
COLUMNS = {
    "question_id, image_id": "image_id as Visual Genome's, or with an n before it",
    "question, answer, full_answer": "the answer as a word or two, and as a sentence",
    "is_balanced": "the question is one of the balanced ones",
    "types": f"structural ({', '.join(STRUCTURAL_TYPES)}), semantic ({', '.join(SEMANTIC_TYPES)}), detailed",
    "groups": "global and local: those within which answers were balanced, null for none",
    "semantic": "the program: steps of operation, argument and dependencies (indices of the steps it builds on)",
    "semantic_str": "the program in a line",
    "entailed, equivalent": "question_ids whose answers follow from this one, and that mean the same",
    "annotations": "of question, answer and full_answer: which words (span, such as 3 or 5:7, counted from 0) name "
    "which object of the scene graph (object_id)",
}


def split_files(files: Files, kind: str, not_read: dict[str, str]) -> dict[str, list[PublishedFile]]:
    """The files of each split; kind is ``balanced`` or ``all``.

    Files that are not read are added to ``not_read`` with the reason.

    Raises:
        InputError: a file cannot be read, or a part of several is missing.
    """
    found: dict[str, list[PublishedFile]] = {}
    for name, split in SPLITS.items():
        parts = _parts(files, f"{name}_{kind}_questions")
        if not parts:
            continue
        reason = _unusable(parts, name)
        if split in found:
            reason = f"{found[split][0].name} is the {split} split"
        if reason:
            not_read[parts[0].name] = reason
        else:
            found[split] = parts
    return found


def question_records(file: PublishedFile) -> Iterator[tuple[list[str], Records]]:
    """Iterate over the ids and records of a file, in batches; raises InputError if it is not an object of records."""
    for items in object_items(file):
        ids = [question_id for question_id, _ in items]
        location = partial(lambda ids, at: f"{file.location}, question {ids[at]!r}", ids)
        yield ids, Records([record for _, record in items], location)


def question_table(ids: list[str], records: Records, others: Counter[str]) -> pa.Table:
    """Questions as a table ``SCHEMA``; unknown fields, which it has no column for, are counted in ``others``.

    Raises:
        InputError: names file, question, field and what was expected.
    """
    types, groups = records.inner("types"), records.inner("groups")
    columns = {
        "question_id": ids,
        "image_id": records.ids("imageId"),
        "question": records.filled_texts("question"),
        "answer": records.filled_texts("answer"),
        "full_answer": records.texts("fullAnswer"),
        "is_balanced": records.booleans("isBalanced"),
        "types": _struct("types", [pa.array(types_of(types, name), pa.string()) for name in TYPES]),
        "groups": _struct("groups", [pa.array(groups.texts_or_nulls(name), pa.string()) for name in GROUPS]),
        "semantic": _programs(records),
        "semantic_str": records.texts("semanticStr"),
        "entailed": _ids(records, "entailed"),
        "equivalent": _ids(records, "equivalent"),
        "annotations": _annotations(records.inner("annotations")),
    }
    for row in records.rows:
        if len(row) > len(FIELDS):
            others.update(f"field {name!r}, which is none of GQA's" for name in row if name not in FIELDS)
    return pa.table(columns, schema=SCHEMA)


def types_of(types: Records, name: str) -> list[str]:
    """The questions' types of a kind, one of TYPES; raises InputError if one is unknown to GQA."""
    return types.named(name, {one: one for one in _KNOWN[name]}) if name in _KNOWN else types.filled_texts(name)


def check_balanced(records: Records) -> None:
    """Raise InputError unless all are balanced questions, as the file's name states."""
    records.booleans("isBalanced")
    records.checked("isBalanced", bool, "true, as the file is of balanced questions")


def _programs(records: Records) -> pa.Array:
    steps = records.nested("semantic")
    dependencies = steps.lists("dependencies")
    flat = list(chain.from_iterable(dependencies))
    columns = [
        pa.array(steps.texts("operation"), pa.string()),
        pa.array(steps.texts("argument"), pa.string()),
        lists_of(dependencies, pa.array(flat, pa.int64())),
    ]
    return lists_of(records.lists("semantic"), pa.StructArray.from_arrays(columns, fields=list(_STEP)))


def _annotations(records: Records) -> pa.Array:
    columns = []
    for name in ANNOTATED.values():
        links = records.inner(name).rows
        spans = [span for link in links for span in link]
        objects = [value for link in links for value in link.values()]
        both = [pa.array(spans, pa.string()), pa.array(objects, pa.string())]
        columns.append(lists_of(links, pa.StructArray.from_arrays(both, fields=list(_LINKS.value_type))))
    return _struct("annotations", columns)


def _ids(records: Records, field: str) -> pa.Array:
    lists = records.lists(field)
    return lists_of(lists, pa.array(list(chain.from_iterable(lists)), pa.string()))


def _struct(name: str, columns: list[pa.Array]) -> pa.Array:
    return pa.StructArray.from_arrays(columns, fields=list(SCHEMA.field(name).type))


def _parts(files: Files, stem: str) -> list[PublishedFile]:
    """The file, or the parts that it is published in."""
    numbered = {}
    for number in range(PARTS):
        for name in (f"{stem}/{stem}_{number}.json", f"{stem}_{number}.json"):
            if number not in numbered and files.has(name):
                numbered[number] = name
    whole = [f"{stem}.json"] if files.has(f"{stem}.json") else []
    if whole and numbered:
        raise InputError(f"found both {files.find(whole[0]).location} and {numbered[min(numbered)]}; expected one")
    missing = [f"{stem}_{number}.json" for number in range(max(numbered, default=-1)) if number not in numbered]
    if missing:
        location = files.find(numbered[max(numbered)]).location
        raise InputError(f"found {location}, but not {', '.join(missing)}; expected all parts of {stem}")
    return [files.find(name) for name in (*whole, *numbered.values())]


def _unusable(parts: list[PublishedFile], name: str) -> str:
    """Why a split's files cannot be read, by the first records, or ""."""
    first: Mapping[str, Any] = dict(next(object_items(parts[0]), []))
    if not first:
        return "it holds no questions"
    if name in MAY_LACK_ANSWERS and not any(isinstance(one, dict) and "answer" in one for one in first.values()):
        return "its questions have no answers"
    return ""
