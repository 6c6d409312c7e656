"""From sets of decoys to the rows of a config."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.dataset.decoy_sets import MadeSet
from hf_vqa_mc.dataset.prepared import Material
from hf_vqa_mc.dataset.recipes import SET_KINDS, Recipe
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.rng import draw, purpose_hash
from hf_vqa_mc.schema import MULTIPLE_CHOICE, SPLITS, ChoiceKind

_ROWS_AT_A_GO = 50_000


class Choices:
    """The choices of all rows of a config before they are shuffled: the target, then the sets' decoys."""

    def __init__(self, recipe: Recipe, made: dict[str, MadeSet], material: Material) -> None:
        """Puts the sets of a recipe side by side."""
        views = [made[name].view(recipe) for name in recipe.sets]
        targets = material.triplets.targets[:, None]
        self.texts: NDArray[np.int32] = np.concatenate([targets, *(view.picks for view in views)], axis=1)
        """(rows, places): text numbers, MISSING where a decoy is missing"""
        self.fallback = np.concatenate([np.zeros(targets.shape, np.bool_), *(view.fallback for view in views)], axis=1)
        """(rows, places)"""
        none = np.full(targets.shape, MISSING, np.int32)
        self.donors: NDArray[np.int32] = np.concatenate([none, *(view.donors for view in views)], axis=1)
        """(rows, places): the triplet whose target a decoy is, MISSING where there is none"""
        widths = [view.picks.shape[1] for view in views]
        kinds = [int(SET_KINDS[name]) for name in recipe.sets]
        self.kinds = np.repeat([int(ChoiceKind.TARGET), *kinds], [1, *widths])
        """(places,)"""
        self.keys = material.keys_of(self.texts)
        """(rows, places): text keys"""


class Arrangement:
    """The choices of a config in the order in which they are shown.

    Args:
        recipe: the variant.
        choices: before they are shuffled.
        material: the dataset.
        seed: of the order.
        target_first: for layouts that tell the target by itself; the decoys are in random order all the same.
    """

    def __init__(
        self, recipe: Recipe, choices: Choices, material: Material, seed: int, target_first: bool = False
    ) -> None:
        chance = purpose_hash(seed, f"shuffle:{recipe.name}")
        self._choices = choices
        self._order = _shuffled_places(choices.texts, material.triplets.hashes, chance)
        if target_first:
            decoys = self._order[self._order != 0].reshape(len(self._order), -1)
            self._order = np.concatenate([np.zeros((len(decoys), 1), np.int64), decoys], axis=1)
        self._texts = pa.array(material.candidates.texts, pa.string())

    def put_target_last(self, row: int) -> None:
        """Moves a row's target behind its decoys."""
        order = self._order[row]
        there = int((self._choices.texts[row] != MISSING).sum())
        decoys = order[:there][order[:there] != 0]
        self._order[row, :there] = [*decoys, 0]

    def columns(self, rows: NDArray[np.int64]) -> dict[str, pa.Array]:
        """What some rows show: the columns of ``schema.MULTIPLE_CHOICE`` that are made here."""
        places, there = self._shown(rows)
        numbers = np.take_along_axis(self._choices.texts[rows], places, axis=1)[there]
        fallback = np.take_along_axis(self._choices.fallback[rows], places, axis=1)[there]
        starts = _list_starts(there)
        return {
            "choices": pa.ListArray.from_arrays(starts, self._texts.take(pa.array(numbers))),
            "label": pa.array(np.argmin(places, axis=1), pa.int64()),
            "choice_kinds": pa.ListArray.from_arrays(starts, pa.array(self._choices.kinds[places][there], pa.int64())),
            "choice_fallback": pa.ListArray.from_arrays(starts, pa.array(fallback)),
        }

    def donors(self, rows: NDArray[np.int64]) -> pa.ListArray:
        """The triplet whose target each choice is, MISSING for the target, fall-backs and published decoys."""
        places, there = self._shown(rows)
        donors = np.take_along_axis(self._choices.donors[rows], places, axis=1)[there]
        return pa.ListArray.from_arrays(_list_starts(there), pa.array(donors, pa.int64()))

    def _shown(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(rows, places) each: the choice that stands there, and whether there is one."""
        places = self._order[rows]
        return places, np.take_along_axis(self._choices.texts[rows], places, axis=1) != MISSING


def split_tables(recipe: Recipe, choices: Choices, material: Material, seed: int) -> dict[str, pa.Table]:
    """The rows of each split as a table ``schema.MULTIPLE_CHOICE``, in the order of the triplets."""
    arrangement = Arrangement(recipe, choices, material, seed)
    splits = material.table["split"].to_numpy()
    tables = {}
    for split in SPLITS:
        rows = np.flatnonzero(splits == split)
        if len(rows):
            tables[split] = pa.Table.from_batches(_batches(rows, arrangement, material), MULTIPLE_CHOICE)
    return tables


def _batches(rows: NDArray[np.int64], arrangement: Arrangement, material: Material) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _ROWS_AT_A_GO):
        part = rows[start : start + _ROWS_AT_A_GO]
        made = arrangement.columns(part)
        kept = material.table.take(pa.array(part)).combine_chunks()
        columns = [made[name] if name in made else kept[name].combine_chunks() for name in MULTIPLE_CHOICE.names]
        yield pa.RecordBatch.from_arrays(columns, schema=MULTIPLE_CHOICE)


def _list_starts(there: NDArray[np.bool_]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(there.sum(axis=1))]), pa.int32())


@njit(cache=True)
def _shuffled_places(texts: NDArray[np.int32], hashes: NDArray[np.uint64], chance: np.uint64) -> NDArray[np.int64]:
    """A random order of each row's places, those without a decoy last."""
    order = np.empty(texts.shape, np.int64)
    keys = np.empty(texts.shape[1], np.uint64)
    for row in range(len(texts)):
        for place in range(len(keys)):
            # dropping the lowest bit leaves a value that no choice has to those that are missing
            keys[place] = draw(chance, hashes[row], place) >> np.uint64(1)
            if texts[row, place] == MISSING:
                keys[place] = np.uint64(0xFFFFFFFFFFFFFFFF)
        order[row] = np.argsort(keys, kind="mergesort")
    return order
