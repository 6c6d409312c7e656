from collections import Counter
from random import Random

import numpy as np
import pytest
from scipy.stats import chisquare

from hf_vqa_mc.decoys.settings import Settings
from tests.decoys.small_worlds import build, decoys, triplet

NONSENSE = ("blorf", "quazt", "dringel", "vummy", "splathe", "krint", "jaxxol", "wembin")
WEIGHTS = (400, 200, 100, 60, 40, 30, 20, 10)


def drawn(name: str, n_random: int = 1, seed: int = 0) -> tuple[list[str], dict[str, list[str]]]:
    """The targets of 4,000 triplets and the random decoys of each."""
    rng = Random(0)
    targets = rng.choices(NONSENSE, WEIGHTS, k=4_000)
    triplets = [triplet(n, "what is it", target) for n, target in enumerate(targets)]
    variant = build(triplets, [name], settings=Settings(n_random=n_random, seed=seed))[name]
    assert variant.statistics["rejected"][name]["contains"] == 0
    return targets, {key: [choice.text for choice in row] for key, row in decoys(variant, "random").items()}


def expected_counts(targets: list[str], by_frequency: bool) -> dict[str, float]:
    """How often each text is the one decoy of a row."""
    weight = Counter(targets) if by_frequency else Counter(NONSENSE)
    found = dict.fromkeys(NONSENSE, 0.0)
    for target in targets:
        others = {text: weight[text] for text in NONSENSE if text != target}
        for text, share in others.items():
            found[text] += share / sum(others.values())
    return found


@pytest.mark.parametrize("name", ["random_uniform", "random_frequency"])
def test_random_decoys_are_as_frequent_as_they_should_be(name: str) -> None:
    targets, of_row = drawn(name)
    counts = Counter(text for texts in of_row.values() for text in texts)
    observed = np.array([counts[text] for text in NONSENSE], float)
    for by_frequency in (False, True):
        expected = np.array(list(expected_counts(targets, by_frequency).values()))
        assert (chisquare(observed, expected).pvalue > 1e-9) == (by_frequency == (name == "random_frequency"))


@pytest.mark.parametrize("name", ["random_uniform", "random_frequency"])
def test_random_decoys_are_drawn_with_replacement_until_the_row_is_full(name: str) -> None:
    targets, of_row = drawn(name, n_random=len(NONSENSE) - 1)
    for n, target in enumerate(targets):
        assert of_row[f"q{n}"] == sorted(set(NONSENSE) - {target})


def test_another_seed_draws_other_decoys() -> None:
    assert drawn("random_uniform")[1] == drawn("random_uniform")[1] != drawn("random_uniform", seed=1)[1]


def test_a_rare_text_is_rarely_drawn_by_frequency() -> None:
    """One of 3,001 targets is another: by frequency a thousand draws do for few rows, uniformly for all."""
    triplets = [triplet(n, "what is it", "blorf") for n in range(3_000)] + [triplet(3_000, "what is it", "vummy")]
    settings = Settings(n_random=1)
    built = build(triplets, ["random_uniform", "random_frequency"], settings=settings)
    assert built["random_uniform"].statistics["fallbacks"]["random_uniform"]["fallback"] == 0
    figures = built["random_frequency"].statistics["fallbacks"]["random_frequency"]
    assert 3_000 * (0.7165 - 0.06) < figures["fallback"] < 3_000 * (0.7165 + 0.06), "(3000 / 3001) ** 1000 is 0.7165"
    assert figures["why"]["rejected by the filters"] == figures["fallback"]
