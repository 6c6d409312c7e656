"""Declarations of choice kinds, of the methods that make their decoys, and of variants; fast to import.

A kind is one line in ``decoys.CHOICE_KINDS``; other packages add one with ``CHOICE_KINDS.add(ChoiceKind(...))``.
Build, card, statistics, previews, audits, remedies and model cards loop over the listing.
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
    """A way to make decoys of a kind: one set per row."""

    name: str
    """of the set in variants and statistics, such as ``random_uniform``"""
    label: str
    """in tables of the dataset card"""
    take: "Take | str | None" = None
    """``take(decoys, pool, material, progress)`` fills ``decoys`` in place for the triplets ``pool`` (int64, sorted),
    which are donors for one another, and calls ``progress`` with the number of triplets done; or its
    ``package.module:name``, imported when needed. None for decoys that can only be read."""
    size: str = "decoys_per_set"
    """setting with the number of decoys per row"""
    column: str | None = None
    """list column of the triplet table; if present, its decoys are used unchanged"""
    needs_word_vectors: bool = False
    fallback: bool = True
    """whether missing decoys are replaced by original decoys or frequent targets"""


@dataclass(frozen=True, kw_only=True)
class ChoiceKind:
    """A kind of choices, a class of the ClassLabel ``choice_kinds``."""

    name: str
    label: str
    """adjective of its decoys: "IoU decoys" """
    colour: str
    """in pictures and on light pages, such as ``#2d66b1``"""
    dark_colour: str
    """on dark pages"""
    methods: tuple[Method, ...] = ()
    """the sets of decoys of this kind; none for the target"""
    definition: str = ""
    """for model cards: "IoU decoys are {definition}" """
    fits: str = ""
    """what its decoys fit, for legends: "they fit the image" """
    card: str = ""
    """list item of the dataset card's introduction, in Markdown"""
    shortage: str = ""
    """why decoys may be missing in a remedied benchmark, and the remedy"""

    @property
    def legend(self) -> str:
        """Heading above its choices: "IoU decoys", "correct answer"."""
        return f"{self.label} decoys" if self.methods else self.label


@dataclass(frozen=True)
class Variant:
    """A variant of a dataset: the target and some sets of decoys."""

    name: str
    sets: tuple[str, ...]
    """names of methods, in the order of a row before it is shuffled"""
    description: str
    """content of a row other than the target"""
    source: str
    """section or table of the paper"""
    remedies: bool = False
    """whether ``vqa-mc remedy`` offers it for other benchmarks"""
