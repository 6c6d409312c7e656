"""What a made dataset holds, as the paper's tables have it: Kafle and Kanan 2017, Tables 2 and 4, Figure 3."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images
from hf_vqa_mc.engines.tdiuc.question import ORIGINS, Question
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES

TOP_ANSWERS = 50
"""Answers of a type that are listed: the paper's figure 3 speaks of the top 50."""


def statistics(questions: Iterable[Question], images: Images) -> dict[str, Any]:
    """Questions per type, origin and split; answers of each type with their entropy in bits."""
    origins: dict[str, Counter[str]] = {name: Counter() for name in QUESTION_TYPES}
    splits: dict[str, Counter[str]] = {name: Counter() for name in QUESTION_TYPES}
    answers: dict[str, Counter[str]] = {name: Counter() for name in QUESTION_TYPES}
    image_ids: dict[str, set[int]] = {name: set() for name in QUESTION_TYPES}
    total = 0
    for one in questions:
        total += 1
        origins[one.question_type][one.origin] += 1
        splits[one.question_type][SPLITS[images.subset(one.image_id)]] += 1
        answers[one.question_type][one.answer] += 1
        image_ids[one.question_type].add(one.image_id)
    everywhere = set().union(*image_ids.values())
    return {
        "questions": total,
        "images": len(everywhere),
        "unique_answers": len(set().union(*answers.values())),
        "types": {
            name: {
                "questions": sum(answers[name].values()),
                "images": len(image_ids[name]),
                "origins": {origin: origins[name][origin] for origin in ORIGINS},
                "splits": {split: splits[name][split] for split in SPLITS.values()},
                "unique_answers": len(answers[name]),
                "entropy_bits": entropy(answers[name]),
                "answers": dict(_ranked(answers[name])[:TOP_ANSWERS]),
                "questions_with_other_answers": sum(count for _, count in _ranked(answers[name])[TOP_ANSWERS:]),
            }
            for name in QUESTION_TYPES
        },
        "origins": {origin: sum(origins[name][origin] for name in QUESTION_TYPES) for origin in ORIGINS},
        "splits": {split: sum(splits[name][split] for name in QUESTION_TYPES) for split in SPLITS.values()},
        "images_by_split": images.how(everywhere),
    }


def entropy(counts: Mapping[str, int]) -> float:
    """Of a distribution, in bits; 0 for none.

    >>> entropy({"yes": 2, "no": 2})
    1.0
    """
    total = sum(counts.values())
    bits = -math.fsum(count / total * math.log2(count / total) for count in counts.values())
    return round(bits, 4) + 0.0


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
