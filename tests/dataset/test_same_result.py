"""The result depends on the triplets, the vectors and the settings; on nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numba
import pytest

from hf_vqa_mc import compiled
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import BuiltVariant
from hf_vqa_mc.text.normalisation import comparable
from tests.decoys.small_worlds import build, decoys, random_vectors, triplet

ANSWERS = ("cat", "kitten", "dog", "black", "white", "two", "three", "2", "hair", "yes", "no", "night", "table", "red",
           "man", "woman", "a red hat", "on the street", "street", "pizza", "kite", "Kites.", "surfboard")  # fmt: skip
VOCABULARY = [f"word{n}" for n in range(30)]
VECTORS = random_vectors(VOCABULARY, dim=8)
NAMES = ["iou", "qou", "iou_qou", "all", "random_uniform", "random_frequency", "orig_random_frequency"]


def many_triplets(size: int = 900, seed: int = 0) -> list[dict[str, Any]]:
    """Up to ten questions an image."""
    rng = Random(seed)
    return [
        triplet(
            index,
            " ".join(rng.sample(VOCABULARY, rng.randint(1, 4))),
            rng.choice(ANSWERS),
            question_id=f"{seed}-{index}",
            image_id=f"{seed}-{rng.randrange(size // 5)}",
            split=rng.choice(("train", "test")),
            orig_decoys=rng.sample(ANSWERS, 3),
        )
        for index in range(size)
    ]


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of a few triplets, so that threads really work side by side."""

    def over_small_ranges(kernel: Any, size: int, step: int, *arguments: object) -> None:
        over_ranges(kernel, size, max(1, step // 500), *arguments)

    over_ranges = compiled.over_ranges
    for module in ("image_only_unresolvable", "fallbacks", "question_only_unresolvable"):
        monkeypatch.setattr(f"hf_vqa_mc.decoys.{module}.over_ranges", over_small_ranges)


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def assert_same(found: dict[str, BuiltVariant], expected: dict[str, BuiltVariant]) -> None:
    assert found.keys() == expected.keys()
    for name, variant in found.items():
        assert variant.splits == expected[name].splits
        assert variant.statistics == expected[name].statistics


@pytest.fixture(scope="module")
def first_build() -> dict[str, BuiltVariant]:
    return build(many_triplets(), NAMES, VECTORS)


def test_one_thread_gives_the_same(first_build: dict[str, BuiltVariant], one_thread: None) -> None:
    assert_same(build(many_triplets(), NAMES, VECTORS), first_build)


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("n_threads", [2, 7])
def test_many_threads_give_the_same(
    first_build: dict[str, BuiltVariant], n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: n_threads)
    assert_same(build(many_triplets(), NAMES, VECTORS), first_build)


@pytest.mark.slow
def test_other_names_of_the_images_give_the_same(first_build: dict[str, BuiltVariant]) -> None:
    renamed = [t | {"image_id": f"renamed {hash(t['image_id'])}"} for t in many_triplets()]
    for name, variant in build(renamed, NAMES, VECTORS).items():
        assert decoys(variant) == decoys(first_build[name])
        assert variant.statistics == first_build[name].statistics


@pytest.mark.parametrize("pool", ["dataset", "split"])
def test_another_order_of_the_triplets_gives_each_the_same_decoys(pool: str) -> None:
    """But for QoU decoys, where questions that are equally similar come in the order of the triplets."""
    names = ["iou", "random_uniform", "random_frequency", "orig_random_uniform"]
    settings = Settings(decoys_from=pool)  # type: ignore[arg-type]
    triplets = many_triplets()
    first = build(triplets, names, settings=settings)
    Random(1).shuffle(triplets)
    second = build(triplets, names, settings=settings)
    for name in names:
        assert decoys(second[name]) == decoys(first[name])
        row = {r["question_id"]: r for table in second[name].splits.values() for r in table.to_pylist()}
        for table in first[name].splits.values():
            assert all(row[r["question_id"]] == r for r in table.to_pylist())


@pytest.mark.slow
def test_questions_that_are_all_unlike_have_the_same_qou_decoys_in_any_order() -> None:
    triplets = [
        t | {"question": " ".join(Random(n).choices(VOCABULARY, k=9))} for n, t in enumerate(many_triplets(300))
    ]
    first = decoys(build(triplets, ["qou"], VECTORS)["qou"])
    Random(1).shuffle(triplets)
    assert decoys(build(triplets, ["qou"], VECTORS)["qou"]) == first


def test_iou_decoys_stay_when_unrelated_images_come_in_or_go(first_build: dict[str, BuiltVariant]) -> None:
    """Fall-backs may change, as the most frequent targets do."""
    more = [*many_triplets(100, seed=7), *many_triplets(), *many_triplets(100, seed=8)]
    Random(2).shuffle(more)
    fewer = [t for t in many_triplets() if int(t["image_id"].split("-")[1]) < 40]
    for name in ("iou", "iou_qou", "all"):
        before = decoys(first_build[name], "iou")
        for triplets in (more, fewer):
            after = decoys(build(triplets, [name], VECTORS)[name], "iou")
            shared = before.keys() & after.keys()
            assert len(shared) >= 150
            for question_id in shared:
                own = [[c.text for c in row[question_id] if not c.is_fallback] for row in (before, after)]
                assert own[0] == own[1]


def test_a_set_is_the_same_whatever_else_is_built(first_build: dict[str, BuiltVariant]) -> None:
    for name in NAMES:
        assert_same(build(many_triplets(), [name], VECTORS), {name: first_build[name]})
    assert_same(build(many_triplets(), NAMES[::-1], VECTORS), {name: first_build[name] for name in NAMES[::-1]})


def test_decoys_that_need_no_replacing_are_the_same_in_every_config(first_build: dict[str, BuiltVariant]) -> None:
    alone, together = (decoys(first_build[name], "qou") for name in ("qou", "iou_qou"))
    iou = decoys(first_build["iou_qou"], "iou")
    n_same = 0
    for question_id, row in alone.items():
        held = {comparable(choice.text) for choice in iou[question_id]}
        stays = [choice for choice in row if comparable(choice.text) not in held and not choice.is_fallback]
        assert set(stays) <= set(together[question_id])
        n_same += row == together[question_id]
    assert 0.3 * len(alone) < n_same < len(alone)


def test_another_seed_gives_other_rows_and_by_position_the_same_qou_decoys(
    first_build: dict[str, BuiltVariant],
) -> None:
    other = build(many_triplets(), NAMES, VECTORS, replace(Settings(), seed=1))
    for name in NAMES:
        before, after = (build[name].splits["train"]["choices"].to_pylist() for build in (first_build, other))
        n_same = sum(a == b for a, b in zip(before, after, strict=True))
        assert n_same < 0.3 * len(before), name
    assert decoys(other["iou"]) != decoys(first_build["iou"])
    assert decoys(other["random_uniform"]) != decoys(first_build["random_uniform"])
    assert decoys(other["qou"]) != decoys(first_build["qou"])
