"""The variants of a dataset: which sets of decoys each combines."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.schema import ChoiceKind

SET_KINDS = {
    "orig": ChoiceKind.ORIG,
    "iou": ChoiceKind.IOU,
    "qou": ChoiceKind.QOU,
    "random_uniform": ChoiceKind.RANDOM,
    "random_frequency": ChoiceKind.RANDOM,
}
"""The sets of decoys, in the order in which they are made and stand in a row before it is shuffled."""


@dataclass(frozen=True)
class Recipe:
    """A variant: the target and these sets of decoys."""

    name: str
    sets: tuple[str, ...]
    """keys of SET_KINDS"""
    source: str
    """where the paper reports it"""


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("orig", ("orig",), "Sect. 5.2"),
        Recipe("iou", ("iou",), "Sect. 5.2"),
        Recipe("qou", ("qou",), "Sect. 5.2"),
        Recipe("iou_qou", ("iou", "qou"), "Sect. 5.2"),
        Recipe("all", ("orig", "iou", "qou"), "Sect. 5.2"),
        Recipe("random_uniform", ("random_uniform",), "Supplement G"),
        Recipe("random_frequency", ("random_frequency",), "Supplement G"),
        Recipe("orig_random_uniform", ("orig", "random_uniform"), "Supplement G, Table 12 (A)"),
        Recipe("orig_random_frequency", ("orig", "random_frequency"), "Supplement G, Table 12 (B)"),
    )
}


def variants_of(triplets: pa.Table) -> list[str]:
    """The variants that a triplet table can have: those with Orig only where every triplet has published decoys."""
    return [name for name, recipe in RECIPES.items() if "orig" not in recipe.sets or has_published_decoys(triplets)]


def find_recipes(names: list[str], triplets: pa.Table) -> list[Recipe]:
    """The recipes of these names.

    Raises:
        InputError: an unknown name, or one that needs published decoys where there are none.
    """
    for name in names:
        if name not in RECIPES:
            raise unknown_name("variant", name, RECIPES)
        if "orig" in RECIPES[name].sets and not has_published_decoys(triplets):
            raise InputError(
                f"variant {name!r} needs the source's own decoys, which these files do not hold for every question; "
                f"it can have: {', '.join(variants_of(triplets))}"
            )
    return [RECIPES[name] for name in names]


def has_published_decoys(triplets: pa.Table) -> bool:
    """Whether every triplet comes with decoys of its publisher."""
    return bool(pc.min(pc.list_value_length(triplets["orig_decoys"])).as_py())


def has_released_decoys(triplets: pa.Table) -> bool:
    """Whether the IoU and QoU decoys that the paper's authors released were read."""
    return "iou_decoys" in triplets.column_names
