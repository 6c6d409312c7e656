"""The sets of decoys, each made once for the whole dataset with a view for every variant, and the rows of configs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys import TARGET, Method, Variant, kind_number, methods
from hf_vqa_mc.decoys.candidates import MISSING, Reason, starts
from hf_vqa_mc.decoys.closed_sets import SET_KINDS
from hf_vqa_mc.decoys.decoy_set import ClosedSets, DecoySet, LeftOut, as_published, empty_set, stacked
from hf_vqa_mc.decoys.fallbacks import take_fallbacks
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.rng import draw, purpose_hash
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.schema import MULTIPLE_CHOICE, SPLITS

_ROWS_PER_BATCH = 50_000
SET_COLUMNS = ("set_id", "set_kind", "set_leak")
ALONE = ""
"""The view of a set that is the only one of its row, or is combined as in the paper."""


@dataclass(frozen=True, eq=False)
class View:
    """A set of decoys as in one config."""

    sizes: NDArray[np.int32]
    """(triplets,): number of decoys wanted"""
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
    """name of the variant, or ALONE, to its view"""
    closed: ClosedSets
    """the closed answer sets, if its decoys form some"""

    def view(self, variant: Variant) -> View:
        """The set as in a variant."""
        return self.views.get(variant.name, self.views[ALONE])


def make_sets(variants: Sequence[Variant], material: Material, progress: Progress) -> dict[str, MadeSet]:
    """All sets that some variants need: first decoys of their kinds, then fallbacks for missing ones.

    With ``combine="distinct"`` a set takes no text that an earlier set of the row holds, and a fallback none that any
    other set holds. So a text shared by two sets is replaced by the later set's next candidate, and a fallback never
    displaces a decoy of its kind.
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

    def others(name: str, view: str) -> NDArray[np.int32]:
        """Keys held so far by the other sets of a view's row, int32 (triplets, decoys)."""
        held = [set_name for set_name in combined[view] if set_name != name and set_name in made]
        picks = [made[set_name].picks[:, views[set_name].index(view)] for set_name in held]
        return material.keys_of(np.concatenate([np.empty((material.size, 0), np.int32), *picks], axis=1))

    taken = [method for method in used if method.column not in material.lists]
    for method in used:
        name = method.name
        if method.column in material.lists:
            made[name] = as_published(material.padded(method.column), len(views[name]))
        else:
            made[name] = empty_set(_sizes(method, variants, material), [others(name, view) for view in views[name]])
            _take(method, made[name], material, progress)
    missing = {name: _why_missing(made[name]) for name in names}
    for method in taken:
        if method.fallback:
            excluded = stacked([others(method.name, view) for view in views[method.name]])
            take_fallbacks(made[method.name]._replace(excluded=excluded), material, method.name)
    return {name: MadeSet(_views(views[name], made[name], missing[name]), made[name].closed) for name in names}


def _sizes(method: Method, variants: Sequence[Variant], material: Material) -> NDArray[np.int32]:
    """Number of decoys of a set for each triplet, int32 (triplets,)."""
    if material.n_decoys is None:
        return np.full(material.size, getattr(material.settings, method.size), np.int32)
    (variant,) = variants
    share, rest = np.divmod(material.n_decoys, len(variant.sets))
    return (share + (rest >= len(variant.sets) - variant.sets.index(method.name))).astype(np.int32)


def _take(method: Method, decoys: DecoySet, material: Material, progress: Progress) -> None:
    """Fill a set with decoys of its kind."""
    if method.take is None:
        raise ValueError(f"decoys of the set {method.name} cannot be generated, only read from files")
    take = resolve_name(method.take) if isinstance(method.take, str) else method.take
    before = 0

    def report(done: int) -> None:
        progress(f"{method.name} decoys", before + done, material.size)

    report(0)
    for pool in material.pools:
        take(decoys, pool, material, report)
        before += len(pool)
        report(0)


def _views(names: list[str], decoys: DecoySet, missing: list[dict[str, int]]) -> dict[str, View]:
    rejected = decoys.rejected.sum(axis=0, dtype=np.int64).tolist()
    return {
        name: View(
            decoys.sizes,
            decoys.picks[:, view],
            decoys.donors[:, view],
            decoys.fallback[:, view],
            {
                why.name.lower(): count
                for why, count in zip(Reason, rejected[view], strict=True)
                if count or why.in_paper
            },
            missing[view],
        )
        for view, name in enumerate(names)
    }


