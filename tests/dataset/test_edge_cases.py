"""Triplets that leave the method little to work with: everything comes out, and the statistics say what is missing."""

from collections import Counter
from typing import Any

import pytest

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from tests.decoys.literal_method import Choice
from tests.decoys.small_worlds import build, decoys, random_vectors, shown, triplet

VECTORS = random_vectors(["what", "color", "is", "where", "the", "cat"], dim=4)
COLOURS = ("red", "blue", "green", "pink", "brown", "gray", "teal", "beige", "gold", "white", "purple", "orange")
GENERATED = ["iou", "qou", "iou_qou", "random_uniform", "random_frequency"]


def test_a_single_triplet_keeps_its_target_and_counts_missing_decoys() -> None:
    for name, variant in build([triplet(0, "what color", "red")], GENERATED, VECTORS).items():
        assert shown(variant) == {"train": [[Choice("red", "target")]]}
        assert variant.statistics["rows"] == {"train": 1}
        assert variant.statistics["choices_per_row"] == {"train": {"1": 1}}
        for kind in VARIANTS[name].sets:
            figures = variant.statistics["fallbacks"][kind]
            assert figures["missing"] == figures["choices"] == sum(figures["why"].values())
            assert figures["why"]["no candidates"] == figures["missing"]
        assert variant.statistics["prior_rule"] == {}


def test_one_triplet_with_published_decoys_falls_back_on_them() -> None:
    alone = triplet(0, "what color", "red", orig_decoys=["blue", "Red.", "dark red", "kite", "pizza"])
    built = build([alone], [name for name, variant in VARIANTS.items() if not variant.closed], VECTORS)
    assert sorted(c.text for c in shown(built["orig"])["train"][0]) == sorted(["red", *alone["orig_decoys"]])
    for name in ("iou", "qou"):
        (row,) = decoys(built[name]).values()
        assert all(choice.is_fallback and choice.text in ("blue", "kite", "pizza") for choice in row)
        assert len(row) == 3
    combined = decoys(built["iou_qou"])["q0"]
    assert sorted(c.text for c in combined) == ["blue", "kite", "pizza"], "the sets share what there is"
    assert Counter(c.kind for c in combined) == {"iou": 3}
    assert [c.kind for c in decoys(built["all"])["q0"]] == ["orig"] * 5, "nothing is left to fall back on"


def test_an_image_with_one_question_has_fall_backs_from_the_ten_most_frequent_targets() -> None:
    frequent = [colour for n, colour in enumerate(COLOURS) for _ in range(30 - n)]
    triplets = [triplet(n, "what color", target) for n, target in enumerate(frequent)]
    variant = build(triplets, ["iou"], settings=Settings(filter_fallback=False))["iou"]
    used = Counter(c.text for row in decoys(variant).values() for c in row)
    assert set(used) == set(COLOURS[:10])
    assert min(used.values()) > 0.7 * max(used.values()), "all ten as likely"
    figures = variant.statistics["fallbacks"]["iou"]
    assert figures["fallback"] == figures["choices"] == figures["why"]["no candidates"] == 3 * len(triplets)
    assert figures["missing"] == 0


def test_the_most_frequent_targets_are_those_of_the_training_split_or_of_all_where_there_is_none() -> None:
    other = [triplet(n, "what", f"rare{n % 11}", split="test") for n in range(50)]
    train = [triplet(100 + n, "what", colour) for n, colour in enumerate(COLOURS[:6])]
    variant = build([*other, *train], ["iou"], settings=Settings(filter_fallback=False))["iou"]
    assert {c.text for row in decoys(variant).values() for c in row} == set(COLOURS[:6])
    variant = build(other, ["iou"], settings=Settings(filter_fallback=False))["iou"]
    assert {c.text for row in decoys(variant).values() for c in row} <= {f"rare{n}" for n in range(11)}
    assert variant.statistics["prior_rule"] == {}
    assert variant.statistics["neutrality"]["unique_targets"] == 11


@pytest.mark.parametrize("question", ["zyzzyva quux?", "?!", "日本語"])
def test_questions_whose_words_all_lack_vectors_have_fall_backs_and_are_no_ones_neighbours(question: str) -> None:
    triplets = [triplet(0, question, "kite"), *(triplet(n, "what color", c) for n, c in enumerate(COLOURS[:5], 1))]
    variant = build(triplets, ["qou"], VECTORS, Settings(filter_fallback=False))["qou"]
    of_row = decoys(variant)
    assert all(c.is_fallback for c in of_row["q0"]) and len(of_row["q0"]) == 3
    assert variant.statistics["fallbacks"]["qou"]["why"]["no candidates"] == 3
    assert not any(c.text == "kite" and not c.is_fallback for row in of_row.values() for c in row)


