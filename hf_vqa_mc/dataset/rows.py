"""From sets of decoys to the rows of a config."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.dataset.decoy_sets import MadeSet
from hf_vqa_mc.decoys import TARGET, Variant, kind_number, methods
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.rng import draw, purpose_hash
from hf_vqa_mc.schema import MULTIPLE_CHOICE, SPLITS

_ROWS_PER_BATCH = 50_000


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


class Arrangement:
    """The choices of a config in the order in which they are presented.

    Args:
        variant: the config's variant, which is part of the random seed.
        choices: before they are shuffled.
        material: the dataset.
        target_first: for layouts that store the target separately; the decoys are shuffled all the same.
    """

    def __init__(self, variant: Variant, choices: Choices, material: Material, target_first: bool = False) -> None:
        start = purpose_hash(material.settings.seed, f"shuffle:{variant.name}")
        self._choices = choices
        self._order = _shuffled_positions(choices.texts, material.triplets.hashes, start)
        if target_first:
            decoys = self._order[self._order != 0].reshape(len(self._order), -1)
            self._order = np.concatenate([np.zeros((len(decoys), 1), np.int64), decoys], axis=1)
        self._texts = pa.array(material.candidates.texts, pa.string())

    def put_target_last(self, row: int) -> None:
        """Move a row's target behind its decoys."""
        order = self._order[row]
        size = int((self._choices.texts[row] != MISSING).sum())
        decoys = order[:size][order[:size] != 0]
        self._order[row, :size] = [*decoys, 0]

    def columns(self, rows: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The columns choices, label, choice_kinds and choice_fallback of some rows."""
        order, valid = self._shown(rows)
        numbers = np.take_along_axis(self._choices.texts[rows], order, axis=1)[valid]
        fallback = np.take_along_axis(self._choices.fallback[rows], order, axis=1)[valid]
        offsets = _offsets(valid)
        return {
            "choices": pa.ListArray.from_arrays(offsets, self._texts.take(pa.array(numbers))),
            "label": pa.array(np.argmin(order, axis=1), pa.int64()),
            "choice_kinds": pa.ListArray.from_arrays(offsets, pa.array(self._choices.kinds[order][valid], pa.int64())),
            "choice_fallback": pa.ListArray.from_arrays(offsets, pa.array(fallback)),
        }

    def donors(self, rows: NDArray[np.int64]) -> pa.ListArray:
        """The triplet whose target each choice is, MISSING for the target, fallbacks and published decoys."""
        order, valid = self._shown(rows)
        donors = np.take_along_axis(self._choices.donors[rows], order, axis=1)[valid]
        return pa.ListArray.from_arrays(_offsets(valid), pa.array(donors, pa.int64()))

    def _shown(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(rows, choices) each: the choice at each position, and whether it is valid."""
        order = self._order[rows]
        return order, np.take_along_axis(self._choices.texts[rows], order, axis=1) != MISSING


def split_tables(variant: Variant, choices: Choices, material: Material) -> dict[str, pa.Table]:
    """The rows of each split as a table ``schema.MULTIPLE_CHOICE``, in the order of the triplets."""
    arrangement = Arrangement(variant, choices, material)
    splits = material.table["split"].to_numpy()
    tables = {}
    for split in SPLITS:
        rows = np.flatnonzero(splits == split)
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


def _offsets(valid: NDArray[np.bool_]) -> pa.Array:
    return pa.array(starts(valid.sum(axis=1)), pa.int32())


@njit(cache=True)
def _shuffled_positions(texts: NDArray[np.int32], hashes: NDArray[np.uint64], start: np.uint64) -> NDArray[np.int64]:
    """A random order of each row's choices, missing decoys last."""
    order = np.empty(texts.shape, np.int64)
    keys = np.empty(texts.shape[1], np.uint64)
    for row in range(len(texts)):
        for index in range(len(keys)):
            # shifted, so that no key equals that of missing choices
            keys[index] = draw(start, hashes[row], index) >> np.uint64(1)
            if texts[row, index] == MISSING:
                keys[index] = np.uint64(0xFFFFFFFFFFFFFFFF)
        order[row] = np.argsort(keys, kind="mergesort")
    return order