def _why_missing(decoys: DecoySet) -> list[dict[str, int]]:
    """Number of slots of each view without a decoy of the kind, by reason."""
    none, lacking = decoys.considered == 0, np.maximum(decoys.sizes - decoys.considered, 0)
    open_slots = decoys.sizes[:, None] - decoys.found
    return [
        {
            "no candidates": int(missing[none].sum()),
            "fewer candidates than slots": int(np.minimum(missing, lacking)[~none].sum()),
            "rejected by the filters": int(np.maximum(missing - lacking, 0)[~none].sum()),
        }
        for missing in open_slots.T
    ]


class Choices:
    """The choices of all rows of a config before they are shuffled: the target, then the sets' decoys."""

    def __init__(self, variant: Variant, made: dict[str, MadeSet], material: Material) -> None:
        """Concatenate the sets of a variant."""
        views = [made[name].view(variant) for name in variant.sets]
        targets = material.triplets.targets[:, None]
        self.texts: NDArray[np.int32] = np.concatenate([targets, *(view.picks for view in views)], axis=1)
        """(rows, choices): text numbers, MISSING where a decoy is missing"""
        self.fallback = np.concatenate([np.zeros(targets.shape, np.bool_), *(view.fallback for view in views)], axis=1)
        """(rows, choices)"""
        none = np.full(targets.shape, MISSING, np.int32)
        self.donors: NDArray[np.int32] = np.concatenate([none, *(view.donors for view in views)], axis=1)
        """(rows, choices): the triplet whose target a decoy is, MISSING where there is none"""
        widths = [view.picks.shape[1] for view in views]
        kinds = [kind_number(methods()[name][0].name) for name in variant.sets]
        self.kinds = np.repeat([kind_number(TARGET.name), *kinds], [1, *widths])
        """(choices,)"""
        self.keys = material.keys_of(self.texts)
        """(rows, choices): text keys"""
        self.sets = _closed(made[variant.sets[0]]) if variant.closed else None
        """the closed answer sets, if the variant has them"""

    @property
    def included(self) -> NDArray[np.bool_]:
        """(rows,): whether each row is in the config; rows in no closed set are left out."""
        return self.sets.first != MISSING if self.sets else np.ones(len(self.texts), np.bool_)


def _closed(made: MadeSet) -> ClosedSets:
    """The closed answer sets of a method; raises InputError if there are none."""
    sets = made.closed
    if (sets.first == MISSING).all():
        counts = {one: int((sets.left_out == one).sum()) for one in list(LeftOut)[1:]}
        reasons = [f"{count:,} {one.sentence}" for one, count in counts.items() if count]
        limits = ", or a --coverage that keeps more" if counts[LeftOut.LEAK] else ""
        raise InputError(
            f"no closed answer set can be formed of {len(sets.first):,} rows: {'; '.join(reasons)}; use rows with "
            f"more different answers, a smaller set size or another kind of sets{limits}"
        )
    return sets


