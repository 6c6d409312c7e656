"""Writes generated questions, first to a temporary file, then in the layout of GQA's published files."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from hf_vqa_mc.engines.gqa.entailment import Entailments
from hf_vqa_mc.engines.gqa.executor import NO, OPPOSITE, SHORT, YES, Question, published, semantic_text
from hf_vqa_mc.engines.gqa.question_types import QUESTION_TYPES
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph
from hf_vqa_mc.engines.gqa.selection import ROW, Bools, QuestionTable
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress

ALL, BALANCED, GRAPHS, CHOICES = "all_questions", "balanced_questions", "sceneGraphs", "choices"
DIGITS = 4  # of the question's number in its id
Record: TypeAlias = dict[str, Any]
NAMED = ("image", "structural", "semantic", "detailed", "global_group", "local_group", "answer")


def question_id(image_id: str, number: int) -> str:
    """A unique question id: the image's id and the question's number in four digits; InputError if it has more."""
    if number >= 10**DIGITS:
        raise InputError(f"image {image_id!r}: more than {10**DIGITS:,} questions; use a smaller --depth")
    return f"{image_id}{number:0{DIGITS}}"


def question_record(question: Question, image_id: str, entailed: Sequence[int], equivalent: Sequence[int]) -> Record:
    """A question as a record of GQA's files, not yet balanced, with numbers of entailed and equivalent questions."""
    steps = published(question.program, question.found)
    kind, last, named = QUESTION_TYPES[question.row], question.program[-1], {}
    if last.operation in ("query", "choose") and last.argument[:1] == ("name",):
        words, found = len(question.answer.split()), question.found[last.inputs[0]]
        named = {"0" if words == 1 else f"0:{words}": object_id for object_id in found if len(found) == 1}
    return {
        "semantic": steps,
        "entailed": [question_id(image_id, number) for number in entailed],
        "equivalent": [question_id(image_id, number) for number in equivalent],
        "question": question.question.text,
        "imageId": image_id,
        "isBalanced": False,
        "groups": {"global": question.global_group or None, "local": question.local_group or None},
        "answer": question.answer,
        "semanticStr": semantic_text(steps),
        "annotations": {
            "answer": named,
            "question": question.question.objects,
            "fullAnswer": question.full_answer.objects,
        },
        "types": {"detailed": question.detailed, "semantic": kind.semantic, "structural": kind.structural},
        "fullAnswer": question.full_answer.text,
    }


def graph_record(graph: SceneGraph) -> Record:
    """A normalised scene graph as a record of GQA's files, without positions in the image."""
    objects = {}
    for key, thing in graph.objects.items():
        values = (value for kind, some in thing.values.items() if kind not in (HORIZONTAL, VERTICAL) for value in some)
        objects[key] = {
            "name": thing.name,
            **dict(zip("xywh", thing.box, strict=True)),
            "attributes": list(dict.fromkeys(values)),
            "relations": [{"name": name, "object": other} for name, other in sorted(thing.relations)],
        }
    return {"width": graph.width, "height": graph.height, **graph.scene, "objects": objects}


class QuestionStore(AbstractContextManager["QuestionStore"]):
    """All questions before balancing: records in a temporary file, columns of integers in memory."""

    def __init__(self, folder: Path) -> None:
        """``folder``: where the temporary file is created."""
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", dir=folder)
        self._sizes: dict[str, int] = {}  # image to its questions
        self._rows = [np.empty(0, ROW)]
        self._codes: dict[str, dict[str, int]] = defaultdict(dict)  # column to name to code
        self._vocabulary: set[str] = set()

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, graph: SceneGraph, questions: Sequence[Question], follow: Entailments) -> None:
        """Append an image's graph and the questions about it."""
        image = graph.image_id
        self._sizes[image] = len(questions)
        self._code("image", image)
        self._file.write(json.dumps(graph_record(graph)) + "\n")
        rows = []
        for number, question in enumerate(questions):
            record = question_record(question, image, follow.entailed[number], follow.equivalent[number])
            self._file.write(json.dumps([question_id(image, number), record, _options(question, graph)]) + "\n")
            words = question.question.text.rstrip("?.!").lower().split()
            self._vocabulary.update(word.strip(",") for word in words)
            self._vocabulary.update(question.answer.lower().split())
            types = (self._code(name, record["types"][name]) for name in ("structural", "semantic", "detailed"))
            named = (self._code(name, getattr(question, name)) for name in ("global_group", "local_group", "answer"))
            numbers = (follow.content[number], len(words), len(question.program), len(follow.entailed[number]))
            rows.append((self._code("image", image), number, *types, *named, *numbers))
        self._rows.append(np.array(rows, ROW))

    def _code(self, column: str, name: str) -> int:
        """A name's index, -1 for no name."""
        names = self._codes[column]
        return names.setdefault(name, len(names)) if name else -1

    def table(self) -> QuestionTable:
        """The columns of all questions, in order."""
        names = {name: list(self._codes[name]) for name in NAMED}
        return QuestionTable(np.concatenate(self._rows), names, len(self._vocabulary))

    def images(self) -> Iterator[tuple[str, Record, list[tuple[str, Record, list[str]]]]]:
        """Each image's id, its graph's record, and its questions' ids, records and options, in order."""
        self._file.seek(0)
        for image, size in self._sizes.items():
            graph = json.loads(self._file.readline())
            yield image, graph, [json.loads(self._file.readline()) for _ in range(size)]


