"""What selection and statistics need to know of each generated question: some integers, one column each."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.entailment import Entailments
from hf_vqa_mc.engines.gqa.program import Question
from hf_vqa_mc.engines.gqa.question_types import QUESTION_TYPES

_TYPE_CODES = {
    "image": "i",
    "number": "i",
    "structural": "b",
    "semantic": "b",
    "detailed": "h",
    "global_group": "i",
    "local_group": "i",
    "answer": "i",
    "content": "i",
    "words": "h",
    "steps": "h",
    "entailed": "i",
}
"""Column to its array's type code: 40 bytes a question."""
_NAMED = ("image", "structural", "semantic", "detailed", "global_group", "local_group", "answer")


@dataclass(frozen=True)
class QuestionTable:
    """All questions; columns of (questions,)."""

    image: NDArray[np.int32]
    number: NDArray[np.int32]
    """of the question, in its image"""
    structural: NDArray[np.int8]
    semantic: NDArray[np.int8]
    detailed: NDArray[np.int16]
    global_group: NDArray[np.int32]
    """-1 for none"""
    local_group: NDArray[np.int32]
    """-1 for none"""
    answer: NDArray[np.int32]
    content: NDArray[np.int32]
    """questions about one image with the same number state the same"""
    words: NDArray[np.int16]
    steps: NDArray[np.int16]
    """steps of the program"""
    entailed: NDArray[np.int32]
    """how many other questions follow"""
    names: Mapping[str, Sequence[str]]
    """the names that the columns image, structural ... answer index"""
    vocabulary: int
    """distinct words of questions and answers, in lower case"""

    @property
    def count(self) -> int:
        """Number of questions."""
        return len(self.image)


class QuestionColumns:
    """Gathers questions, image by image."""

    def __init__(self) -> None:
        self._columns = {name: array(code) for name, code in _TYPE_CODES.items()}
        self._names: dict[str, dict[str, int]] = {name: {} for name in _NAMED}
        self._vocabulary: set[str] = set()

    def add(self, image_id: str, questions: Sequence[Question], follow: Entailments) -> None:
        """Append the questions about an image."""
        image = self._code("image", image_id)
        for number, (question, entailed, content) in enumerate(
            zip(questions, follow.entailed, follow.content, strict=True)
        ):
            kind = QUESTION_TYPES[question.row]
            words = question.question.text.rstrip("?.!").lower().split()
            self._vocabulary.update(word.strip(",") for word in words)
            self._vocabulary.update(question.answer.lower().split())
            row = (
                image,
                number,
                self._code("structural", kind.structural),
                self._code("semantic", kind.semantic),
                self._code("detailed", question.detailed),
                self._code("global_group", question.global_group) if question.global_group else -1,
                self._code("local_group", question.local_group) if question.local_group else -1,
                self._code("answer", question.answer),
                content,
                len(words),
                len(question.program),
                len(entailed),
            )
            for column, value in zip(self._columns.values(), row, strict=True):
                column.append(value)

    def _code(self, column: str, name: str) -> int:
        names = self._names[column]
        return names.setdefault(name, len(names))

    def table(self) -> QuestionTable:
        """All questions so far."""
        columns = {name: np.array(values, values.typecode) for name, values in self._columns.items()}
        names = {name: list(found) for name, found in self._names.items()}
        return QuestionTable(**columns, names=names, vocabulary=len(self._vocabulary))
