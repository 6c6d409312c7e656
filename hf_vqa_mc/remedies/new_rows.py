"""The rows of a benchmark with new choices, in the benchmark's own layout."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.columns import KINDS, class_names
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, kind_number
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Int64s
from hf_vqa_mc.decoys.indexed_triplets import IndexedTriplets
from hf_vqa_mc.decoys.rows import SET_COLUMNS, RowChoices, arrange


def new_split(
    benchmark: Benchmark,
    split: Split,
    published: pa.Table,
    choices: RowChoices,
    orders: Int64s,
    rows: Int64s,
    indexed: IndexedTriplets,
    origins: pa.Array,
) -> tuple[Split, int]:
    """A split with new choices, and the number of its rows that keep their published ones.

    The split's ``original`` has the benchmark's layout, with kinds, fallbacks and origins of the choices.

    Args:
        benchmark: with the layout.
        split: the split.
        published: its rows with the published choices that may be kept.
        choices: of all triplets.
        orders: in which they are presented, see `choice_orders`.
        rows: the triplet indices of the split's rows.
        indexed: all triplets.
        origins: (triplets,): description of each triplet's target.
    """
    made = arrange(choices, orders, rows, indexed)
    sizes = pc.list_value_length(made["choices"]).to_numpy()
    if benchmark.spec.index_from == 1 and not (made["label"].to_numpy() == sizes - 1).any():
        order = orders[rows[0], : sizes[0]]  # the target goes last, so that the file shows that labels count from 1
        order[:] = [*order[order != 0], 0]
        made = arrange(choices, orders, rows, indexed)
    few = sizes < 2
    kinds = pa.array(list(CHOICE_KINDS)).take(made["choice_kinds"].flatten())
    donors = made["donors"].flatten().to_numpy()
    is_target = pc.equal(made["choice_kinds"].flatten(), kind_number(TARGET.name))
    cases = pc.make_struct(is_target, made["choice_fallback"].flatten(), pa.array(donors == MISSING))
    from_donor = origins.take(pa.array(np.maximum(donors, 0)))
    described = pc.case_when(cases, "target", "fallback", "published", from_donor)
    columns = {
        "choices": made["choices"],
        "label": made["label"],
        "choice_kinds": pa.ListArray.from_arrays(made["choices"].offsets, kinds),
        "choice_fallback": made["choice_fallback"],
        "choice_origins": pa.ListArray.from_arrays(made["choices"].offsets, described),
    }
    if few.any():
        columns = _with_published(columns, published, few)
    columns |= {name: made[name] for name in SET_COLUMNS if choices.sets}
    table = split.rows
    for name in ("choices", "label", "choice_kinds"):
        table = table.set_column(table.schema.get_field_index(name), name, columns[name])
    return replace(split, rows=table, original=written_split(benchmark, split, columns, choices.texts.shape[1])), int(
        few.sum()
    )


def _with_published(columns: dict[str, pa.Array], published: pa.Table, which: Bools) -> dict[str, pa.Array]:
    """The columns with the published choices in some rows."""
    choices, labels = published["choices"].to_pylist(), published["label"].to_pylist()
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for row in np.flatnonzero(which).tolist():
        is_target = [index == labels[row] for index in range(len(choices[row]))]
        lists["choices"][row], lists["label"][row] = choices[row], labels[row]
        lists["choice_kinds"][row] = ["target" if yes else "orig" for yes in is_target]
        lists["choice_fallback"][row] = [False] * len(is_target)
        lists["choice_origins"][row] = ["target" if yes else "published" for yes in is_target]
    return {name: pa.array(lists[name], column.type) for name, column in columns.items()}


def written_split(benchmark: Benchmark, split: Split, columns: Mapping[str, pa.Array], most: int) -> pa.Table:
    """A split in the benchmark's own columns, with new ``choices``, ``label`` and further columns about the choices.

    Args:
        benchmark: with the specification of its columns.
        split: as published.
        columns: (rows,) each.
        most: the maximum number of choices.
    """
    table = benchmark.with_choices(split, columns["choices"], columns["label"].to_pylist())
    # Whether choice_kinds are integers, as in datasets built by this package.
    kind = table.schema.field(KINDS).type if KINDS in table.schema.names else pa.null()
    is_number = pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)
    numbered = bool(is_number) and class_names(table.schema, KINDS) in (None, list(CHOICE_KINDS))
    table = _without_narrow_classes(table, benchmark.spec.columns, most)
    for name, column in columns.items():
        if name in ("choices", "label"):
            continue
        if name == "choice_kinds" and numbered:
            numbers = pc.index_in(column.flatten(), pa.array(list(CHOICE_KINDS))).cast(pa.int64())
            column = pa.ListArray.from_arrays(column.offsets, numbers)
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, table.schema.field(index).with_type(column.type), column)
    return table


def _without_narrow_classes(table: pa.Table, columns: Sequence[str], most: int) -> pa.Table:
    """Replace ClassLabel by int64 if it has fewer than ``most`` classes, and foreign choice_kinds by strings."""
    from datasets import Features, List, Value

    schema = table.schema
    narrow: dict[str, Any] = {
        name: Value("int64")
        for name in columns
        if name in schema.names
        and pa.types.is_integer(schema.field(name).type)
        and len(class_names(schema, name) or [""] * most) < most
    }
    if class_names(schema, KINDS) not in (None, list(CHOICE_KINDS)):
        narrow["choice_kinds"] = List(Value("string"))
    if not narrow:
        return table
    features = Features({**Features.from_arrow_schema(schema), **narrow})
    return table.replace_schema_metadata({**(schema.metadata or {}), **features.arrow_schema.metadata})
