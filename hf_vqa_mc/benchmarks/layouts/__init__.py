"""Layouts of multiple-choice benchmarks: one file and one class each, listed in ``LAYOUTS``.

Other packages add one with ``LAYOUTS.add(TheirLayout)``; see `layouts.layout.Layout`.
"""

from hf_vqa_mc.benchmarks.layouts.choices_and_label import ChoicesAndLabel
from hf_vqa_mc.benchmarks.layouts.layout import AmbiguousLabels, Layout, Tables
from hf_vqa_mc.benchmarks.layouts.target_and_decoys import TargetAndDecoys
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.listing import Listing

LAYOUTS: Listing[type[Layout]] = Listing("layout", ChoicesAndLabel, TargetAndDecoys)
"""Tried in this order."""


def find_layout(tables: Tables, split: str, options: BenchmarkOptions, location: str) -> Layout:
    """The first listed layout that fits a split; arguments as of `Layout.find`.

    Raises:
        InputError: none fits (HiddenLabels: no row has a label), or two interpretations disagree.
    """
    failures: list[InputError] = []
    for layout in LAYOUTS.values():
        try:
            found = layout.find(tables, split, options, location)
        except AmbiguousLabels:
            raise
        except InputError as error:
            failures.append(error)
            continue
        if found is not None:
            return found
    for failure in failures:
        raise failure
    raise InputError(
        f"{location}: no choices recognised among the columns {', '.join(map(shown, tables[split].column_names))}; "
        f"expected a list of choices, columns such as A, B, C, D, or a right answer and its distractors; {OPTIONS}"
    )
