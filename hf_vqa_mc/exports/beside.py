"""What a benchmark has beside question, choices and label: what goes out with a question, and what is left behind."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.benchmarks.cells import as_text, is_text
from hf_vqa_mc.benchmarks.columns import IMAGE, IMAGE_PATH, named, picture_columns

CONTEXT = ("hint", "context", "passage")
"""Columns that are read before the question, by their names; of several the first in this order goes out."""
GROUP = "l2-category"
"""VLMEvalKit's name of the larger group that a category is of."""
_PICTURES = (*IMAGE, *IMAGE_PATH)


@dataclass(frozen=True)
class Beside:
    """The columns of a split beside its question."""

    contexts: list[str]
    """of each row what is read before the question, "" where there is nothing"""
    context_column: str
    """where they are from, "" where the benchmark has no such column"""
    groups: list[str]
    """of each row its ``l2-category``; empty where the benchmark has no such column"""
    left_out: list[str]
    """columns of which nothing goes out"""

    def notes(self, *, as_hint: bool) -> list[str]:
        """What happened to the columns, each a sentence.

        Args:
            as_hint: VLMEvalKit's columns are written: ``hint``, and ``l2-category``.
        """
        notes = []
        if self.context_column:
            where = "as the column hint" if as_hint else "as Context"
            notes.append(f"column {self.context_column} goes before the question, {where}")
        left = [*self.left_out, *([] if as_hint or not self.groups else [GROUP])]
        if left:
            notes.append(f"columns of the benchmark that are left out: {', '.join(left)}")
        return notes


def read_beside(benchmark: Benchmark) -> Beside:
    """The columns beside the question of the asked split.

    A context goes out only if it is text, and neither tells choices or label nor is the question itself.
    """
    split = benchmark.test
    table, rows = split.original, split.rows
    names = table.column_names
    told = set(benchmark.layout.columns)
    shown = told | set(named(names, _PICTURES)) | set(picture_columns(names))
    shown |= {name for name in names if _is_file(table[name].type)}
    exported = [rows[name].combine_chunks() for name in ("question_id", "image_id", "question", "question_type")]
    shown |= {name for name in names if name not in shown and _is_one_of(table[name], exported)}
    contexts = [name for name in named(names, CONTEXT) if name not in shown and _has_text(table[name])]
    groups = [name for name in named(names, ("l2category",)) if name not in told and _has_text(table[name])]
    kept = {*contexts[:1], *groups[:1]}
    return Beside(
        contexts=_texts(table[contexts[0]]) if contexts else [""] * rows.num_rows,
        context_column=contexts[0] if contexts else "",
        groups=_texts(table[groups[0]]) if groups else [],
        left_out=[name for name in names if name not in shown | kept],
    )


def _is_file(kind: pa.DataType) -> bool:
    """Whether cells of this type are files, as of images."""
    if pa.types.is_struct(kind):
        return bool(kind.get_field_index("bytes") >= 0)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _has_text(column: pa.ChunkedArray) -> bool:
    return is_text(column.type) and any(_texts(column))


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The cells, "" for those in which a file tells that there is nothing."""
    cells = (cell or "" for cell in as_text(column).to_pylist())
    return ["" if cell.strip().lower() in ("", "nan") else cell for cell in cells]


def _is_one_of(column: pa.ChunkedArray, exported: list[pa.Array]) -> bool:
    """Whether a column says just what goes out in any case, such as the question or its id."""
    kind = column.type
    if not (is_text(kind) or pa.types.is_integer(kind)):
        return False
    cells = pc.fill_null(as_text(column), "")
    return any(cells.equals(one) for one in exported)
