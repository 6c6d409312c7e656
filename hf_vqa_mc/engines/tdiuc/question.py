"""A question of TDIUC with its answer, type and origin, and the collection of those that were generated."""

from collections import Counter
from typing import Literal, NamedTuple

from hf_vqa_mc.scoring.tdiuc_types import SENTIMENT, UTILITY

Origin = Literal["coco_generated", "genome_generated", "vqa_imported", "genome_imported", "annotated"]
"""Where a question is from: the columns of Kafle and Kanan 2017, Table 4."""
ORIGINS: tuple[Origin, ...] = ("annotated", "coco_generated", "genome_generated", "vqa_imported", "genome_imported")
"""Of equal questions on an image the first origin's is kept."""
HAND_ANNOTATED = (SENTIMENT, UTILITY)
"""What no template can make: section "Manual Annotation"."""

YES, NO = "yes", "no"
DOES_NOT_APPLY = "does not apply"


class Question(NamedTuple):
    """One question on one image."""

    image_id: int
    question: str
    answer: str
    question_type: str
    origin: Origin


class Made:
    """Questions, and the number of those left out by reason."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.left_out: Counter[str] = Counter()
        self._texts: dict[str, str] = {}

    def ask(self, image_id: int, question: str, answer: str, question_type: str, origin: Origin) -> None:
        """Add a question; equal texts are stored once, as templates make few."""
        question = self._texts.setdefault(question, question)
        answer = self._texts.setdefault(answer, answer)
        self.questions.append(Question(image_id, question, answer, question_type, origin))

    def leave_out(self, question_type: str, reason: str, count: int = 1) -> None:
        """Count questions that were not made."""
        self.left_out[f"{question_type}: {reason}"] += count
