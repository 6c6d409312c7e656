"""Making the sets of decoys: each once for the whole dataset, with a view for every variant that contains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys import Method, Variant, methods
from hf_vqa_mc.decoys.decoy_set import DecoySet, as_published, empty_set, stacked
from hf_vqa_mc.decoys.fallbacks import take_fallbacks
from hf_vqa_mc.decoys.filters import REASONS
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.io.progress import Progress

ALONE = ""
"""The view of a set that is the only one of its row, or is combined as in the paper."""


@dataclass(frozen=True, eq=False)
class View:
    """A set of decoys as in one config."""

    picks: NDArray[np.int32]
    """(triplets, K): text numbers, MISSING where none could be found"""
    donors: NDArray[np.int32]
    """(triplets, K): the triplet whose target each is, MISSING for fallbacks and published decoys"""
    fallback: NDArray[np.bool_]
    """(triplets, K): whether each is a fallback"""
    rejected: dict[str, int]
    """number of candidates rejected by each filter"""
    missing_why: dict[str, int]
    """number of slots without a decoy of the kind, by reason"""


@dataclass(frozen=True, eq=False)
class MadeSet:
    """A set of decoys in all its views."""

    views: dict[str, View]
    """by the name of the variant, or ALONE"""

    def view(self, variant: Variant) -> View:
        """The set as in a variant."""
        return self.views.get(variant.name, self.views[ALONE])


def make_sets(variants: Sequence[Variant], material: Material, progress: Progress) -> dict[str, MadeSet]:
    """All sets that some variants need: first decoys of their kinds, then fallbacks for missing ones.

    With ``combine="distinct"`` a set takes no text that an earlier set of the row holds, and a fallback none that any
    other set holds. So a text shared by two sets is replaced by the later set's next candidate, and a fallback never
    displaces a decoy of its kind.

    Args:
        variants: variants to make.
        material: the dataset.
        progress: called with (step, done, total).
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
            excluded = stacked([keys.others(method.name, view) for view in views[method.name]])
            take_fallbacks(made[method.name]._replace(excluded=excluded), material, method.name)
    return {name: MadeSet(_views(views[name], made[name], missing[name])) for name in names}


@dataclass(frozen=True, eq=False)
class _RowKeys:
    """The keys held by the sets of a row."""

    combined: dict[str, tuple[str, ...]]
    views: dict[str, list[str]]
    made: dict[str, DecoySet]
    material: Material

    def others(self, name: str, view: str) -> NDArray[np.int32]:
        """Keys held so far by the other sets of a view's row, int32 (triplets, decoys)."""
        picks = [
            self.made[other].picks[:, self.views[other].index(view)]
            for other in self.combined[view]
            if other != name and other in self.made
        ]
        none = np.empty((self.material.size, 0), np.int32)
        return self.material.keys_of(np.concatenate(picks, axis=1)) if picks else none


def _take(method: Method, decoys: DecoySet, material: Material, progress: Progress) -> None:
    """Fill a set with decoys of its kind."""
    if method.take is None:
        raise ValueError(f"decoys of the set {method.name} can only be read")
    take = resolve_name(method.take) if isinstance(method.take, str) else method.take
    report = partial(progress, f"{method.name} decoys")
    before = 0
    report(0, material.size)
    for pool in material.pools:

        def report_pool(done: int, before: int = before) -> None:
            report(before + done, material.size)

        take(decoys, pool, material, report_pool)
        before += len(pool)
        report(before, material.size)


def _views(names: list[str], decoys: DecoySet, missing: list[dict[str, int]]) -> dict[str, View]:
    rejected = decoys.rejected.sum(axis=0, dtype=np.int64).tolist()
    return {
        name: View(
            decoys.picks[:, view],
            decoys.donors[:, view],
            decoys.fallback[:, view],
            dict(zip(REASONS, rejected[view], strict=True)),
            missing[view],
        )
        for view, name in enumerate(names)
    }


def _why_missing(decoys: DecoySet) -> list[dict[str, int]]:
    """Number of slots of each view without a decoy of the kind, by reason."""
    size = decoys.picks.shape[2]
    none, lacking = decoys.considered == 0, np.maximum(size - decoys.considered, 0)
    open_slots = size - decoys.found
    return [
        {
            "no candidates": int(missing[none].sum()),
            "fewer candidates than slots": int(np.minimum(missing, lacking)[~none].sum()),
            "rejected by the filters": int(np.maximum(missing - lacking, 0)[~none].sum()),
        }
        for missing in open_slots.T
    ]
