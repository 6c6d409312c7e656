"""SCORING.md's counter-example recall, question by question, by sorting."""

from collections.abc import Sequence


def literal_recall(scores: Sequence[float], picked: int, k: int) -> float:
    """Whether the picked candidate is among the k of highest score; of equal scores the earlier is first."""
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return float(picked in order[:k])
