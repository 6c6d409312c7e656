"""Changes of the words of questions: ablations of what a model makes of the question."""

import random
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

_TOKEN = re.compile(r"\w(?:\S*\w)?")


@dataclass(frozen=True)
class WordChanges:
    """How the words of questions are changed, in training and whenever the model answers."""

    first_words: int | None = None  # questions are cut after so many words
    shuffle_words: bool = False  # words are in a random order, which depends only on the seed and the question
    seed: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """The changes among the fields of a file; those that are missing are defaults."""
        return cls(**{one.name: settings[one.name] for one in fields(cls) if settings.get(one.name) is not None})

    def __bool__(self) -> bool:
        return self.first_words is not None or self.shuffle_words

    def text(self, question: str) -> str:
        """A question after the changes; punctuation around words is left out.

        >>> WordChanges(first_words=2).text("What colour is it?")
        'What colour'
        """
        if not self:
            return question
        words = _TOKEN.findall(question)[: self.first_words]
        if self.shuffle_words:
            words = random.Random(f"{self.seed} {question}").sample(words, len(words))
        return " ".join(words)

    def __str__(self) -> str:
        """The words of each question that a model reads.

        >>> print(WordChanges(first_words=2), "-", WordChanges(shuffle_words=True), "-", WordChanges())
        the first 2 - all, in random order - all, in order
        """
        first = "all" if self.first_words is None else f"the first {self.first_words}"
        return f"{first}, in random order" if self.shuffle_words else first if self else "all, in order"

    def as_json(self) -> dict[str, Any] | None:
        """The fields; None without changes."""
        return asdict(self) if self else None
