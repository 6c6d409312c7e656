"""Statistics of a generated dataset: types, lengths, answers, entropy (Hudson and Manning 2019, Sect. 3.5, 4.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.balancing import AnswerCells, Bools, QuestionTable, entropies
from hf_vqa_mc.engines.gqa.selection import Selected
from hf_vqa_mc.engines.gqa.settings import SPLITS

PAPER = {
    "entropy_increase": 0.72,  # Sect. 3.5
    "vocabulary": 3097,  # Sect. 4.1
    "answers": 1878,  # Sect. 4.1
    "questions": 22_669_678,  # Sect. 4.1
    "balanced_questions": 1_700_000,  # Appendix B
}
"""The paper's numbers, for comparison."""
LARGEST = 30  # groups that are listed one by one


def dataset_statistics(
    table: QuestionTable, selected: Selected, splits: Sequence[str], problems: Mapping[str, int]
) -> dict[str, Any]:
    """The content of ``statistics.json``: counts, means in words and steps, entropies in bits, problems by reason."""
    everything = np.ones(table.count, np.bool_)
    return {
        "paper": PAPER,
        "images": dict(Counter(splits)),
        "all": _part(table, everything, splits),
        "balanced": _part(table, selected.kept, splits),
        "selection": {
            "removed": dict(selected.removed),
            "restored_to_keep_order": selected.restored,
            "groups_beyond_their_bound": dict(selected.beyond),
        },
        "entropy": {
            "answers": _change(table.answer * 0, table.answer, selected.kept),
            "global_groups": _change(table.global_group, table.answer, selected.kept, table.names["global_group"]),
            "local_groups": _change(table.local_group, table.answer, selected.kept),
        },
        "problems": {reason: count for reason, count in sorted(problems.items()) if count},
    }


def _part(table: QuestionTable, chosen: Bools, splits: Sequence[str]) -> dict[str, Any]:
    count = int(chosen.sum())
    names = [name for name in SPLITS if name in splits]
    split = np.array([names.index(name) for name in splits], np.int64)[table.image[chosen]]
    return {
        "questions": count,
        "per_split": _named(split, names),
        "per_structural_type": _named(table.structural[chosen], table.names["structural"]),
        "per_semantic_type": _named(table.semantic[chosen], table.names["semantic"]),
        "per_detailed_type": _named(table.detailed[chosen], table.names["detailed"]),
        "answers": len(np.unique(table.answer[chosen])),
        "words": _spread(table.words[chosen]),
        "steps": _spread(table.steps[chosen]),
        "entailed": _spread(table.entailed[chosen]),
        "vocabulary": table.vocabulary,
    }


def _change(
    groups: NDArray[np.integer], answers: NDArray[np.integer], kept: Bools, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Mean entropy of the answers of a group before and after, over remaining groups with several answers.

    The increase is (after - before) / before.
    """
    cells = AnswerCells(groups, answers, np.arange(len(groups)))
    left = cells.kept_counts(kept)
    before, after = entropies(cells.counts, cells.starts), entropies(left, cells.starts)
    sizes = np.add.reduceat(left, cells.starts[:-1]) if len(left) else np.zeros(0, np.int64)
    compared = (before > 0) & (sizes > 0)
    mean_before, mean_after = (float(part[compared].mean()) if compared.any() else 0.0 for part in (before, after))
    change: dict[str, Any] = {
        "groups": len(cells.groups),
        "compared": int(compared.sum()),
        "before": round(mean_before, 4),
        "after": round(mean_after, 4),
        "increase": round(mean_after / mean_before - 1, 4) if mean_before else 0.0,
        "higher": int((after[compared] > before[compared] + 1e-12).sum()),
        "lower": int((after[compared] < before[compared] - 1e-12).sum()),
    }
    if names:
        totals = np.add.reduceat(cells.counts, cells.starts[:-1]) if len(left) else sizes
        largest = np.lexsort((cells.groups, -totals))[:LARGEST]
        change["largest"] = {
            names[cells.groups[index]]: {
                "questions": [int(totals[index]), int(sizes[index])],
                "entropy": [round(float(before[index]), 4), round(float(after[index]), 4)],
            }
            for index in largest
        }
    return change


def _named(codes: NDArray[np.integer], names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return dict(sorted(zip(names, counts, strict=True), key=lambda pair: (-pair[1], pair[0])))


def _spread(numbers: NDArray[np.integer]) -> dict[str, Any]:
    counts = np.bincount(numbers.clip(0)) if len(numbers) else np.zeros(0, np.int64)
    mean = round(float(numbers.mean()), 3) if len(numbers) else 0.0
    return {"mean": mean, "questions": {str(number): int(counts[number]) for number in np.flatnonzero(counts)}}
