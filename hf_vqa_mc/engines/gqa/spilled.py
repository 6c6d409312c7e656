"""Questions wait on disk until it is known which of them make the balanced dataset."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from hf_vqa_mc.engines.gqa.entailment import Entailments
from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.engines.gqa.question_table import QuestionColumns, QuestionTable, Types
from hf_vqa_mc.engines.gqa.records import graph_record, question_id, question_record
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.errors import InputError

Record = dict[str, Any]


class Spilled(AbstractContextManager["Spilled"]):
    """All questions generated so far: whole ones in a file, a line each, and some numbers of each in memory."""

    def __init__(self, folder: Path, types: Types) -> None:
        """folder: for two files, which are removed at the end; types: of each row of the paper's Table 3."""
        self._types = types
        self._paths = folder / "questions.spilled", folder / "graphs.spilled"
        self._columns = QuestionColumns(types)
        self._sizes: list[int] = []
        self._images: dict[str, None] = {}
        self._questions: TextIO
        self._graphs: TextIO

    def __enter__(self) -> "Spilled":
        questions, graphs = self._paths
        self._questions = questions.open("w", encoding="utf-8")
        self._graphs = graphs.open("w", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._questions.close()
        self._graphs.close()
        for path in self._paths:
            path.unlink(missing_ok=True)

    def add(self, graph: SceneGraph, questions: Sequence[Question], follow: Entailments) -> None:
        """Put away an image's graph and the questions about it.

        Raises:
            InputError: the image came before, or has too many questions.
        """
        image = graph.image_id
        if image in self._images:
            raise InputError(f"image {image!r} comes more than once; give each image one scene graph")
        self._images[image] = None
        self._columns.add(image, questions, follow.entailed, follow.content)
        self._sizes.append(len(questions))
        json.dump(graph_record(graph), self._graphs)
        self._graphs.write("\n")
        for number, question in enumerate(questions):
            types, entailed, equivalent = self._types[question.row], follow.entailed[number], follow.equivalent[number]
            record = question_record(question, image, types, entailed, equivalent)
            self._questions.write(json.dumps([question_id(image, number), record]) + "\n")

    def table(self) -> QuestionTable:
        """What is known of all questions, in their order."""
        return self._columns.table()

    def images(self) -> Iterator[tuple[str, Record, list[tuple[str, Record]]]]:
        """Each image's id, its graph's record and its questions' ids and records, in order."""
        self._questions.flush()
        self._graphs.flush()
        questions_path, graphs_path = self._paths
        with questions_path.open(encoding="utf-8") as questions, graphs_path.open(encoding="utf-8") as graphs:
            for image, size in zip(self._images, self._sizes, strict=True):
                records = [json.loads(questions.readline()) for _ in range(size)]
                yield image, json.loads(graphs.readline()), [(name, record) for name, record in records]
