"""The whole check of an output folder against the raw scene graphs."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.engines.gqa.independent_checker.dataset import Dataset, dataset_problems, read_dataset, unreadable
from tests.engines.gqa.independent_checker.entailment import Found, contradiction, entails
from tests.engines.gqa.independent_checker.interpreter import read_question
from tests.engines.gqa.independent_checker.raw_graph import RawGraph
from tests.engines.gqa.independent_checker.sentence import Lexicon, is_indefinite


class Violation(NamedTuple):
    """Something wrong."""

    kind: str
    where: str
    """a question id, or a file or group"""
    text: str


def check_folder(folder: Path, graphs: Mapping[str, RawGraph], lexicon: Lexicon) -> list[Violation]:
    """All that is wrong with a generated dataset, by the raw annotation of its images."""
    return check_dataset(read_dataset(folder), graphs, lexicon)


def check_dataset(data: Dataset, graphs: Mapping[str, RawGraph], lexicon: Lexicon) -> list[Violation]:
    """The same of a dataset that is read."""
    found = [Violation(*problem) for problem in unreadable(data)]
    if found:
        return found
    found = [Violation(*problem) for problem in dataset_problems(data)]
    objects: dict[str, Found] = {}
    for question_id, record in data.everything.items():
        graph = graphs.get(record["imageId"])
        if graph is None:
            found.append(Violation("dataset: unknown image", question_id, record["imageId"]))
            continue
        problems, objects[question_id] = read_problems(record, graph, lexicon)
        found += [Violation(kind, question_id, text) for kind, text in problems]
    return found + list(entailment_problems(data.everything, lexicon, objects))


def question_problems(record: dict[str, Any], graph: RawGraph, lexicon: Lexicon) -> list[tuple[str, str]]:
    """What is wrong with one question by itself."""
    return read_problems(record, graph, lexicon)[0]


def read_problems(record: dict[str, Any], graph: RawGraph, lexicon: Lexicon) -> tuple[list[tuple[str, str]], Found]:
    """The same, and which objects the steps find."""
    return read_question(record, graph, lexicon.words, is_indefinite(record["question"], lexicon))


def entailment_problems(
    records: Mapping[str, dict[str, Any]], lexicon: Lexicon, objects: Mapping[str, Found]
) -> Iterator[Violation]:
    """Entailed and equivalent questions whose answers do not follow."""
    for question_id, record in records.items():
        for name in ("entailed", "equivalent"):
            for other in record[name]:
                if other not in records or other == question_id:
                    continue
                its = records[other]
                text = f"{record['question']} {record['answer']} => {its['question']} {its['answer']} ({other})"
                found = objects.get(question_id, {}), objects.get(other, {})
                against = contradiction(record, its, lexicon.words, found)
                if against:
                    yield Violation(f"{name}: contradiction", question_id, f"{text}: {against}")
                elif entails(record, its, lexicon.words, found) is False:
                    yield Violation(f"{name}: does not follow", question_id, text)
                if name == "equivalent" and its["answer"] != record["answer"]:
                    yield Violation("equivalent: another answer", question_id, text)


def by_kind(violations: list[Violation], examples: int = 3) -> str:
    """A short list: each kind with its count and some examples."""
    counts = Counter(violation.kind for violation in violations)
    shown: dict[str, list[str]] = defaultdict(list)
    for violation in violations:
        if len(shown[violation.kind]) < examples:
            shown[violation.kind].append(f"    {violation.where}: {violation.text}")
    return "\n".join(f"{kind}: {count}\n" + "\n".join(shown[kind]) for kind, count in counts.most_common())