@pytest.mark.parametrize("pool", ["dataset", "split"])
def test_no_question_has_a_word_with_a_vector(pool: str) -> None:
    triplets = [triplet(n, f"zyzzyva{n}", c, split="train" if n % 2 else "test") for n, c in enumerate(COLOURS)]
    settings = Settings(decoys_from=pool, filter_fallback=False)  # type: ignore[arg-type]
    for name, variant in build(triplets, ["qou", "iou_qou"], VECTORS, settings).items():
        figures = variant.statistics["fallbacks"]["qou"]
        assert figures["why"]["no candidates"] == figures["choices"] == 36
        assert figures["fallback"] + figures["missing"] == 36
        assert figures["missing"] == 0 or name == "iou_qou", "six targets of the training split do for one set"


def test_one_split_without_any_word_vector() -> None:
    triplets = [triplet(n, "what color", c, split="train") for n, c in enumerate(COLOURS)]
    triplets += [triplet(100 + n, "zyzzyva", c, split="test") for n, c in enumerate(COLOURS)]
    variant = build(triplets, ["qou"], VECTORS, Settings(decoys_from="split", filter_fallback=False))["qou"]
    of_row = decoys(variant)
    assert {c.is_fallback for n in range(12) for c in of_row[f"q{n}"]} == {False}
    assert {c.is_fallback for n in range(100, 112) for c in of_row[f"q{n}"]} == {True}


def test_the_pool_can_be_the_split() -> None:
    texts = {"train": COLOURS[:6], "test": COLOURS[6:]}
    triplets = [
        triplet(n, "what color", colour, split=split, image_id="the same")
        for n, (split, colour) in enumerate((s, c) for s, some in texts.items() for c in some)
    ]
    for pool in ("dataset", "split"):
        settings = Settings(decoys_from=pool, wup_threshold=1.0, wup_boundary="accept")
        for name in ("iou", "qou", "random_uniform", "random_frequency"):
            rows = shown(build(triplets, [name], VECTORS, settings)[name])
            own = [
                {c.text for row in rows[split] for c in row if not c.is_fallback} <= set(texts[split])
                for split in texts
            ]
            assert all(own) == (pool == "split"), name


@pytest.mark.parametrize("target", ["zyzzyva", "?!", "日本語", "x" * 5_000, " two  words ", "naïve", "🐱", "a\u200db"])
def test_any_target_is_kept_as_it_is(target: str) -> None:
    triplets: list[dict[str, Any]] = [triplet(0, "what color", target, image_id="1")]
    triplets += [triplet(n, "what color", c, image_id="1") for n, c in enumerate(("kite", "pizza", "dog", "noon"), 1)]
    for name, variant in build(triplets, GENERATED, VECTORS).items():
        assert shown(variant)["train"][0][variant.splits["train"]["label"][0].as_py()].text == target
        texts = [choice.text for row in decoys(variant).values() for choice in row]
        assert target in texts, f"in {name} it serves as a decoy, as it is"


def test_a_question_of_many_thousand_words_and_the_same_question_many_times() -> None:
    long = " ".join(["what", "color", "is", "the", "cat"] * 4_000)
    triplets = [triplet(0, long, "kite"), triplet(1, f"{long} where", "pizza")]
    triplets += [triplet(n, "what color", COLOURS[n % 12]) for n in range(2, 400)]
    settings = Settings(wup_threshold=1.0)
    variant = build(triplets, ["qou"], VECTORS, settings)["qou"]
    assert variant.statistics["fallbacks"]["qou"]["fallback"] == 0
    assert {"pizza"} < {c.text for c in decoys(variant)["q0"]}


@pytest.mark.parametrize("filter_fallback", [False, True])
def test_fallbacks_can_be_filtered_by_wup(filter_fallback: bool) -> None:
    """two and three score exactly 0.9; the other texts here are far from both."""
    targets = ["two"] * 3 + ["three"] * 9 + ["kite"] * 4
    triplets = [triplet(n, "what", target) for n, target in enumerate(targets)]
    settings = Settings(filter_fallback=filter_fallback)
    variant = build(triplets, ["iou"], settings=settings)["iou"]
    texts = [c.text for c in decoys(variant)["q0"]]
    assert texts == (["kite"] if filter_fallback else ["kite", "three"])
    assert variant.statistics["fallbacks"]["iou"]["missing"] == 3 * 16 - sum(map(len, decoys(variant).values()))
    twins = build(triplets, ["iou"], settings=Settings(filter_fallback=filter_fallback, wup_boundary="accept"))["iou"]
    assert [c.text for c in decoys(twins)["q0"]] == ["kite", "three"]


def test_one_image_and_one_question_for_all() -> None:
    triplets = [triplet(n, "what color", COLOURS[n % 12], image_id="1") for n in range(300)]
    settings = Settings(wup_threshold=1.0, decoys_per_set=5)
    built = build(triplets, ["iou", "qou", "iou_qou"], VECTORS, settings)
    assert built["iou_qou"].statistics["choices_per_row"] == {"train": {"11": 300}}
    for variant in built.values():
        assert all(f["fallback"] == f["missing"] == 0 for f in variant.statistics["fallbacks"].values())
