"""SCORING.md's WUPS, question by question, on NLTK's own similarity."""

from collections.abc import Callable, Sequence
from math import prod

Similarity = Callable[[str, str], float | None]
"""The largest WUP over the noun synsets of two texts; None where one of them has none."""


def literal_wups(prediction: str, reference: str, threshold: float, similarity: Similarity) -> float:
    """One question's score."""

    def m(x: str, y: str) -> float:
        if x == y:
            return 1.0
        largest = None if threshold == -1 else similarity(x, y)
        if largest is None:
            return 0.0
        return largest * 0.1 if largest < threshold else largest

    def side(items: Sequence[str], others: Sequence[str]) -> float:
        return prod(max(m(item, other) for other in others) for item in items)

    a = [item.strip() for item in prediction.split(",")]
    t = [item.strip() for item in reference.split(",")]
    return min(side(a, t), side(t, a))
