from typing import Any

import pytest

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import variants_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import MULTIPLE_CHOICE
from tests.decoys.literal_method import SETS
from tests.decoys.small_worlds import build, triplet, triplet_table

CLOSED = ["sets", "sets_same_question", "sets_same_image", "sets_similar_question", "sets_grid", "sets_latin"]
WITHOUT_ORIG = ["iou", "qou", "iou_qou", "random_uniform", "random_frequency", *CLOSED]


@pytest.fixture
def bare() -> list[dict[str, Any]]:
    return [triplet(n, f"what color is cat{n}", target) for n, target in enumerate(("red", "blue", "dog"))]


@pytest.fixture
def published(bare: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [t | {"orig_decoys": ["kite", "pizza"]} for t in bare]


def test_the_variants_are_those_of_the_design() -> None:
    assert {name: recipe.sets for name, recipe in VARIANTS.items()} == SETS | {name: (name,) for name in CLOSED}


def test_variants_with_original_decoys_need_them_for_every_question(
    bare: list[dict[str, Any]], published: list[dict[str, Any]]
) -> None:
    assert variants_of(triplet_table(bare)) == WITHOUT_ORIG
    assert sorted(variants_of(triplet_table(published))) == sorted(VARIANTS)
    assert variants_of(triplet_table([*published[:2], bare[2]])) == WITHOUT_ORIG
    for name in set(VARIANTS) - set(WITHOUT_ORIG):
        with pytest.raises(InputError, match=rf"'{name}' needs the source's own decoys.* iou, qou, iou_qou, random"):
            build([*published[:2], bare[2]], [name], {"what": [1.0]})


def test_an_unknown_variant_suggests_the_nearest(bare: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r"unknown variant 'iou_quo': did you mean 'iou_qou'\? Known: all, iou, "):
        build(bare, ["iou", "iou_quo"])


@pytest.mark.parametrize("name", ["qou", "iou_qou", "all"])
def test_qou_decoys_need_word_vectors(name: str, published: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match="need word vectors"):
        build(published, [name])
    assert build(published, ["iou", "orig", "random_uniform", "orig_random_frequency"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("decoys_per_set", 0), ("decoys_per_set", 2.5), ("n_similar", 0), ("n_similar", True), ("n_random", -1),
        ("wup_threshold", 1.01), ("wup_threshold", float("nan")), ("wup_threshold", True), ("wup_threshold", "0.9"),
        ("wup_boundary", "maybe"), ("decoys_from", "image"), ("combine", "Distinct"),
        ("seed", 0.5),
        ("filter_fallback", "no"),
    ],
)  # fmt: skip
def test_a_setting_out_of_its_range_is_named(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field.replace("_", ".")):
        Settings(**{field: value})


def test_rows_keep_content_order_and_schema_of_the_triplets(published: list[dict[str, Any]]) -> None:
    more = {"answers": ["a", "b"], "question_type": "what", "answer_type": "other"}
    triplets = [t | more | {"split": split} for t, split in zip(published, ("test", "train", "test"), strict=True)]
    for variant in build(triplets, ["orig", "iou"]).values():
        assert list(variant.splits) == ["train", "test"], "in the order of schema.SPLITS"
        for split, table in variant.splits.items():
            assert table.schema == MULTIPLE_CHOICE
            table.validate(full=True)
            wanted = [t for t in triplets if t["split"] == split]
            for row, t in zip(table.to_pylist(), wanted, strict=True):
                assert row["choices"][row["label"]] == t["target"]
                assert {name: row[name] for name in more} == more
                assert [row[name] for name in ("question_id", "image_id", "question")] == [
                    t[name] for name in ("question_id", "image_id", "question")
                ]
