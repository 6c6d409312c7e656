"""The method, from top to bottom: triplets, sets of decoys, rows, statistics (Chao et al. 2018, Sect. 4 and 5.1)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hf_vqa_mc.dataset.decoy_sets import make_sets
from hf_vqa_mc.dataset.prepared import Material
from hf_vqa_mc.dataset.recipes import Recipe, find_recipes, has_released_decoys
from hf_vqa_mc.dataset.rows import Choices, split_tables
from hf_vqa_mc.dataset.settings import Settings
from hf_vqa_mc.dataset.statistics import statistics
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.word_vectors import WordVectors


@dataclass(frozen=True, eq=False)
class Variant:
    """A variant of a dataset."""

    name: str
    splits: dict[str, pa.Table]
    """split to rows, tables ``schema.MULTIPLE_CHOICE``, in the order of the triplets"""
    statistics: dict[str, Any]
    """ready for JSON"""


def build_variants(
    triplets: pa.Table,
    names: Sequence[str],
    vectors: WordVectors | None,
    settings: Settings,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[Variant]:
    """Makes variants of a dataset. The sets of decoys are made once, before the first variant is given.

    Args:
        triplets: a table ``schema.TRIPLETS``, checked, with the released decoys if these are to be used.
        names: keys of ``RECIPES``.
        vectors: for the similarity of questions; None where no QoU decoys are made.
        settings: the method's parameters.
        progress: told (step, done, total).

    Raises:
        InputError: an unknown name, one that needs decoys or word vectors that are not there.
    """
    tell = progress or (lambda step, done, total: None)
    recipes = find_recipes(list(names), triplets)
    if vectors is None and not has_released_decoys(triplets) and any("qou" in recipe.sets for recipe in recipes):
        raise InputError("QoU decoys need word vectors; name some: --word-vectors FILE, a gensim-data name, or corpus")
    return _build(triplets, recipes, vectors, settings, tell)


def _build(
    triplets: pa.Table,
    recipes: list[Recipe],
    vectors: WordVectors | None,
    settings: Settings,
    progress: Callable[[str, int, int], None],
) -> Iterator[Variant]:
    material = Material.of(triplets, settings)
    made = make_sets(recipes, material, vectors, settings, progress)
    for recipe in recipes:
        choices = Choices(recipe, made, material)
        yield Variant(
            recipe.name,
            split_tables(recipe, choices, material, settings.seed),
            statistics(recipe, choices, made, material),
        )
