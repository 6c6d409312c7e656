"""Declarations of choice kinds, of the methods that make their decoys, and of variants; light to import.

A kind is one file of this package and one line in ``decoys.CHOICE_KINDS``; a package outside ours adds one with
``CHOICE_KINDS.add(ChoiceKind(...))``. Build, card, statistics, previews, audits, remedies and model cards loop over
the listing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hf_vqa_mc.decoys.decoy_set import DecoySet
    from hf_vqa_mc.decoys.material import Material

    Take = Callable[[DecoySet, NDArray[np.int64], Material, Callable[[int], None]], None]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to make the decoys of a kind: one set per row."""

    name: str
    """of the set in variants and statistics, such as ``random_uniform``"""
    label: str
    """in tables of the dataset card"""
    take: "Take | None" = None
    """``take(decoys, pool, material, progress)`` fills ``decoys`` in place for the triplets ``pool`` (int64, sorted),
    which give decoys to one another; ``progress`` takes how many are done. None where decoys are only read."""
    size: str = "decoys_per_set"
    """setting with the number of decoys per row"""
    column: str | None = None
    """list column of the triplet table whose decoys are used as published, where the table has it"""
    needs_word_vectors: bool = False
    fallback: bool = True
    """whether original decoys or frequent targets replace decoys that could not be found"""


@dataclass(frozen=True, kw_only=True)
class ChoiceKind:
    """A kind of choices, a name of the ClassLabel ``choice_kinds``."""

    name: str
    label: str
    """adjective of its decoys: "IoU decoys" """
    colour: str
    """in pictures and light pages, such as ``#2d66b1``"""
    dark_colour: str
    """on a dark page"""
    methods: tuple[Method, ...] = ()
    """the sets of decoys of this kind; none for the target"""
    definition: str = ""
    """of model cards: "IoU decoys are {definition}" """
    fits: str = ""
    """what its decoys fit, for legends: "they fit the image" """
    card: str = ""
    """item of the dataset card's introduction, Markdown"""
    shortage: str = ""
    """why decoys may be missing in a remedied benchmark, and what to do"""

    @property
    def legend(self) -> str:
        """Heading above its choices: "IoU decoys", "correct answer"."""
        return f"{self.label} decoys" if self.methods else self.label


@dataclass(frozen=True)
class Variant:
    """A variant of a dataset: the target and some sets of decoys."""

    name: str
    sets: tuple[str, ...]
    """names of methods, in the order of the row before it is shuffled"""
    description: str
    """what a row holds besides the target"""
    source: str
    """where the paper reports it"""
    remedies: bool = False
    """whether ``vqa-mc remedy`` makes it for other benchmarks"""
