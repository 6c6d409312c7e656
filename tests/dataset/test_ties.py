"""Equally similar questions are ranked from a random position on."""

from collections import Counter

from hf_vqa_mc.decoys.settings import Settings
from tests.decoys.small_worlds import build, decoys, random_vectors, triplet

VECTORS = random_vectors(["what", "color", "where"], dim=4)
WORDS = ("kite", "pizza", "train", "sofa", "river", "candle", "window", "banana", "church", "engine")
REPEATED = [triplet(n, "what color", WORDS[n % len(WORDS)]) for n in range(200)]


def qou_decoys(triplets: list[dict[str, object]], **settings: object) -> dict[str, list[str]]:
    variant = build(triplets, ["qou"], VECTORS, Settings(**settings))["qou"]  # type: ignore[arg-type]
    return {question_id: sorted(choice.text for choice in row) for question_id, row in decoys(variant).items()}


def test_random_starts_spread_the_decoys_of_a_repeated_question_over_all_its_targets() -> None:
    used = Counter(text for row in qou_decoys(REPEATED).values() for text in row)
    assert set(used) == set(WORDS)
    assert min(used.values()) > 0.4 * max(used.values())


def test_random_starts_change_no_order_between_questions_of_different_similarity() -> None:
    targets = ["left", "right", "up"]
    others = [triplet(1000 + n, "where", target) for n, target in enumerate(targets)]
    few = [triplet(n, "what color", word) for n, word in enumerate(WORDS[:4])]
    made = qou_decoys([*few, *others])
    assert all(set(made[f"q{n}"]) == set(WORDS[:4]) - {WORDS[n]} for n in range(4))


def test_random_starts_depend_on_the_seed_alone() -> None:
    assert qou_decoys(REPEATED) == qou_decoys(REPEATED)
    assert qou_decoys(REPEATED) != qou_decoys(REPEATED, seed=1)
