"""Making the sets of decoys: each once for the whole dataset, with a view for every variant that it is part of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.dataset.prepared import Material
from hf_vqa_mc.dataset.recipes import SET_KINDS, Recipe
from hf_vqa_mc.dataset.settings import Settings
from hf_vqa_mc.decoys.decoy_set import DecoySet, as_published, empty_set, side_by_side
from hf_vqa_mc.decoys.fallbacks import take_fallbacks
from hf_vqa_mc.decoys.filters import REASONS
from hf_vqa_mc.decoys.image_only_unresolvable import take_image_decoys
from hf_vqa_mc.decoys.question_groups import group_questions
from hf_vqa_mc.decoys.question_only_unresolvable import take_question_decoys
from hf_vqa_mc.decoys.random_targets import take_random_decoys
from hf_vqa_mc.text.word_vectors import WordVectors

ALONE = ""
"""The view of a set that shares its row with no other set, or is combined as in the paper."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class View:
    """A set of decoys as it appears in a config."""

    picks: NDArray[np.int32]
    """(triplets, K): text numbers, MISSING where none could be found"""
    donors: NDArray[np.int32]
    """(triplets, K): the triplet whose target each is, MISSING for fall-backs and published decoys"""
    fallback: NDArray[np.bool_]
    """(triplets, K)"""
    turned_away: dict[str, int]
    """how many candidates each filter turned away"""
    missing_why: dict[str, int]
    """for how many places no decoy of the kind was found, by reason"""


@dataclass(frozen=True, eq=False)
class MadeSet:
    """A set of decoys in all its views."""

    views: dict[str, View]
    """by the name of the variant, or ALONE"""

    def view(self, recipe: Recipe) -> View:
        """The set as a variant shows it."""
        return self.views.get(recipe.name, self.views[ALONE])


def make_sets(
    recipes: Sequence[Recipe],
    material: Material,
    vectors: WordVectors | None,
    settings: Settings,
    progress: Progress,
) -> dict[str, MadeSet]:
    """All sets that some recipes need: first decoys of their own kinds, then fall-backs for those that are missing.

    With ``combine="distinct"`` a set takes no text that an earlier set of the row holds, and a fall-back none that any
    other does. So a text that two sets share is replaced by the later one's next candidate, and a fall-back, which
    would do as well as another, never takes the place of a decoy that was looked for.

    Args:
        recipes: the variants that will be made.
        material: the dataset.
        vectors: for QoU decoys; may be None where none are made.
        settings: the method's parameters.
        progress: told (step, done, total).
    """
    combined = {ALONE: ()} | {
        recipe.name: recipe.sets for recipe in recipes if len(recipe.sets) > 1 and settings.combine == "distinct"
    }
    made: dict[str, DecoySet] = {}
    names = [name for name in SET_KINDS if any(name in recipe.sets for recipe in recipes)]
    views = {name: [view for view, sets in combined.items() if view == ALONE or name in sets] for name in names}
    keys = _RowKeys(combined, views, made, material)
    for name in names:
        if f"{name}_decoys" in material.lists:
            made[name] = as_published(material.padded(f"{name}_decoys"), len(views[name]))
            continue
        size = settings.n_random if name.startswith("random") else settings.decoys_per_set
        made[name] = empty_set(material.size, size, [keys.others(name, view) for view in views[name]])
        _take(name, made[name], material, vectors, settings, progress)
    missing = {name: _why_missing(made[name]) for name in names}
    for name in names:
        if f"{name}_decoys" not in material.lists:
            excluded = side_by_side([keys.others(name, view) for view in views[name]])
            _stand_in(name, made[name]._replace(excluded=excluded), material, settings)
    return {name: MadeSet(_views(views[name], made[name], missing[name])) for name in names}


@dataclass(frozen=True, eq=False)
class _RowKeys:
    """Which keys the sets of a row hold."""

    combined: dict[str, tuple[str, ...]]
    views: dict[str, list[str]]
    made: dict[str, DecoySet]
    material: Material

    def others(self, name: str, view: str) -> NDArray[np.int32]:
        """The keys that the other sets of a view's row hold so far, int32 (triplets, places)."""
        picks = [
            self.made[other].picks[:, self.views[other].index(view)]
            for other in self.combined[view]
            if other != name and other in self.made
        ]
        none = np.empty((self.material.size, 0), np.int32)
        return self.material.keys_of(np.concatenate(picks, axis=1)) if picks else none


def _take(
    name: str,
    decoys: DecoySet,
    material: Material,
    vectors: WordVectors | None,
    settings: Settings,
    progress: Progress,
) -> None:
    """Fills a set with decoys of its own kind."""
    step = f"{name} decoys"
    tables = material.candidates.tables
    progress(step, 0, material.size)
    before = 0
    for pool in material.pools:
        if name == "iou":
            take_image_decoys(decoys, pool, material.triplets, tables, settings.seed)
        elif name == "qou":
            if vectors is None:
                raise ValueError("QoU decoys need word vectors")
            groups = group_questions(material.table["question"].take(pool).to_pylist(), vectors)

            def tell(done: int, before: int = before) -> None:
                progress(step, before + done, material.size)

            ties_seed = settings.seed if settings.ties == "random" else None
            take_question_decoys(decoys, pool, groups, material.triplets, tables, settings.n_similar, tell, ties_seed)
        else:
            by_frequency = name == "random_frequency"
            take_random_decoys(decoys, pool, material.triplets, material.candidates, settings.seed, by_frequency)
        before += len(pool)
        progress(step, before, material.size)


def _stand_in(name: str, decoys: DecoySet, material: Material, settings: Settings) -> None:
    """Lets fall-backs stand in for what is missing."""
    nothing = (np.empty(0, np.int32), np.zeros(material.size + 1, np.int64))
    take_fallbacks(
        decoys,
        material.triplets,
        material.candidates.tables,
        material.lists.get("orig_decoys", nothing) if settings.fallback_orig else nothing,
        material.frequent,
        material.text_hashes,
        settings.seed,
        name,
        settings.filter_fallback,
    )


def _views(names: list[str], decoys: DecoySet, missing: list[dict[str, int]]) -> dict[str, View]:
    turned_away = decoys.turned_away.sum(axis=0, dtype=np.int64).tolist()
    return {
        name: View(
            decoys.picks[:, place],
            decoys.donors[:, place],
            decoys.fallback[:, place],
            dict(zip(REASONS, turned_away[place], strict=True)),
            missing[place],
        )
        for place, name in enumerate(names)
    }


def _why_missing(decoys: DecoySet) -> list[dict[str, int]]:
    """For how many places of each view no decoy of the kind was found, by reason."""
    size = decoys.picks.shape[2]
    none, lacking = decoys.considered == 0, np.maximum(size - decoys.considered, 0)
    places = size - decoys.found
    return [
        {
            "no candidates": int(missing[none].sum()),
            "fewer candidates than places": int(np.minimum(missing, lacking)[~none].sum()),
            "turned away by the filters": int(np.maximum(missing - lacking, 0)[~none].sum()),
        }
        for missing in places.T
    ]
