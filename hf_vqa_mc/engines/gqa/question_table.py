"""What selecting and counting need to know of each generated question: some whole numbers, one column each."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.errors import unknown_name

Types = Mapping[str, tuple[str, str]]
"""Row of the paper's Table 3 to structural and semantic type, as GQA's files call them."""

_COLUMNS = {
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
"""Each column with its array's type code: 40 bytes a question."""


@dataclass(frozen=True)
class QuestionTable:
    """All questions; columns of (questions,), numbers of names are places in the lists of names."""

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
    """questions about one image with the same number tell the same"""
    words: NDArray[np.int16]
    steps: NDArray[np.int16]
    """steps of the program"""
    entailed: NDArray[np.int32]
    """how many other questions follow"""
    images: Sequence[str]
    structural_types: Sequence[str]
    semantic_types: Sequence[str]
    detailed_types: Sequence[str]
    global_groups: Sequence[str]
    local_groups: Sequence[str]
    answers: Sequence[str]
    vocabulary: frozenset[str]
    """all words of questions and answers, in lower case"""

    @property
    def count(self) -> int:
        """How many questions there are."""
        return len(self.image)


class QuestionColumns:
    """Questions while they are gathered."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._columns = {name: array(code) for name, code in _COLUMNS.items()}
        names = ("structural", "semantic", "detailed", "global_group", "local_group", "answer")
        self._names: dict[str, dict[str, int]] = {name: {} for name in names}
        self._images: list[str] = []
        self._vocabulary: set[str] = set()

    def add(
        self, image_id: str, questions: Sequence[Question], entailed: Sequence[Sequence[int]], content: Sequence[int]
    ) -> None:
        """Put in the questions about an image.

        Args:
            image_id: of the image.
            questions: about it.
            entailed: places of the questions that follow from each.
            content: as ``Entailments.content``.

        Raises:
            InputError: a question is of a row without types.
        """
        image = len(self._images)
        self._images.append(image_id)
        for number, (question, follow, telling) in enumerate(zip(questions, entailed, content, strict=True)):
            if question.row not in self._types:
                raise unknown_name("row", question.row, self._types)
            structural, semantic = self._types[question.row]
            words = question.question.text.rstrip("?.!").lower().split()
            self._vocabulary.update(word.strip(",") for word in words)
            self._vocabulary.update(question.answer.lower().split())
            row = {
                "image": image,
                "number": number,
                "structural": self._code("structural", structural),
                "semantic": self._code("semantic", semantic),
                "detailed": self._code("detailed", question.detailed),
                "global_group": self._code("global_group", question.global_group) if question.global_group else -1,
                "local_group": self._code("local_group", question.local_group) if question.local_group else -1,
                "answer": self._code("answer", question.answer),
                "content": telling,
                "words": len(words),
                "steps": len(question.program),
                "entailed": len(follow),
            }
            for name, value in row.items():
                self._columns[name].append(value)

    def _code(self, column: str, name: str) -> int:
        names = self._names[column]
        return names.setdefault(name, len(names))

    def table(self) -> QuestionTable:
        """All questions so far."""
        columns = {name: np.array(values, values.typecode) for name, values in self._columns.items()}
        names = {name: list(found) for name, found in self._names.items()}
        return QuestionTable(
            **columns,
            images=list(self._images),
            structural_types=names["structural"],
            semantic_types=names["semantic"],
            detailed_types=names["detailed"],
            global_groups=names["global_group"],
            local_groups=names["local_group"],
            answers=names["answer"],
            vocabulary=frozenset(self._vocabulary),
        )
