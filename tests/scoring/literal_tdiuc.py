"""SCORING.md's TDIUC measures, by loops."""

from collections.abc import Sequence


def literal_tdiuc(
    predictions: Sequence[str],
    references: Sequence[str],
    question_types: Sequence[str],
    vocabulary: Sequence[str] | None,
    unknown_gold: str,
) -> dict[str, float]:
    """All means, as fractions."""
    rows = list(zip(predictions, references, question_types, strict=True))

    def known(gold: str) -> bool:
        return vocabulary is None or gold in vocabulary

    def right(row: tuple[str, str, str]) -> bool:
        return known(row[1]) and row[0] == row[1]

    def percent(chosen: Sequence[tuple[str, str, str]]) -> float:
        return 100 * sum(map(right, chosen)) / len(chosen)

    def answer(gold: str) -> tuple[str, ...]:
        return ("known", gold) if known(gold) else ("unknown",) if unknown_gold == "merge" else ("unknown", gold)

    plain, normalized = [], []
    for kind in sorted(set(question_types)):
        of_kind = [row for row in rows if row[2] == kind]
        plain.append(percent(of_kind))
        by_answer = [
            percent([row for row in of_kind if answer(row[1]) == unique])
            for unique in {answer(row[1]) for row in of_kind}
        ]
        normalized.append(sum(by_answer) / len(by_answer))

    def arithmetic(percentages: Sequence[float]) -> float:
        return sum(p + 1e-10 for p in percentages) / len(percentages) / 100

    def harmonic(percentages: Sequence[float]) -> float:
        return len(percentages) / sum(1 / (p + 1e-10) for p in percentages) / 100

    return {
        "accuracy": percent(rows) / 100,
        "arithmetic_mpt": arithmetic(plain),
        "harmonic_mpt": harmonic(plain),
        "arithmetic_nmpt": arithmetic(normalized),
        "harmonic_nmpt": harmonic(normalized),
    }