class Arrangement:
    """The choices of a config in the order in which they are presented; the variant is part of the random seed.

    ``target_first`` is for layouts that store the target separately; the decoys are shuffled all the same.
    """

    def __init__(self, variant: Variant, choices: Choices, material: Material, target_first: bool = False) -> None:
        start, hashes, sets = (
            purpose_hash(material.settings.seed, f"shuffle:{variant.name}"),
            material.triplets.hashes,
            choices.sets,
        )
        self._choices = choices
        names = np.broadcast_to(np.arange(choices.texts.shape[1], dtype=np.int32), choices.texts.shape)
        if sets:  # all rows of a closed set have the same order, so that their labels are all indices
            names, hashes = choices.texts, hashes[sets.first]
        self._order = _shuffled_positions(choices.texts, names, hashes, start)
        self._ids = material.table["question_id"].combine_chunks()
        if target_first:
            decoys = self._order[self._order != 0].reshape(len(self._order), -1)
            self._order = np.concatenate([np.zeros((len(decoys), 1), np.int64), decoys], axis=1)
        self._texts = pa.array(material.candidates.texts, pa.string())

    @property
    def closed(self) -> bool:
        """Whether the rows form closed answer sets."""
        return self._choices.sets is not None

    def put_target_last(self, row: int) -> None:
        """Move a row's target behind its decoys."""
        order = self._order[row]
        size = int((self._choices.texts[row] != MISSING).sum())
        decoys = order[:size][order[:size] != 0]
        self._order[row, :size] = [*decoys, 0]

    def columns(self, rows: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The columns choices, label, choice_kinds, choice_fallback, set_id, set_kind and set_leak of some rows."""
        numbers = self._lists(rows, self._choices.texts, pa.int32())
        return {
            "choices": pa.ListArray.from_arrays(numbers.offsets, self._texts.take(numbers.values)),
            "label": pa.array(np.argmin(self._order[rows], axis=1), pa.int64()),
            "choice_kinds": self._lists(rows, np.broadcast_to(self._choices.kinds, self._order.shape), pa.int64()),
            "choice_fallback": self._lists(rows, self._choices.fallback, pa.bool_()),
            **self._sets(rows),
        }

    def _sets(self, rows: NDArray[np.int64]) -> dict[str, pa.Array]:
        sets = self._choices.sets
        if sets is None:
            none = pa.repeat("", len(rows))
            columns = (none, none, pa.nulls(len(rows), pa.float32()))
        else:
            ids = self._ids.take(pa.array(sets.first[rows]))
            kinds = pa.array(list(SET_KINDS), pa.string()).take(pa.array(sets.kind[rows]))
            columns = (ids, kinds, pa.array(sets.leak[rows], mask=np.isnan(sets.leak[rows])))
        return dict(zip(SET_COLUMNS, columns, strict=True))

    def donors(self, rows: NDArray[np.int64]) -> pa.ListArray:
        """The triplet whose target each choice is, MISSING for the target, fallbacks and published decoys."""
        return self._lists(rows, self._choices.donors, pa.int64())

    def _lists(self, rows: NDArray[np.int64], values: NDArray[Any], kind: pa.DataType) -> pa.ListArray:
        """A list per row of the values (all rows, choices) of its choices."""
        order = self._order[rows]
        valid = np.take_along_axis(self._choices.texts[rows], order, axis=1) != MISSING
        presented = pa.array(np.take_along_axis(values[rows], order, axis=1)[valid], kind)
        return pa.ListArray.from_arrays(pa.array(starts(valid.sum(axis=1)), pa.int32()), presented)


def split_tables(variant: Variant, choices: Choices, material: Material) -> dict[str, pa.Table]:
    """The rows of each split as a table ``schema.MULTIPLE_CHOICE``, in the order of the triplets."""
    arrangement = Arrangement(variant, choices, material)
    splits = material.table["split"].to_numpy()
    tables = {}
    for split in SPLITS:
        rows = np.flatnonzero((splits == split) & choices.included)
        if len(rows):
            tables[split] = pa.Table.from_batches(_batches(rows, arrangement, material), MULTIPLE_CHOICE)
    return tables


def _batches(rows: NDArray[np.int64], arrangement: Arrangement, material: Material) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _ROWS_PER_BATCH):
        part = rows[start : start + _ROWS_PER_BATCH]
        made = arrangement.columns(part)
        kept = material.table.take(pa.array(part)).combine_chunks()
        columns = [made[name] if name in made else kept[name].combine_chunks() for name in MULTIPLE_CHOICE.names]
        yield pa.RecordBatch.from_arrays(columns, schema=MULTIPLE_CHOICE)


@njit(cache=True)
def _shuffled_positions(
    texts: NDArray[np.int32], names: NDArray[np.int32], hashes: NDArray[np.uint64], start: np.uint64
) -> NDArray[np.int64]:
    """A random order of each row's choices, missing decoys last, from the row's hash and the choices' names."""
    order = np.empty(texts.shape, np.int64)
    keys = np.empty(texts.shape[1], np.uint64)
    for row in range(len(texts)):
        for index in range(len(keys)):
            # shifted, so that no key equals that of missing choices
            keys[index] = draw(start, hashes[row], names[row, index]) >> np.uint64(1)
            if texts[row, index] == MISSING:
                keys[index] = np.uint64(0xFFFFFFFFFFFFFFFF)
        order[row] = np.argsort(keys, kind="mergesort")
    return order
