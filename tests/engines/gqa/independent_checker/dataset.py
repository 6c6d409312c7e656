"""The files of a GQA-style dataset against each other: splits, ids, groups, links."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Problem = tuple[str, str, str]
"""kind, question id or file, text"""
SPLITS = ("train", "val", "testdev", "test", "challenge")
FIELDS = {
    "question": str,
    "answer": str,
    "fullAnswer": str,
    "imageId": str,
    "isBalanced": bool,
    "types": dict,
    "groups": dict,
    "semantic": list,
    "semanticStr": str,
    "annotations": dict,
    "entailed": list,
    "equivalent": list,
}
STRUCTURAL = ("verify", "query", "choose", "logical", "compare")
SEMANTIC = ("obj", "attr", "cat", "rel", "global")
STRUCTURE_OF = {
    "exist": "verify",
    "verify": "verify",
    "verify rel": "verify",
    "query": "query",
    "choose": "choose",
    "choose rel": "choose",
    "and": "logical",
    "or": "logical",
    "same": "compare",
    "different": "compare",
    "common": "compare",
    "compare": "compare",
}


@dataclass
class Dataset:
    """What a folder holds."""

    everything: dict[str, dict[str, Any]]
    """question id to record"""
    split_of: dict[str, str]
    balanced: dict[str, dict[str, Any]]
    balanced_split_of: dict[str, str]
    graphs: dict[str, dict[str, Any]]
    """split to scene graphs"""
    problems: list[Problem] = field(default_factory=list)


def read_dataset(folder: Path) -> Dataset:
    """All files of an output folder; ids told twice are problems."""
    data = Dataset({}, {}, {}, {}, {})
    for split in SPLITS:
        for name, records, splits in (
            ("all", data.everything, data.split_of),
            ("balanced", data.balanced, data.balanced_split_of),
        ):
            for question_id, record in _questions(folder, f"{split}_{name}_questions", data.problems):
                if question_id in records:
                    data.problems.append(("dataset: an id twice", question_id, f"{splits[question_id]} and {split}"))
                records[question_id] = record
                splits[question_id] = split
        path = folder / f"{split}_sceneGraphs.json"
        if path.exists():
            data.graphs[split] = _object(path, data.problems)
    return data


def _questions(folder: Path, name: str, problems: list[Problem]) -> Iterator[tuple[str, dict[str, Any]]]:
    paths = [folder / f"{name}.json", *sorted((folder / name).glob("*.json"))]
    for path in paths:
        if path.exists():
            yield from _object(path, problems).items()


def _object(path: Path, problems: list[Problem]) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        problems.extend(("dataset: a key twice", path.name, key) for key in twice)
        return dict(pairs)

    return json.loads(path.read_text("utf-8"), object_pairs_hook=once)


def dataset_problems(data: Dataset) -> list[Problem]:
    """All that is wrong between the files."""
    checks = (_records, _images, _subset, _linked, _links, _groups, _graphs)
    return [*data.problems, *(problem for check in checks for problem in check(data))]


def unreadable(data: Dataset) -> list[Problem]:
    """Records that lack a field or have another kind of value there."""
    return [
        ("record: fields", question_id, f"{name} is {record.get(name)!r}")
        for question_id, record in (*data.everything.items(), *data.balanced.items())
        for name, kind in FIELDS.items()
        if not isinstance(record.get(name), kind)
    ]


def _records(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.everything.items():
        types = record["types"]
        if (
            types.get("structural") not in STRUCTURAL
            or types.get("semantic") not in SEMANTIC
            or not types.get("detailed")
        ):
            yield "record: types", question_id, str(types)
        last = record["semantic"][-1]["operation"] if record["semantic"] else ""
        verb = last if last in STRUCTURE_OF else last.partition(" ")[0]
        if last.startswith("choose ") and not record["semantic"][-1]["argument"]:
            verb = "compare"
        if STRUCTURE_OF.get(verb) != types.get("structural"):
            yield "record: structural type", question_id, f"{types.get('structural')} of {last!r}"
        if record["semanticStr"] != _text(record["semantic"]):
            yield "record: semanticStr", question_id, record["semanticStr"]


def _text(semantic: list[dict[str, Any]]) -> str:
    return "->".join(
        f"{step['operation']}: {step['argument']}".rstrip(" ") * (step["argument"] == "scene")
        + f"{step['operation']}: {step['argument']}" * (step["argument"] != "scene")
        + (f" [{', '.join(map(str, step['dependencies']))}]" if step["dependencies"] else "")
        for step in semantic
    )


def _images(data: Dataset) -> Iterator[Problem]:
    where: dict[str, set[str]] = defaultdict(set)
    for question_id, record in data.everything.items():
        where[record["imageId"]].add(data.split_of[question_id])
    for image, splits in where.items():
        if len(splits) > 1:
            yield "dataset: an image in two splits", image, ", ".join(sorted(splits))


def _subset(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.balanced.items():
        if question_id not in data.everything:
            yield "dataset: balanced but not in all", question_id, ""
        elif record != data.everything[question_id]:
            yield "dataset: balanced and all differ", question_id, ""
        elif data.balanced_split_of[question_id] != data.split_of[question_id]:
            yield "dataset: balanced in another split", question_id, ""
    for question_id, record in data.everything.items():
        if record["isBalanced"] != (question_id in data.balanced):
            yield "dataset: isBalanced", question_id, str(record["isBalanced"])


def _linked(data: Dataset) -> Iterator[Problem]:
    for name in ("entailed", "equivalent"):
        for question_id, record in data.everything.items():
            if len(set(record[name])) != len(record[name]):
                yield f"{name}: twice", question_id, str(record[name])
            for other in record[name]:
                if other not in data.everything:
                    yield f"{name}: no such question", question_id, str(other)
                elif data.everything[other]["imageId"] != record["imageId"]:
                    yield f"{name}: about another image", question_id, str(other)


def _links(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.everything.items():
        if question_id in record["entailed"]:
            yield "entailed: itself", question_id, ""
        if question_id not in record["equivalent"]:
            yield "equivalent: not itself", question_id, ""
        for other in record["equivalent"]:
            if other in data.everything and question_id not in data.everything[other]["equivalent"]:
                yield "equivalent: not mutual", question_id, other


def _groups(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.everything.items():
        groups = record["groups"]
        if set(groups) != {"global", "local"}:
            yield "groups: names", question_id, str(groups)
        elif record["answer"] in ("yes", "no") and groups["global"] is not None:
            yield "groups: global of yes and no", question_id, str(groups)
        elif record["types"]["structural"] == "query" and not isinstance(groups["global"], str | None):
            yield "groups: global", question_id, str(groups)
        elif not groups["local"]:
            yield "groups: no local", question_id, str(groups)


def _graphs(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.everything.items():
        graphs = data.graphs.get(data.split_of[question_id])
        if graphs is not None and record["imageId"] not in graphs:
            yield "dataset: no scene graph", question_id, record["imageId"]
    images: Counter[str] = Counter(image for graphs in data.graphs.values() for image in graphs)
    for image, count in images.items():
        if count > 1:
            yield "dataset: a scene graph in two splits", image, ""
    for split in {*data.split_of.values()}:
        if split not in data.graphs:
            yield "dataset: a file is missing", f"{split}_sceneGraphs.json", ""
