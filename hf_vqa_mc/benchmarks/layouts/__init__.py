"""Layouts of multiple-choice benchmarks: one file and one class each, listed in ``LAYOUTS``.

Other packages add one with ``LAYOUTS.add(TheirLayout)``; see `layouts.layout.Layout`.
"""

import contextlib

from hf_vqa_mc.benchmarks.columns import QUESTION, columns_in_words, named
from hf_vqa_mc.benchmarks.layouts.chat_messages import ChatMessages
from hf_vqa_mc.benchmarks.layouts.choices_and_label import ChoicesAndLabel
from hf_vqa_mc.benchmarks.layouts.layout import AmbiguousLabels, Layout, Tables
from hf_vqa_mc.benchmarks.layouts.target_and_decoys import TargetAndDecoys
from hf_vqa_mc.benchmarks.layouts.text_forms import OptionsInText
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.dataset.loading import NoChoices
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.listing import Listing

LAYOUTS: Listing[type[Layout]] = Listing("layout", ChoicesAndLabel, TargetAndDecoys, ChatMessages)
"""Tried in this order."""
ANSWERED = frozenset(("question_id", "image_id", "question", "answer"))
"""Columns of open-ended questions."""


def find_layout(tables: Tables, split: str, options: BenchmarkOptions, location: str) -> Layout:
    """The first listed layout that fits a split; for the arguments see `Layout.find`.

    Raises:
        InputError: none fits (HiddenLabels: no row has a label; NoChoices: the questions are open-ended), or two
            interpretations disagree.
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
            _check_one_list(found, tables, split, options, location)
            return found
    for failure in failures:
        raise failure
    kind = NoChoices if ANSWERED.issubset(tables[split].column_names) else InputError
    raise kind(
        f"{location}: no choices recognised among the columns {', '.join(map(shown, tables[split].column_names))}; "
        "expected a list of choices, columns such as A, B, C, D, lettered options in the question, "
        f"or a correct answer and its distractors; {OPTIONS}"
    )


def _check_one_list(found: Layout, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> None:
    """Raise InputError if another column holds options too, unless the user named the choices."""
    if options.choices is not None:
        return
    table = tables[split]
    names = [options.question] if options.question else named(table.column_names, QUESTION)
    others = [name for name in names if name not in found.columns and OptionsInText.of(table, name)]
    if not isinstance(found, ChatMessages):
        with contextlib.suppress(InputError):  # other conversations
            chat = ChatMessages.find(tables, split, options, location)
            others += chat.columns if chat else ()
    for other in others:
        raise InputError(
            f"{location}: choices are in {columns_in_words(found.columns)}, and options in {other}, too, which would "
            f"keep the old choices; choose one with --choices"
        )
