"""From sets of decoys to the rows of a config."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.chance import draw, purpose_hash
from hf_vqa_mc.schema import MULTIPLE_CHOICE, SPLITS, ChoiceKind
from hf_vqa_mc.variants.material import Material
from hf_vqa_mc.variants.recipes import SET_KINDS, Recipe
from hf_vqa_mc.variants.sets import MadeSet

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
        widths = [view.picks.shape[1] for view in views]
        kinds = [int(SET_KINDS[name]) for name in recipe.sets]
        self.kinds = np.repeat([int(ChoiceKind.TARGET), *kinds], [1, *widths])
        """(places,)"""
        self.keys = material.keys_of(self.texts)
        """(rows, places): text keys"""


def split_tables(recipe: Recipe, choices: Choices, material: Material, seed: int) -> dict[str, pa.Table]:
    """The rows of each split as a table ``schema.MULTIPLE_CHOICE``, in the order of the triplets."""
    order = _shuffled_places(choices.texts, material.triplets.hashes, purpose_hash(seed, f"shuffle:{recipe.name}"))
    texts = pa.array(material.candidates.texts, pa.string())
    splits = material.table["split"].to_numpy()
    tables = {}
    for split in SPLITS:
        rows = np.flatnonzero(splits == split)
        if len(rows):
            tables[split] = pa.Table.from_batches(_batches(rows, order, choices, texts, material), MULTIPLE_CHOICE)
    return tables


def _batches(
    rows: NDArray[np.int64], order: NDArray[np.int64], choices: Choices, texts: pa.Array, material: Material
) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _ROWS_AT_A_GO):
        part = rows[start : start + _ROWS_AT_A_GO]
        places = order[part]
        numbers = np.take_along_axis(choices.texts[part], places, axis=1)
        there = numbers != MISSING
        starts = pa.array(np.concatenate([[0], np.cumsum(there.sum(axis=1))]), pa.int32())
        fallback = np.take_along_axis(choices.fallback[part], places, axis=1)
        made = {
            "choices": pa.ListArray.from_arrays(starts, texts.take(pa.array(numbers[there]))),
            "label": pa.array(np.argmin(places, axis=1), pa.int64()),
            "choice_kinds": pa.ListArray.from_arrays(starts, pa.array(choices.kinds[places][there], pa.int64())),
            "choice_fallback": pa.ListArray.from_arrays(starts, pa.array(fallback[there])),
        }
        kept = material.table.take(pa.array(part)).combine_chunks()
        columns = [made[name] if name in made else kept[name].combine_chunks() for name in MULTIPLE_CHOICE.names]
        yield pa.RecordBatch.from_arrays(columns, schema=MULTIPLE_CHOICE)


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