def write_dataset(
    folder: Path, store: QuestionStore, table: QuestionTable, kept: Bools, splits: Sequence[str], progress: Progress
) -> None:
    """Write each split's files: all and balanced questions, scene graphs, choices of the balanced (``kept``) ones."""
    choices = _choices(table)
    balanced = kept.tolist()
    index = 0
    with ExitStack() as stack:
        names = list(product(dict.fromkeys(splits), (ALL, BALANCED, GRAPHS, CHOICES)))
        paths = {(split, name): folder / f"{split}_{name}.json" for split, name in names}
        files = {key: stack.enter_context(path.open("w", encoding="utf-8")) for key, path in paths.items()}
        started: set[tuple[str, str]] = set()

        def add(split: str, name: str, key: str, value: str) -> None:
            """Write a key and a value of an object on a line."""
            files[split, name].write(f"{',' if (split, name) in started else '{'}\n{json.dumps(key)}: {value}")
            started.add((split, name))

        for number, (split, (image, graph, questions)) in enumerate(zip(splits, store.images(), strict=True)):
            add(split, GRAPHS, image, json.dumps(graph))
            for question, record, options in questions:
                record["isBalanced"] = balanced[index]
                text = json.dumps(record)
                add(split, ALL, question, text)
                if balanced[index]:
                    add(split, BALANCED, question, text)
                    add(split, CHOICES, question, choices(index, record["answer"], options))
                index += 1
            if number % 64 == 0:
                progress("writing", number, len(splits))
        for where, file in files.items():
            file.write("\n}\n" if where in started else "{}\n")
        progress("writing", len(splits), len(splits))


def _choices(table: QuestionTable) -> Callable[[int, str, list[str]], str]:
    """The valid and plausible answers to a question, by index, answer and options, as json (Sect. 4.4).

    Valid: all answers of the question's global group or else detailed type; yes and no; the options of a choice or
    comparison. Plausible: valid ones that are answers in its local group, that of its subject; yes and no.
    """
    rows = table.rows
    scopes = np.where(rows["global_group"] >= 0, rows["global_group"], -2 - rows["detailed"].astype(np.int64))
    answers = pd.Series(np.array(table.names["answer"], object)[rows["answer"]])
    groups = [answers.groupby(of).unique().items() for of in (scopes, rows["local_group"])]
    valid, seen = ({group: sorted(of_group) for group, of_group in level} for level in groups)

    @cache
    def in_groups(scope: int, local: int) -> str:
        return json.dumps({"valid": valid[scope], "plausible": sorted({*seen[local]} & {*valid[scope]})})

    def line(index: int, answer: str, options: list[str]) -> str:
        scope, local = int(scopes[index]), int(rows["local_group"][index])
        if answer in OPPOSITE:
            return json.dumps({"valid": [YES, NO], "plausible": [YES, NO]})
        if answer in options:
            likely = [one for one in options if one == answer or one in seen.get(local, ())]
            return json.dumps({"valid": options, "plausible": likely})
        return in_groups(scope, local) if local >= 0 else json.dumps({"valid": valid[scope], "plausible": [answer]})

    return line


def _options(question: Question, graph: SceneGraph) -> list[str]:
    """The answers between which a question lets choose."""
    match question.program[-1]:
        case "choose", (_, *options), _:
            return options
        case "choose rel", (_, *relations, _), _:
            return [SHORT.get(relation, relation) for relation in relations]
        case "compare", _, _:
            return [graph.objects[key].name for key in dict.fromkeys(question.full_answer.objects.values())]
    return []
