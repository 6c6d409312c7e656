"""Every figure counted again in plain Python, from the rows that a reader gets."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import BuiltVariant, build_variants, variants_of
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.text.normalisation import comparable, words
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.text.wordnet import wordnet_covers
from tests.decoys.literal_method import Choice
from tests.decoys.small_worlds import random_vectors, shown, word_vectors
from tests.sources.fixtures import write_easyvqa, write_visual7w, write_visual7w_decoys, write_vqa

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
KINDS = {"orig": "orig", "iou": "iou", "qou": "qou"}

OPEN_SETS = [name for name, variant in VARIANTS.items() if not variant.closed]


def vectors_for(table: pa.Table) -> WordVectors:
    vocabulary = sorted({word for question in table["question"].to_pylist() for word in words(question)})
    return word_vectors(random_vectors(vocabulary[::2] + vocabulary[1::4], dim=10))


def of_kind(row: list[Choice], name: str) -> list[Choice]:
    return [choice for choice in row if choice.kind == KINDS.get(name, "random")]


def rows_of(variant: BuiltVariant) -> list[list[Choice]]:
    return [row for rows in shown(variant).values() for row in rows]


def check_counts(variant: BuiltVariant, settings: Settings, released: bool) -> None:
    found, rows = variant.statistics, shown(variant)
    assert found["rows"] == {split: len(some) for split, some in rows.items()}
    assert found["choices_per_row"] == {
        split: {str(size): n for size, n in Counter(map(len, some)).items()} for split, some in rows.items()
    }
    sets = [name for name in VARIANTS[variant.name].sets if name != "orig"]
    assert list(found["fallbacks"]) == list(found["rejected"]) == sets
    for name in sets:
        size = settings.n_random if name.startswith("random") else settings.decoys_per_set
        choices = [choice for row in rows_of(variant) for choice in of_kind(row, name)]
        figures = found["fallbacks"][name]
        assert figures["choices"] == size * len(rows_of(variant))
        assert figures["fallback"] == sum(choice.is_fallback for choice in choices)
        assert figures["missing"] == figures["choices"] - len(choices)
        assert sum(figures["why"].values()) == figures["fallback"] + figures["missing"]
        if released and name in ("iou", "qou"):
            assert not any(found["rejected"][name].values()), "there were no candidates"


def check_repeated(variant: BuiltVariant, alone: Mapping[str, BuiltVariant]) -> None:
    """What the sets share as they are on their own, and what of it is left."""
    texts = n_rows = 0
    own = {name: rows_of(alone[name]) for name in VARIANTS[variant.name].sets}
    left = 0
    for index, row in enumerate(rows_of(variant)):
        seen: set[str] = set()
        shared = 0
        for name, rows in own.items():
            keys = [comparable(choice.text) for choice in of_kind(rows[index], name)]
            shared += sum(key in seen for key in keys)
            seen |= set(keys)
        texts += shared
        n_rows += shared > 0
        seen = set()
        for name in own:
            keys = [comparable(choice.text) for choice in of_kind(row, name)]
            left += sum(key in seen for key in keys)
            seen |= set(keys)
    assert variant.statistics["repeated_across_sets"] == {"rows": n_rows, "texts": texts, "replaced": texts - left}


def check_neutrality(variant: BuiltVariant) -> None:
    rows = shown(variant)["train"]
    targets = Counter(comparable(c.text) for row in rows for c in row if c.kind == "target")
    decoys = Counter(comparable(c.text) for row in rows for c in row if c.kind != "target")
    assert variant.statistics["neutrality"] == {
        "unique_targets": len(targets),
        "as_target_mean": pytest.approx(len(rows) / len(targets)),
        "as_decoy_mean": pytest.approx(sum(decoys[key] for key in targets) / len(targets)),
        "as_decoy_chance": pytest.approx(sum(decoys.values()) / len(targets)),
        "never_a_decoy": sum(decoys[key] == 0 for key in targets),
        "distance": pytest.approx(
            sum(
                abs(targets[key] / len(rows) - decoys[key] / max(decoys.total(), 1))
                for key in targets.keys() | decoys.keys()
            )
            / 2
        ),
    }


def check_coverage(variant: BuiltVariant) -> None:
    targets = [c.text for row in rows_of(variant) for c in row if c.kind == "target"]
    covered = sum(wordnet_covers(words(target)) for target in targets)
    assert variant.statistics["wordnet_coverage"] == {
        "triplets": len(targets),
        "covered": covered,
        "share": pytest.approx(covered / len(targets)),
    }


def check_everything(table: pa.Table, settings: Settings, names: list[str], released: bool = False) -> None:
    vectors = vectors_for(table)
    made = {v.name: v for v in build_variants(table, names, vectors, settings)}
    single = sorted({name for variant in names for name in VARIANTS[variant].sets})
    alone = {v.name: v for v in build_variants(table, single, vectors, settings)}
    for variant in made.values():
        check_counts(variant, settings, released)
        check_repeated(variant, alone)
        check_neutrality(variant)
        check_coverage(variant)


@pytest.mark.parametrize("combine", ["distinct", "paper"])
@pytest.mark.parametrize("source", ["visual7w", "vqa", "easyvqa"])
def test_figures_match_the_rows(source: str, combine: str, tmp_path: Path) -> None:
    {"visual7w": write_visual7w, "vqa": write_vqa, "easyvqa": write_easyvqa}[source](tmp_path)
    table = read_triplets(source, tmp_path)
    names = [name for name in variants_of(table) if name in OPEN_SETS]
    check_everything(table, Settings(combine=combine), names)  # type: ignore[arg-type]


def released(folder: Path) -> pa.Table:
    write_visual7w(folder)
    write_visual7w_decoys(folder)
    return read_triplets("visual7w", folder, released_decoys=True)


def test_released_decoys_are_taken_as_they_are_and_need_no_word_vectors(tmp_path: Path) -> None:
    table = released(tmp_path)
    assert variants_of(table) == list(VARIANTS)
    names = ["iou", "qou", "iou_qou", "all", "orig"]
    for combine in ("distinct", "paper"):
        settings = Settings(combine=combine)
        for variant in build_variants(table, names, None, settings):
            for split, rows in shown(variant).items():
                triplets = [t for t in table.to_pylist() if t["split"] == split]
                for row, t in zip(rows, triplets, strict=True):
                    for name in VARIANTS[variant.name].sets:
                        choices = of_kind(row, name)
                        assert sorted(c.text for c in choices) == sorted(t[f"{name}_decoys"])
                        assert not any(c.is_fallback for c in choices)


def test_figures_of_released_decoys_match_the_rows(tmp_path: Path) -> None:
    table = released(tmp_path)
    check_everything(table, Settings(), OPEN_SETS, released=True)
    for variant in build_variants(table, ["all"], None, Settings()):
        assert all(f["fallback"] == f["missing"] == 0 for f in variant.statistics["fallbacks"].values())


def test_texts_that_released_sets_share_are_counted_and_kept(tmp_path: Path) -> None:
    table = released(tmp_path)
    shared = [["A cat.", "Same.", "A dog."]] * table.num_rows
    other = [["Same.", "A kite", "A CAT"]] * table.num_rows
    for name, lists in (("iou_decoys", shared), ("qou_decoys", other)):
        column = table.schema.get_field_index(name)
        table = table.set_column(column, table.schema.field(name), pa.array(lists, table.schema.field(name).type))
    for variant in build_variants(table, ["iou_qou"], None, Settings()):
        n = table.num_rows
        assert variant.statistics["repeated_across_sets"] == {"rows": n, "texts": 2 * n, "replaced": 0}


def test_random_decoys_do_not_repeat_published_ones(tmp_path: Path) -> None:
    write_vqa(tmp_path)
    table = read_triplets("vqa", tmp_path)
    names = ["orig_random_uniform", "orig_random_frequency"]
    for variant in build_variants(table, names, None, Settings()):
        for row in rows_of(variant):
            published, drawn = ({comparable(c.text) for c in of_kind(row, name)} for name in ("orig", "random"))
            assert not published & drawn
