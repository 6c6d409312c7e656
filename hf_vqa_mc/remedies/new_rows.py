"""The remedied rows of a split, and how they are written in the benchmark's own layout."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.dataset.rows import Arrangement
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, kind_number
from hf_vqa_mc.decoys.candidates import MISSING


def new_split(
    benchmark: Benchmark, split: Split, arrangement: Arrangement, rows: NDArray[np.int64], origins: pa.Array, most: int
) -> tuple[Split, int]:
    """A split with the choices arranged for it, and how many of its rows keep their published choices.

    Args:
        benchmark: as published.
        split: of it.
        arrangement: of all triplets.
        rows: the triplets of this split's rows.
        origins: (triplets,) description of the origin of each triplet's target.
        most: choices of a row, at most.

    Returns:
        The split; ``original`` is in the benchmark's own layout, with kinds, fallbacks and origins of the choices.
    """
    made = arrangement.columns(rows)
    if benchmark.layout.index_from == 1 and not _some_target_last(made):
        arrangement.put_target_last(int(rows[0]))  # else the file does not show that labels count from 1
        made = arrangement.columns(rows)
    few = pc.list_value_length(made["choices"]).to_numpy() < 2
    kinds = pa.array(list(CHOICE_KINDS)).take(made["choice_kinds"].flatten())
    described = _choice_origins(made, arrangement.donors(rows), origins)
    columns = {
        "choices": made["choices"],
        "label": made["label"],
        "choice_kinds": pa.ListArray.from_arrays(made["choices"].offsets, kinds),
        "choice_fallback": made["choice_fallback"],
        "choice_origins": pa.ListArray.from_arrays(made["choices"].offsets, described),
    }
    if few.any():
        columns = _with_published(columns, split, few)
    table = split.rows
    for name in ("choices", "label", "choice_kinds"):
        table = table.set_column(table.schema.get_field_index(name), name, columns[name])
    return replace(split, rows=table, original=_written(benchmark, split, columns, most)), int(few.sum())


def _some_target_last(made: Mapping[str, pa.Array]) -> bool:
    sizes = pc.list_value_length(made["choices"]).to_numpy()
    return bool((made["label"].to_numpy() == sizes - 1).any())


def _choice_origins(made: Mapping[str, pa.Array], donors: pa.ListArray, origins: pa.Array) -> pa.Array:
    """A description of each choice's origin."""
    numbers = donors.flatten().to_numpy()
    from_donor = origins.take(pa.array(np.maximum(numbers, 0)))
    fallback = made["choice_fallback"].flatten()
    is_target = pc.equal(made["choice_kinds"].flatten(), kind_number(TARGET.name))
    cases = pc.make_struct(is_target, fallback, pa.array(numbers == MISSING))
    return pc.case_when(cases, "target", "fall-back", "published", from_donor)


def _with_published(columns: dict[str, pa.Array], split: Split, which: NDArray[np.bool_]) -> dict[str, pa.Array]:
    """Some rows with their published choices instead."""
    choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for row in np.flatnonzero(which).tolist():
        is_target = [index == labels[row] for index in range(len(choices[row]))]
        lists["choices"][row], lists["label"][row] = choices[row], labels[row]
        lists["choice_kinds"][row] = ["target" if yes else "orig" for yes in is_target]
        lists["choice_fallback"][row] = [False] * len(is_target)
        lists["choice_origins"][row] = ["target" if yes else "published" for yes in is_target]
    return {name: pa.array(lists[name], column.type) for name, column in columns.items()}


def _written(benchmark: Benchmark, split: Split, columns: Mapping[str, pa.Array], most: int) -> pa.Table:
    """The split in the benchmark's own layout, with kinds, fallbacks and origins of the new choices."""
    table = benchmark.with_choices(split, columns["choices"], columns["label"].to_pylist())
    numbered = _kinds_are_numbers(table.schema)
    table = _without_narrow_classes(table, benchmark.layout.columns, most)
    for name in ("choice_kinds", "choice_fallback", "choice_origins"):
        column = columns[name]
        if name == "choice_kinds" and numbered:
            numbers = pc.index_in(column.flatten(), pa.array(list(CHOICE_KINDS))).cast(pa.int64())
            column = pa.ListArray.from_arrays(column.offsets, numbers)
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, table.schema.field(index).with_type(column.type), column)
    return table


def _classes(schema: pa.Schema, column: str) -> list[str] | None:
    """The names of a ClassLabel column, or of a list of such; None for any other."""
    from datasets import ClassLabel, Features

    if b"huggingface" not in (schema.metadata or {}) or column not in schema.names:
        return None
    feature = Features.from_arrow_schema(schema)[column]
    inner = getattr(feature, "feature", feature)
    return list(inner.names) if isinstance(inner, ClassLabel) else None


def _kinds_are_numbers(schema: pa.Schema) -> bool:
    """Whether kinds are written as the numbers of our own rows."""
    if "choice_kinds" not in schema.names or not pa.types.is_list(schema.field("choice_kinds").type):
        return False
    is_number = pa.types.is_integer(schema.field("choice_kinds").type.value_type)
    return bool(is_number) and _classes(schema, "choice_kinds") in (None, list(CHOICE_KINDS))


def _without_narrow_classes(table: pa.Table, columns: Sequence[str], most: int) -> pa.Table:
    """The table with integer labels where their classes are fewer than ``most``, and kinds other than ours as text."""
    from datasets import Features, List, Value

    schema = table.schema
    narrow: dict[str, Any] = {
        name: Value("int64")
        for name in columns
        if pa.types.is_integer(schema.field(name).type) and len(_classes(schema, name) or [""] * most) < most
    }
    if _classes(schema, "choice_kinds") not in (None, list(CHOICE_KINDS)):
        narrow["choice_kinds"] = List(Value("string"))
    if not narrow:
        return table
    features = Features({**Features.from_arrow_schema(schema), **narrow})
    return table.replace_schema_metadata({**(schema.metadata or {}), **features.arrow_schema.metadata})
