"""Kinds of decoys and the variants that combine them, one declaration each, and the procedures that make them.

Importing this package loads declarations only; kernels are loaded when decoys are made.
"""

from hf_vqa_mc.decoys.closed_sets import CLOSED_SET, CLOSED_VARIANTS
from hf_vqa_mc.decoys.kind import (
    IMAGE_ONLY_UNRESOLVABLE,
    ORIGINAL,
    PAPER_VARIANTS,
    QUESTION_ONLY_UNRESOLVABLE,
    RANDOM_TARGETS,
    TARGET,
    ChoiceKind,
    Method,
    Variant,
)
from hf_vqa_mc.listing import Listing

__all__ = ["CHOICE_KINDS", "TARGET", "VARIANTS", "ChoiceKind", "Method", "Variant", "kind_number", "methods"]

CHOICE_KINDS = Listing(
    "choice kind", TARGET, ORIGINAL, IMAGE_ONLY_UNRESOLVABLE, QUESTION_ONLY_UNRESOLVABLE, RANDOM_TARGETS, CLOSED_SET
)
"""In the order of the ClassLabel ``choice_kinds``; sets are made in this order."""

VARIANTS = Listing("variant", *PAPER_VARIANTS, *CLOSED_VARIANTS)
"""In the order in which they are built."""


def methods() -> dict[str, tuple[ChoiceKind, Method]]:
    """Kind and method of each set of decoys by the set's name."""
    return {method.name: (kind, method) for kind in CHOICE_KINDS.values() for method in kind.methods}


def kind_number(name: str) -> int:
    """The integer of a kind in the column ``choice_kinds``."""
    return list(CHOICE_KINDS).index(name)
