"""The decoys of each method, made once for all variants of a dataset, and the rows of configs."""

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys import TARGET, Method, Variant, kind_number, methods
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Int32s, Int64s, starts
from hf_vqa_mc.decoys.decoy_table import (
    ClosedSets,
    DecoyTable,
    IndexedTriplets,
    LeftOut,
    as_published,
    empty_table,
    stacked,
)
from hf_vqa_mc.decoys.fallbacks import take_fallbacks
from hf_vqa_mc.decoys.kind import SET_KINDS
from hf_vqa_mc.decoys.rng import draw, purpose_hash
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.schema import MULTIPLE_CHOICE, SPLITS

_ROWS_PER_BATCH = 50_000
SET_COLUMNS = ("set_id", "set_kind", "set_leak")
ALONE = ""  # the view of a method that is the only one of its row, or is combined as in the paper


MadeDecoys = dict[str, dict[str, DecoyTable]]
"""Name of the variant, or ALONE, to the single view of each of its methods by name."""


def make_decoys(variants: Sequence[Variant], indexed: IndexedTriplets, progress: Progress) -> MadeDecoys:
    """All decoys that some variants need: first those of their kinds, then fallbacks for missing ones.

    With ``combine="distinct"`` a method takes no text that an earlier one of the row holds, and a fallback none that
    any other method holds. So a text shared by two methods is replaced by the later one's next candidate, and a
    fallback never displaces a decoy of its kind.
    """
    distinct = indexed.settings.combine == "distinct"
    combined = {variant.name: variant.sets for variant in variants if len(variant.sets) > 1 and distinct}
    used = [method for _, method in methods().values() if any(method.name in variant.sets for variant in variants)]
    views = {one.name: [ALONE, *(view for view, sets in combined.items() if one.name in sets)] for one in used}
    tables: dict[str, DecoyTable] = {}

    def others(name: str, view: str) -> Int32s:
        """Keys held so far by the other methods of a view's row, int32 (triplets, decoys)."""
        held = [other for other in combined.get(view, ()) if other != name and other in tables]
        picks = [tables[other].picks[:, views[other].index(view)] for other in held]
        return indexed.keys_of(np.concatenate([np.empty((indexed.size, 0), np.int32), *picks], axis=1))

    for method in used:
        name = method.name
        if method.column in indexed.lists:
            tables[name] = as_published(indexed.padded(method.column), len(views[name]))
            continue
        sizes = np.full(indexed.size, getattr(indexed.settings, method.size), np.int32)
        if indexed.n_decoys is not None:
            (variant,) = variants
            share, rest = np.divmod(indexed.n_decoys, len(variant.sets))
            sizes = (share + (rest >= len(variant.sets) - variant.sets.index(name))).astype(np.int32)
        tables[name] = empty_table(sizes, [others(name, view) for view in views[name]])
        _take(method, tables[name], indexed, progress)
    for method in used:
        if method.fallback and method.column not in indexed.lists:
            table = tables[method.name]
            excluded = stacked([others(method.name, view) for view in views[method.name]])
            take_fallbacks(table._replace(excluded=excluded, found=table.found.copy()), indexed, method.name)
    return {
        view: {name: table.view(views[name].index(view)) for name, table in tables.items() if view in views[name]}
        for view in (ALONE, *combined)
    }


def _take(method: Method, decoys: DecoyTable, indexed: IndexedTriplets, progress: Progress) -> None:
    take, before = method.take if callable(method.take) else resolve_name(str(method.take)), 0

    def report(done: int) -> None:
        progress(f"{method.name} decoys", before + done, indexed.size)

    report(0)
    for pool in indexed.pools:
        take(decoys, pool, indexed, report)
        before += len(pool)
        report(0)


class RowChoices:
    """The choices of all rows of a config before they are shuffled: the target, then the decoys of each method."""

    def __init__(self, variant: Variant, made: MadeDecoys, indexed: IndexedTriplets) -> None:
        self.variant = variant
        self.decoys = {name: made.get(variant.name, made[ALONE])[name] for name in variant.sets}
        self.alone = [made[ALONE][name].picks for name in variant.sets]
        """text numbers of the methods where they are not combined"""
        found, targets = self.decoys.values(), indexed.triplets.targets[:, None]
        none = np.full(targets.shape, MISSING, np.int32)
        self.texts: Int32s = np.concatenate([targets, *(one.picks for one in found)], axis=1)
        """(rows, choices): text numbers, MISSING where a decoy is missing"""
        self.fallback = np.concatenate([none != MISSING, *(one.fallback for one in found)], axis=1)  # (rows, choices)
        self.donors: Int32s = np.concatenate([none, *(one.donors for one in found)], axis=1)
        """(rows, choices): the triplet whose target a decoy is, MISSING where there is none"""
        kinds = [kind_number(methods()[name][0].name) for name in variant.sets]
        self.kinds = np.repeat([kind_number(TARGET.name), *kinds], [1, *(one.picks.shape[1] for one in found)])
        """(choices,)"""
        self.keys = indexed.keys_of(self.texts)  # (rows, choices): text keys
        self.sets = self.decoys[variant.sets[0]].closed if variant.closed else None
        """the closed answer sets, if the variant has them"""
        if self.sets and (self.sets.first == MISSING).all():
            raise InputError(_no_sets(self.sets))

    @property
    def included(self) -> Bools:
        """(rows,): whether each row is in the config; rows in no closed set are left out."""
        return self.sets.first != MISSING if self.sets else np.ones(len(self.texts), np.bool_)


