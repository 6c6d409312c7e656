"""Kinds of decoys and the variants that combine them, one declaration each, and the procedures that make them.

Importing this package loads declarations only; kernels are loaded when decoys are made.
"""

from hf_vqa_mc.decoys.kind import CHOICE_KINDS, TARGET, VARIANTS, ChoiceKind, Method, Variant, kind_number, methods

__all__ = ["CHOICE_KINDS", "TARGET", "VARIANTS", "ChoiceKind", "Method", "Variant", "kind_number", "methods"]
