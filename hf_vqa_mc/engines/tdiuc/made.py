"""What a maker of questions hands on: its questions, and why it made no others."""

from collections import Counter

from hf_vqa_mc.engines.tdiuc.question import Origin, Question


class Made:
    """Questions, and the number of those left out by reason."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.left_out: Counter[str] = Counter()
        self._texts: dict[str, str] = {}

    def ask(self, image_id: int, question: str, answer: str, question_type: str, origin: Origin) -> None:
        """Adds a question; equal texts are kept once, for a template makes few."""
        question = self._texts.setdefault(question, question)
        answer = self._texts.setdefault(answer, answer)
        self.questions.append(Question(image_id, question, answer, question_type, origin))

    def leave_out(self, question_type: str, reason: str, count: int = 1) -> None:
        """Counts questions that were not made."""
        self.left_out[f"{question_type}: {reason}"] += count
