"""What there is to know of candidates that were made: how many of each kind, and which of them people gave, too."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.vqa_candidates import filling
from hf_vqa_mc.engines.vqa_candidates.answers import MISSING, Answers

ENOUGH = 3
"""An answer that so many annotators gave has full marks (Antol et al. 2015, Sect. 3)."""


def statistics(
    answers: Answers,
    asked: filling.Asked,
    picks: filling.Picks,
    popular: NDArray[np.int32],
    n_given: int,
    not_taken: NDArray[np.int64],
    unknown_ids: int,
) -> dict[str, Any]:
    """Figures ready for JSON. A decoy of two kinds is counted as the first of plausible, popular and random."""
    of_kind = {name: (picks.kinds == kind).sum(axis=1) for kind, name in enumerate(filling.KINDS)}
    popular_keys = asked.keys[popular]
    is_popular = np.isin(asked.keys[picks.texts], popular_keys) & (picks.texts != MISSING)
    times = filling.count_humans(asked, picks)
    plausible = int(of_kind["plausible"].sum())
    return {
        "questions": len(asked.targets),
        "candidates": _tally(picks.found + 1),
        "decoys": {name: int(counts.sum()) for name, counts in of_kind.items()},
        "plausible": {
            "given": n_given,
            "from_similar_questions": plausible - n_given,
            "per_question": _tally(of_kind["plausible"]),
            "also_popular": int((is_popular & (picks.kinds == filling.PLAUSIBLE)).sum()),
            "given_not_taken": dict(zip(filling.GIVEN_REASONS, not_taken.tolist(), strict=True)),
            "given_for_unknown_questions": unknown_ids,
        },
        "popular": [answers.texts[text] for text in popular.tolist()],
        "correct_is_popular": int(np.isin(asked.keys[asked.targets], popular_keys).sum()),
        "also_human_answers": {name: _human(times, picks.kinds == kind) for kind, name in enumerate(filling.KINDS)}
        | {"any": _human(times, picks.kinds != MISSING)},
    }


def _tally(sizes: NDArray[np.int64]) -> dict[str, int]:
    return {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)}


def _human(times: NDArray[np.int32], of_kind: NDArray[np.bool_]) -> dict[str, int]:
    """How many questions hold a decoy that annotators gave as their answer, and that enough of them did."""
    return {
        "questions": int(((times > 0) & of_kind).any(axis=1).sum()),
        f"questions_with_{ENOUGH}_annotators": int(((times >= ENOUGH) & of_kind).any(axis=1).sum()),
    }
