"""Making the sets of decoys: each once for the whole dataset, with a view for every variant that it is part of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys import Method, Variant, methods
from hf_vqa_mc.decoys.decoy_set import DecoySet, as_published, empty_set, side_by_side
from hf_vqa_mc.decoys.fallbacks import take_fallbacks
from hf_vqa_mc.decoys.filters import REASONS
from hf_vqa_mc.decoys.material import Material

ALONE = ""
"""The view of a set that shares its row with no other set, or is combined as in the paper."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class View:
    """A set of decoys as a config has it."""

    picks: NDArray[np.int32]
    """(triplets, K): text numbers, MISSING where none could be found"""
    donors: NDArray[np.int32]
    """(triplets, K): the triplet whose target each is, MISSING for fallbacks and published decoys"""
    fallback: NDArray[np.bool_]
    """(triplets, K)"""
    turned_away: dict[str, int]
    """how many candidates each filter rejected"""
    missing_why: dict[str, int]
    """for how many slots no decoy of the kind was found, by reason"""


@dataclass(frozen=True, eq=False)
class MadeSet:
    """A set of decoys in all its views."""

    views: dict[str, View]
    """by the name of the variant, or ALONE"""

    def view(self, variant: Variant) -> View:
        """The set as a variant shows it."""
        return self.views.get(variant.name, self.views[ALONE])


def make_sets(variants: Sequence[Variant], material: Material, progress: Progress) -> dict[str, MadeSet]:
    """All sets that some variants need: first decoys of their own kinds, then fallbacks for those that are missing.

    With ``combine="distinct"`` a set takes no text that an earlier set of the row holds, and a fallback none that any
    other set holds. So a text that two sets share is replaced by the later one's next candidate, and a fallback, for
    which any other would do, never displaces a decoy of its kind.

    Args:
        variants: those that will be made.
        material: the dataset.
        progress: takes (step, done, total).
    """
    combined = {ALONE: ()} | {
        variant.name: variant.sets
        for variant in variants
        if len(variant.sets) > 1 and material.settings.combine == "distinct"
    }
    made: dict[str, DecoySet] = {}
    used = [method for _, method in methods().values() if any(method.name in variant.sets for variant in variants)]
    names = [method.name for method in used]
    views = {name: [view for view, sets in combined.items() if view == ALONE or name in sets] for name in names}
    keys = _RowKeys(combined, views, made, material)
    taken = [method for method in used if method.column not in material.lists]
    for method in used:
        name = method.name
        if method.column in material.lists:
            made[name] = as_published(material.padded(method.column), len(views[name]))
        else:
            size = getattr(material.settings, method.size)
            made[name] = empty_set(material.size, size, [keys.others(name, view) for view in views[name]])
            _take(method, made[name], material, progress)
    missing = {name: _why_missing(made[name]) for name in names}
    for method in taken:
        if method.fallback:
            excluded = side_by_side([keys.others(method.name, view) for view in views[method.name]])
            _fall_back(method.name, made[method.name]._replace(excluded=excluded), material)
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


def _take(method: Method, decoys: DecoySet, material: Material, progress: Progress) -> None:
    """Fill a set with decoys of its own kind."""
    if method.take is None:
        raise ValueError(f"decoys of the set {method.name} are only published")
    step, before = f"{method.name} decoys", 0
    progress(step, 0, material.size)
    for pool in material.pools:

        def report(done: int, before: int = before) -> None:
            progress(step, before + done, material.size)

        method.take(decoys, pool, material, report)
        before += len(pool)
        progress(step, before, material.size)


def _fall_back(name: str, decoys: DecoySet, material: Material) -> None:
    """Fill the remaining slots with fallbacks."""
    nothing = (np.empty(0, np.int32), np.zeros(material.size + 1, np.int64))
    settings = material.settings
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
            decoys.picks[:, view],
            decoys.donors[:, view],
            decoys.fallback[:, view],
            dict(zip(REASONS, turned_away[view], strict=True)),
            missing[view],
        )
        for view, name in enumerate(names)
    }


def _why_missing(decoys: DecoySet) -> list[dict[str, int]]:
    """For how many slots of each view no decoy of the kind was found, by reason."""
    size = decoys.picks.shape[2]
    none, lacking = decoys.considered == 0, np.maximum(size - decoys.considered, 0)
    open_slots = size - decoys.found
    return [
        {
            "no candidates": int(missing[none].sum()),
            "fewer candidates than places": int(np.minimum(missing, lacking)[~none].sum()),
            "turned away by the filters": int(np.maximum(missing - lacking, 0)[~none].sum()),
        }
        for missing in open_slots.T
    ]
