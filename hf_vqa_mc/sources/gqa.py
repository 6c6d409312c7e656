"""GQA: questions generated from scene graphs, each with its program; balanced questions and all questions."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.gqa_types import SEMANTIC_TYPES, STRUCTURAL_TYPES
from hf_vqa_mc.sources import open_ended
from hf_vqa_mc.sources.files import Files, PublishedFile, RemoteFile
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, reference
from hf_vqa_mc.sources.table import in_split_order, lists_of, text_lists, triplet_table

BALANCED, ALL = "balanced", "all"
COUNTED: dict[str, tuple[str, ...]] = {name: ("types", name) for name in ("structural", "semantic", "detailed")}
COUNTED |= {"group": ("groups", "global"), "answer": ("answer",)}
KINDS = ("structural", "semantic", "detailed")
TOGETHER = (KINDS, *((name, "answer") for name in (*KINDS, "group")))
PARTS = 10  # of the published file of all training questions
SPLITS = {"train": "train", "val": "validation", "testdev": "test", "test": "test", "challenge": "challenge"}
"""The publisher's split name to ours; of testdev and test, the first one with answers is read."""
MAY_LACK_ANSWERS = ("test", "challenge")

_KNOWN = {"structural": STRUCTURAL_TYPES, "semantic": SEMANTIC_TYPES}  # Kinds of types with a closed list of names.
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
        ("types", pa.struct([(name, pa.string()) for name in KINDS])),
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
    """The files of each split; kind is ``balanced`` or ``all``. Adds files that are not read to ``not_read``."""
    found: dict[str, list[PublishedFile]] = {}
    for name, split in SPLITS.items():
        parts = _parts(files, f"{name}_{kind}_questions")
        first: Mapping[str, Any] = dict(next(object_items(parts[0]), [])) if parts else {}
        records = [one for one in first.values() if isinstance(one, dict)]
        if split in found and parts:
            not_read[parts[0].name] = f"{found[split][0].name} is the {split} split"
        elif parts and not first:
            not_read[parts[0].name] = "it holds no questions"
        elif name in MAY_LACK_ANSWERS and parts and not any("answer" in one for one in records):
            not_read[parts[0].name] = "its questions have no answers"
        elif parts:
            found[split] = parts
    return found


def _records(files: Files, split: str, kind: str) -> Iterator[tuple[list[str], Records]]:
    """The ids and records of a split, in batches."""
    for part in split_files(files, kind, {})[split]:
        for items in object_items(part):
            ids = [question_id for question_id, _ in items]
            location = partial(lambda file, ids, at: f"{file.location}, question {ids[at]!r}", part, ids)
            records = Records([record for _, record in items], location)
            if kind == BALANCED:
                records.booleans("isBalanced")
                records.checked("isBalanced", bool, "true, as the file is of balanced questions")
            yield ids, records


def _types(types: Records, name: str) -> list[str]:
    """The questions' types of a kind, one of TYPES."""
    return types.named(name, {one: one for one in _KNOWN[name]}) if name in _KNOWN else types.filled_texts(name)


def _read(files: Files, split: str, left_out: Counter[str], kind: str) -> Iterator[pa.Table]:
    for ids, records in _records(files, split, kind):
        yield question_table(ids, records, left_out)


def question_table(ids: list[str], records: Records, others: Counter[str]) -> pa.Table:
    """Questions as a table ``SCHEMA``; unknown fields, which it has no column for, are counted in ``others``."""
    types, groups = records.inner("types"), records.inner("groups")
    columns = {
        "question_id": ids,
        "image_id": records.ids("imageId"),
        "question": records.filled_texts("question"),
        "answer": records.filled_texts("answer"),
        "full_answer": records.texts("fullAnswer"),
        "is_balanced": records.booleans("isBalanced"),
        "types": _struct("types", [pa.array(_types(types, name), pa.string()) for name in KINDS]),
        "groups": _struct("groups", [pa.array(groups.texts(name, nulls=True), pa.string()) for name in GROUPS]),
        "semantic": _programs(records),
        "semantic_str": records.texts("semanticStr"),
        **{name: text_lists(records.lists(name)) for name in ("entailed", "equivalent")},
        "annotations": _annotations(records.inner("annotations")),
    }
    for row in records.rows:
        if len(row) > len(FIELDS):
            others.update(f"field {name!r}, which is none of GQA's" for name in row if name not in FIELDS)
    return pa.table(columns, schema=SCHEMA)


def _programs(records: Records) -> pa.Array:
    steps = records.nested("semantic")
    dependencies = steps.lists("dependencies")
    flat = list(chain.from_iterable(dependencies))
    texts = [pa.array(steps.texts(name), pa.string()) for name in ("operation", "argument")]
    columns = [*texts, lists_of(dependencies, pa.array(flat, pa.int64()))]
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


