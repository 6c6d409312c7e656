"""The decoys that the paper's authors released for Visual7W, replayed through our filters.

Of their QoU sets one in thirteen holds a pair at exactly 0.9, hardly one above: they accepted the boundary. Those
above are nearly all of the kind "woman"/"girl", 0.947 since NLTK takes a synset for its own least common subsumer
(nltk/nltk#1813, merged after the paper), 0.667 before. Of their IoU sets one in a hundred holds a pair above, or a
text twice: what stood in for missing decoys did not pass that filter.
"""

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from hf_vqa_mc.decoys.candidates import ACCEPTED, REASONS, reason_against
from tests.decoys.small_worlds import candidates_of

N_SETS = 4_000


@pytest.fixture(scope="module")
def released(real_data: Path) -> list[dict[str, list[str]]]:
    """The first validation rows."""
    with zipfile.ZipFile(real_data / "chao_decoys" / "Visual7W_decoys.zip") as archive:
        rows: list[dict[str, list[str]]] = json.loads(archive.read("Visual7W_decoys/v7w_val_decoys.json"))
    assert len(rows) == 28_020
    return rows[:N_SETS]


def rejected(sets: list[list[str]], reject_at_threshold: bool) -> Counter[str]:
    """How many sets hold a decoy that we would not have taken after those before it, by reason.

    The release does not say what the targets are; a text like no other replaces them.
    """
    candidates, numbers = candidates_of(
        ["日本語", *(text for texts in sets for text in texts)], 0.9, reject_at_threshold
    )
    keys = candidates.keys[numbers]
    found: Counter[str] = Counter()
    for row in keys[1:].reshape(-1, 3):
        reasons = (reason_against(row[n], keys[0], row[:n], n, True, candidates.tables) for n in (1, 2))
        found.update({REASONS[reason] for reason in reasons if reason != ACCEPTED})
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "reject", "accept"),
    [
        ("QoU_decoys", {"wup_taken": 320}, {"wup_taken": 17}),
        ("IoU_decoys", {"wup_taken": 83, "same_text": 5}, {"wup_taken": 39, "same_text": 5}),
    ],
)
def test_pairs_within_released_sets(
    released: list[dict[str, list[str]]], kind: str, reject: dict[str, int], accept: dict[str, int]
) -> None:
    sets = [row[kind] for row in released]
    assert all(len(texts) == 3 for texts in sets)
    assert dict(rejected(sets, reject_at_threshold=True)) == reject
    assert dict(rejected(sets, reject_at_threshold=False)) == accept
