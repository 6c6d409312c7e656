"""The files of a GQA-style dataset against each other: splits, ids, balance, groups, choices."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
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
    choices: dict[str, dict[str, Any]]
    statistics: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)


def read_dataset(folder: Path) -> Dataset:
    """All files of an output folder; ids told twice are problems."""
    data = Dataset({}, {}, {}, {}, {}, {}, {})
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
        for name, table in (("sceneGraphs", data.graphs), ("choices", data.choices)):
            path = folder / f"{split}_{name}.json"
            if path.exists():
                table[split] = _object(path, data.problems)
    if (folder / "statistics.json").exists():
        data.statistics = json.loads((folder / "statistics.json").read_text("utf-8"))
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
    checks = (_records, _images, _subset, _linked, _links, _groups, _order, _entropy, _choices, _graphs)
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


def _counts(data: Dataset, name: str) -> Iterator[tuple[str, Counter[str], Counter[str]]]:
    """Each group with its answers' counts in all and in balanced."""
    before: dict[str, Counter[str]] = defaultdict(Counter)
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for question_id, record in data.everything.items():
        group = record["groups"].get(name)
        if group:
            before[group][record["answer"]] += 1
            after[group][record["answer"]] += question_id in data.balanced
    for group in before:
        yield group, before[group], +after[group]


def _order(data: Dataset) -> Iterator[Problem]:
    for name in ("global", "local"):
        for group, before, after in _counts(data, name):
            ranked = sorted(before, key=lambda answer: -before[answer])
            for place, one in enumerate(ranked):
                for other in ranked[place + 1 :]:
                    if before[one] > before[other] and after[one] < after[other]:
                        text = f"{one} {before[one]} to {after[one]}, {other} {before[other]} to {after[other]}"
                        yield f"balance: order in a {name} group", group, text


def entropy(counts: Mapping[str, int]) -> float:
    """Of a distribution, in bits."""
    total = sum(counts.values())
    return -sum(count / total * math.log2(count / total) for count in counts.values() if count) if total else 0.0


def _entropy(data: Dataset) -> Iterator[Problem]:
    for name in ("global", "local"):
        total = {"before": [0.0, 0], "after": [0.0, 0]}
        for _, before, after in _counts(data, name):
            for key, counts in (("before", before), ("after", after)):
                total[key][0] += entropy(counts) * sum(counts.values())
                total[key][1] += sum(counts.values())
        means = {key: bits / count if count else 0.0 for key, (bits, count) in total.items()}
        if means["after"] < means["before"] - 1e-9:
            yield f"balance: entropy of the {name} groups fell", name, f"{means}"


def _choices(data: Dataset) -> Iterator[Problem]:
    for question_id, record in data.everything.items():
        choices = data.choices.get(data.split_of[question_id], {})
        if question_id in choices:
            yield from _choice(question_id, record["answer"], **choices[question_id])
        elif question_id in data.balanced:
            yield "choices: none", question_id, data.split_of[question_id]
    for split, choices in data.choices.items():
        for question_id in choices.keys() - {key for key, its in data.split_of.items() if its == split}:
            yield "choices: no such question", question_id, split


def _choice(question_id: str, answer: str, valid: list[str], plausible: list[str]) -> Iterator[Problem]:
    if answer not in valid:
        yield "choices: answer not valid", question_id, f"{answer} of {valid[:6]}"
    if answer not in plausible:
        yield "choices: answer not plausible", question_id, f"{answer} of {plausible[:6]}"
    if not set(plausible) <= set(valid):
        yield "choices: plausible but not valid", question_id, str(sorted(set(plausible) - set(valid))[:6])
    if len(set(valid)) != len(valid) or len(set(plausible)) != len(plausible):
        yield "choices: twice", question_id, ""


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
        for name, table in (("sceneGraphs", data.graphs), ("choices", data.choices)):
            if split not in table:
                yield "dataset: a file is missing", f"{split}_{name}.json", ""