def _no_sets(sets: ClosedSets) -> str:
    counts = {one: int((sets.left_out == one).sum()) for one in list(LeftOut)[1:]}
    reasons = [f"{count:,} {one.sentence}" for one, count in counts.items() if count]
    limits = ", or a --coverage that keeps more" if counts[LeftOut.LEAK] else ""
    return (
        f"no closed answer set can be formed of {len(sets.first):,} rows: {'; '.join(reasons)}; use rows with more "
        f"different answers, a smaller set size or another kind of sets{limits}"
    )


def choice_orders(choices: RowChoices, indexed: IndexedTriplets, target_first: bool = False) -> Int64s:
    """The order in which choices are presented, (rows, choices), missing decoys last; seeded by the variant, too.

    ``target_first`` is for layouts that store the target separately; the decoys are shuffled all the same.
    """
    start = purpose_hash(indexed.settings.seed, f"shuffle:{choices.variant.name}")
    names, hashes = np.broadcast_to(np.arange(choices.texts.shape[1], dtype=np.int32), choices.texts.shape), None
    if choices.sets:  # all rows of a closed set have the same order, so that their labels are all indices
        names, hashes = choices.texts, indexed.triplets.hashes[choices.sets.first]
    orders = _shuffled_positions(choices.texts, names, indexed.triplets.hashes if hashes is None else hashes, start)
    if target_first:
        decoys = orders[orders != 0].reshape(len(orders), -1)
        orders = np.concatenate([np.zeros((len(decoys), 1), np.int64), decoys], axis=1)
    return orders


def arrange(choices: RowChoices, orders: Int64s, rows: Int64s, indexed: IndexedTriplets) -> dict[str, pa.Array]:
    """The columns about the choices of some rows, in the orders of `choice_orders`.

    Also ``donors``: the triplet whose target each choice is, MISSING for the target, fallbacks and published decoys.
    """
    order = orders[rows]
    valid = np.take_along_axis(choices.texts[rows], order, axis=1) != MISSING
    offsets = pa.array(starts(valid.sum(axis=1)), pa.int32())

    def flat(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(np.take_along_axis(values, order, axis=1)[valid], kind)

    of_choices = {
        "choices": indexed.published_texts.take(flat(choices.texts[rows], pa.int32())),
        "choice_kinds": flat(np.broadcast_to(choices.kinds, order.shape), pa.int64()),
        "choice_fallback": flat(choices.fallback[rows], pa.bool_()),
        "donors": flat(choices.donors[rows], pa.int64()),
    }
    if choices.sets is None:
        none = pa.repeat("", len(rows))
        sets = (none, none, pa.nulls(len(rows), pa.float32()))
    else:
        ids = indexed.table["question_id"].combine_chunks().take(pa.array(choices.sets.first[rows]))
        kinds = pa.array(list(SET_KINDS), pa.string()).take(pa.array(choices.sets.kind[rows]))
        leak = choices.sets.leak[rows]
        sets = (ids, kinds, pa.array(leak, mask=np.isnan(leak)))
    return {
        **{name: pa.ListArray.from_arrays(offsets, values) for name, values in of_choices.items()},
        "label": pa.array(np.argmin(order, axis=1), pa.int64()),
        **dict(zip(SET_COLUMNS, sets, strict=True)),
    }


def split_tables(choices: RowChoices, indexed: IndexedTriplets) -> dict[str, pa.Table]:
    """The rows of each split as a table ``schema.MULTIPLE_CHOICE``, in the order of the triplets."""
    orders, splits = choice_orders(choices, indexed), indexed.table["split"].to_numpy()
    tables = {}
    for split in SPLITS:
        rows = np.flatnonzero((splits == split) & choices.included)
        batches = []
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            part = rows[start : start + _ROWS_PER_BATCH]
            made = arrange(choices, orders, part, indexed)
            kept = indexed.table.take(pa.array(part)).combine_chunks()
            columns = [made[name] if name in made else kept[name].combine_chunks() for name in MULTIPLE_CHOICE.names]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=MULTIPLE_CHOICE))
        if batches:
            tables[split] = pa.Table.from_batches(batches, MULTIPLE_CHOICE)
    return tables


@njit(cache=True)
def _shuffled_positions(texts: Int32s, names: Int32s, hashes: NDArray[np.uint64], start: np.uint64) -> Int64s:
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