def read(files: Files) -> pa.Table:
    """The triplets of the balanced questions, without the challenge split; raises InputError if there are none."""
    found = split_files(files, BALANCED, {})
    found.pop("challenge", None)
    if not found:
        files.find(f"train_{BALANCED}_questions.json")
    return in_split_order(
        [
            triplet_table(
                question_id=ids,
                image_id=(images := records.ids("imageId")),
                split=[split] * len(ids),
                question=records.filled_texts("question"),
                target=records.filled_texts("answer"),
                question_type=_types(records.inner("types"), "structural"),
                answer_type=_types(records.inner("types"), "semantic"),
                image_file=[f"{image_id}.jpg" for image_id in images],
            )
            for split in found
            for ids, records in _records(files, split, BALANCED)
        ]
    )


def _counted(table: pa.Table) -> pa.Table:
    parts = {name: (table[column], fields) for name, (column, *fields) in COUNTED.items()}
    columns = {name: pc.struct_field(part, fields) if fields else part for name, (part, fields) in parts.items()}
    return pa.table({name: pc.fill_null(column, "") for name, column in columns.items()})


def statistics(counts: Counts) -> dict[str, Any]:
    """Questions per type, answers, and their entropy: overall, per type and global group, which balancing raises."""
    titles = {"structural": "structural type", "semantic": "semantic type", "group": "global group"}
    titles |= {"detailed": "detailed type"}
    by = {title: open_ended.grouped(counts[name, "answer"]) for name, title in titles.items()}
    figures = open_ended.answer_figures(open_ended.by_value(counts["structural", "answer"]), by)
    open_ended.add_means(figures, by["global group"], "global groups")
    rows = counts[KINDS]
    types = sorted(rows.items(), key=lambda item: (-item[1], item[0]))
    sizes: Counter[tuple[str, str]] = Counter()
    for (one, other, *_), size in rows.items():
        sizes[one, other] += size
    structural, semantic = (sorted(set(names)) for names in zip(*sizes, strict=True))
    return {
        **figures,
        "tables": [
            {
                "title": "Questions by structural and semantic type",
                "columns": ["structural type", *semantic],
                "rows": [[one, *(sizes[one, other] for other in semantic)] for one in structural],
            },
            open_ended.type_table("Answers by structural type", "structural type", by["structural type"]),
            open_ended.type_table("Answers by semantic type", "semantic type", by["semantic type"]),
            {
                "title": "Questions by structural, semantic and detailed type",
                "columns": ["structural", "semantic", "detailed", "questions"],
                "rows": [[*names, size] for names, size in types],
            },
            open_ended.type_table("Answers by global group", "group", by["global group"]),
        ],
    }


def _config(kind: str, **about: Any) -> OpenEnded:  # noqa: ANN401  fields of OpenEnded
    return OpenEnded(
        name=f"gqa_{kind}",
        word=kind,
        schema=SCHEMA,
        columns=COLUMNS,
        splits=lambda files, not_read: tuple(split_files(files, kind, not_read)),
        needs=f"train_{kind}_questions.json",
        read=partial(_read, kind=kind),
        counted=_counted,
        together=TOGETHER,
        statistics=statistics,
        images=lambda table: pa.table(
            [table["image_id"], pc.binary_join_element_wise(table["image_id"], ".jpg", "")], ["image_id", "image_file"]
        ),
        scored_as="gqa",
        **about,
    )


GQA = Source(
    name="gqa",
    title="GQA",
    description="Compositional questions about real images, made from cleaned scene graphs of Visual Genome, each "
    "with the program that answers it; the multiple-choice variants are of the balanced questions, whose answers were "
    "smoothed within groups of similar questions. The test split is testdev or, without it, a test file with answers. "
    "question_type is the structural type, answer_type the semantic one.",
    homepage="https://cs.stanford.edu/people/dorarad/gqa/",
    licence="CC-BY-4.0",
    citation=reference("hudson2019gqa"),
    read=read,
    synthetic="The questions were generated from scene graphs by a program.",
    image_hint="images.zip from https://cs.stanford.edu/people/dorarad/gqa/download.html, <image id>.jpg.",
    expected_counts={"train": 943_000, "validation": 132_062, "test": 12_578},
    downloads=(
        RemoteFile(
            url="https://downloads.cs.stanford.edu/nlp/data/gqa/questions1.2.zip",
            holds=(
                *(f"{name}_{BALANCED}_questions.json" for name in SPLITS),
                *(f"{name}_{ALL}_questions.json" for name in SPLITS if name != "train"),
                *(f"train_all_questions/train_all_questions_{number}.json" for number in range(PARTS)),
            ),
        ),
    ),
    open_ended=(
        _config(
            BALANCED,
            description="The balanced questions with all published fields.",
            expected_counts={"train": 943_000, "validation": 132_062, "test": 12_578},
            before="gqa_all",
        ),
        _config(
            ALL,
            description="All questions, before balancing, with all published fields.",
            expected_counts={"train": 14_305_356, "validation": 2_011_853, "test": 172_174},
        ),
    ),
    has_triplets=lambda files: bool(split_files(files, BALANCED, {}).keys() - {"challenge"}),
    scored_as_published=True,
)
